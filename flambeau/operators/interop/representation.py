"""``repr`` of tensors, in PyTorch's words: a look at their values."""

from __future__ import annotations

from collections.abc import Callable

from ... import dtypes
from ...tensor import Tensor
from ...tensor.printing import format_array, options, with_suffixes
from .looking import look


def _suffixes(x: Tensor, empty: bool) -> list[str]:
    default = dtypes.get_default_dtype()
    usual = (default,) if empty else (default, default.to_complex(), dtypes.int64, dtypes.bool_)
    found = []
    if x.device.type != "cpu":
        found.append(f"device='{x.device}'")
    if x.device.type == "meta" or (x.ndim != 1 if x.numel() == 0 else options.edgeitems == 0):
        found.append(f"size={tuple(x.shape)}")
    if x.dtype not in usual:
        found.append(f"dtype={x.dtype!r}")
    return found


# Called with a tensor: what to show in the place of its history, None to show that.
descriptions: list[Callable[[Tensor], list[str] | None]] = []


def history_suffixes(x: Tensor) -> list[str]:
    """How a tensor was made, as ``repr`` shows it."""
    fn = x.grad_fn
    if fn is not None:
        return [f"grad_fn=<{fn.name().rpartition('::')[2]}>"]   # CopySlices has PyTorch's C++ namespace
    return ["requires_grad=True"] if x.requires_grad else []


def _described(x: Tensor) -> list[str]:
    for description in descriptions:
        found = description(x)
        if found is not None:
            return found
    return history_suffixes(x)


def tensor_repr(x: Tensor) -> str:
    """``repr(x)``; this looks at the values."""
    cls = type(x)
    prefix = "tensor(" if cls is Tensor or not cls._overrides else f"{cls.__name__}("
    indent = len(prefix)
    if x.device.type == "meta":
        body = "..."
    elif x.numel() == 0:
        body = "[]"
    else:
        body = format_array(look(x, "repr"), indent)
    empty = x.numel() == 0 and x.device.type != "meta"
    suffixes = _suffixes(x, empty or x.device.type == "meta") + _described(x)
    text = with_suffixes(prefix + body, suffixes, indent)
    return "Parameter containing:\n" + text if getattr(cls, "_is_parameter", False) else text


Tensor.__repr__ = tensor_repr  # type: ignore[method-assign, assignment]
