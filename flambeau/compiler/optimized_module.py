"""The module that ``torch.compile(module)`` returns."""

from __future__ import annotations

from typing import Any

from ..nn.modules.module import Module


class OptimizedModule(Module):
    """Stands before a module: calls, attributes and modes go through to ``_orig_mod``.

    >>> import flambeau as torch
    >>> list(torch.compile(torch.nn.Linear(1, 1)).state_dict())
    ['_orig_mod.weight', '_orig_mod.bias']
    """

    _orig_mod: Module

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._orig_mod = mod
        # Module.train and eval set this on the wrapper and, through children(), on the module.
        self.training = mod.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's forward, with its hooks."""
        return self._orig_mod(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = name in ("_orig_mod", "training", "forward") \
            or "_orig_mod" not in self.__dict__.get("_modules", ())
        if own or name in type(self).__dict__ or name.startswith("_"):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
