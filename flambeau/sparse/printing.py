"""``repr`` of sparse tensors, in PyTorch's words and columns."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..operators.interop.looking import look
from ..tensor import Tensor
from ..tensor.printing import format_array, with_suffixes
from .compressed import CompressedTensor
from .compressing import WORDS
from .tensor import CooTensor


def _part(name: str, x: Tensor, suffix: bool) -> str:
    """``name=tensor(...)``; an empty part says its size."""
    prefix = f"{name}=tensor("
    indent = len(prefix) + len("tensor(")
    if x.device.type == "meta":
        text = prefix + f"..., size={tuple(x.shape)}"
    elif x.numel() == 0:
        text = prefix + f"[], size={tuple(x.shape)}"
    else:
        text = prefix + format_array(look(x, "repr"), indent)
    return text + (")," if suffix else ")")


def _notes(x: Any) -> list[str]:
    found = []
    if x.device.type != "cpu":
        found.append(f"device='{x.device}'")
    found.append(f"size={tuple(x.shape)}")
    if x.device.type != "meta":
        found.append(f"nnz={x._nnz()}")
    usual = (dtypes.get_default_dtype(), dtypes.get_default_dtype().to_complex(), dtypes.int64, dtypes.bool_)
    if x.dtype not in usual:
        found.append(f"dtype={x.dtype!r}")
    found.append(f"layout={x.layout}")
    if x.grad_fn is not None:
        found.append(f"grad_fn=<{x.grad_fn.name().rpartition('::')[2]}>")
    elif x.requires_grad:
        found.append("requires_grad=True")
    return found


def sparse_repr(x: Any) -> str:
    """``repr(x)``; this looks at the values."""
    text = _described(x)
    return "Parameter containing:\n" + text if getattr(x, "_is_param", False) else text


def _described(x: Any) -> str:
    indent = len("tensor(")
    pad = "\n" + " " * indent
    if isinstance(x, CooTensor):
        parts = [_part("indices", x._indices_, True), _part("values", x._entries, False)]
        return with_suffixes("tensor(" + pad.join(parts), _notes(x), indent, break_first=True)
    assert isinstance(x, CompressedTensor)
    words = [f"{word}_indices" for word in WORDS[x.layout.name]]
    parts = [_part(words[0], x._compressed, True), _part(words[1], x._plain, True),
             _part("values", x._entries, False)]
    return with_suffixes("tensor(" + pad.join(parts), _notes(x), indent)
