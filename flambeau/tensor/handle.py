"""The object that every ``register_*`` method returns, to undo the registration (``torch.utils.hooks``)."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, TypeVar


class RemovableHandle:
    """Removes a hook from the table it was put in; also a context manager that removes on exit."""

    id: int
    next_id: int = 0

    def __init__(
        self,
        hooks_dict: MutableMapping[int, Any],
        *,
        extra_dict: MutableMapping[int, Any] | Sequence[MutableMapping[int, Any]] = (),
    ) -> None:
        # Weak references: a handle that is kept must not keep the module alive.
        extra = extra_dict if isinstance(extra_dict, Sequence) else [extra_dict]
        self.hooks_dict_ref: Any = weakref.ref(hooks_dict)
        self.extra_dict_ref: tuple[Any, ...] = tuple(weakref.ref(table) for table in extra)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    def remove(self) -> None:
        """Take the hook out again; doing it twice is harmless.

        >>> import flambeau as torch
        >>> w = torch.ones(1, requires_grad=True)
        >>> handle = w.register_hook(lambda grad: grad * 10)
        >>> handle.remove(); handle.remove()
        >>> (w * 2).sum().backward(); w.grad
        tensor([2.])
        """
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = reference()
            if table is not None:
                table.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()

    def __getstate__(self) -> tuple[Any, ...]:
        return self.hooks_dict_ref(), self.id, tuple(reference() for reference in self.extra_dict_ref)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        table, self.id, extra = state
        self.hooks_dict_ref = weakref.ref(table if table is not None else OrderedDict())
        self.extra_dict_ref = tuple(weakref.ref(t if t is not None else OrderedDict()) for t in extra)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)


Hook = TypeVar("Hook", bound=Callable[..., Any])


def unserializable_hook(f: Hook) -> Hook:
    """Mark a tensor's hook as one that is not missed when the tensor is saved."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of the hooks on a leaf's gradient, which no file holds."""
    for hook in tensor._hooks.before.values() if tensor._hooks is not None else ():
        function = getattr(hook, "__wrapped__", hook)
        if not hasattr(function, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {function!r} on tensor will not be serialized.  If this is expected, you can "
                "decorate the function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )


# Where PyTorch's users import it from, and pickles find it.
RemovableHandle.__module__ = "flambeau.utils.hooks"


def hooked(table: OrderedDict[int, Any], hook: Any) -> RemovableHandle:
    """Put a hook into a table (one that can be referred to weakly, so no plain dict)."""
    handle = RemovableHandle(table)
    table[handle.id] = hook
    return handle
