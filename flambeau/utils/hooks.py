"""``torch.utils.hooks``: the handle that registering a hook returns, and hooks that no file holds.

>>> import flambeau as torch
>>> handle = torch.nn.Linear(1, 1).register_forward_hook(lambda module, args, output: None)
>>> isinstance(handle, torch.utils.hooks.RemovableHandle)
True
"""

from ..tensor.handle import RemovableHandle, unserializable_hook, warn_if_has_hooks

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]
