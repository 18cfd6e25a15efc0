"""``out=``: results written to tensors of the caller's."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ... import dtypes
from ...graph.geometry import dense_like
from ...tensor import Tensor, state
from ...tensor.aliasing.inplace import require_no_overlap, write
from ...tensor.aliasing.overlap import require_apart
from ...tensor.aliasing.turned import shares_memory
from ...tensor.warned import warn


class Out(NamedTuple):
    """What a function of PyTorch's asks of a tensor that takes its result.

    ``wrong_type``: what it says where the tensor's type is not the result's very own, unless it converts.
    Messages name the types as in C++ (``{result}``, ``{out}``) or as tensors' (``{Result}``, ``{Out}``).
    """

    wrong_type: str = ""
    also: tuple[dtypes.dtype, ...] = ()     # further types that it takes
    several: str = ""       # ``wrong_type`` where there are several results
    # Operands are read while it is written: it shares no memory with them ("pointwise": unless it is one).
    apart: bool | Literal["pointwise"] = False
    joins: bool = False     # made of ``cat``, whose words it has for a type that does not fit
    history: bool = True    # the result may have one: no tensor that requires a gradient can take it

    def but_apart(self) -> Out:
        """The same of a function that reads its operands while it writes."""
        return self._replace(apart=True)


CONVERTED = Out()
NO_OUT = Out("takes no out=")
EXACT = Out("Expected out tensor to have dtype {result}, but got {out} instead")
POINTWISE = Out(apart="pointwise")
EXACT_APART = EXACT._replace(apart="pointwise")
# Pointwise functions of one operand that leave no conversion to their loop.
UNCONVERTED = Out("Found dtype {Out} but expected {Result}", apart="pointwise")
EXPECTED = Out("expected scalar_type {Result} but found {Out}")
BOOLEAN = Out("{name} does not support non-boolean outputs.")
NO_HISTORY = Out(history=False)


def store(result: Any, out: Any, name: str, asks: Out = CONVERTED) -> Any:
    """Let ``out`` (one tensor, or one for each result) take ``result``; returns ``out``."""
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
        if asks.several:
            asks = asks._replace(wrong_type=asks.several)
        for one, value in zip(out, result):
            _store_one(one, value, name, asks)
        return type(result)(*out) if hasattr(result, "_fields") else tuple(out)
    return _store_one(out, result, name, asks)


def refuse_aliases(operands: Any, out: Any, apart: bool | Literal["pointwise"]) -> None:
    """PyTorch's error where a function would write over what it still reads (see ``Out``)."""
    if apart == "pointwise":
        for written in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(written, Tensor):
                require_apart(written, operands)
        return
    for written in out if isinstance(out, (tuple, list)) else (out,):
        for x in operands:
            for each in x if isinstance(x, (tuple, list)) else (x,):
                if isinstance(each, Tensor) and isinstance(written, Tensor) \
                        and _share_elements(each, written):
                    raise RuntimeError(
                        "unsupported operation: some elements of the input tensor and the written-to tensor "
                        "refer to a single memory location. Please clone() the tensor before performing the "
                        "operation.")


def require_type(out: Any, dtype: Any) -> None:
    """PyTorch's error where a new tensor's type is given twice, and differently."""
    if dtype is not None and isinstance(out, Tensor) and out.dtype is not dtype:
        names = dtypes.SCALAR_NAMES
        raise RuntimeError(f"dtype {names[dtype]} does not match dtype of out parameter ({names[out.dtype]})")


def _share_elements(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors may have memory in common."""
    if not shares_memory(a, b):
        return False
    if a is b:
        return True
    (low, high), (first, last) = (_extent(x) for x in (a, b))
    return low <= last and first <= high


def _extent(x: Tensor) -> tuple[int, int]:
    """First and last place in the storage; an empty interval for no elements."""
    start = x.storage_offset()
    if not x.numel():
        return start, start - 1
    return start, start + sum((n - 1) * s for n, s in zip(x.shape, x.stride()))


def _require_type(asks: Out, name: str, result: dtypes.dtype, out: dtypes.dtype) -> None:
    if asks.wrong_type and result is not out and out not in asks.also:
        raise RuntimeError(asks.wrong_type.format(
            name=name, result=dtypes.c_name(result), out=dtypes.c_name(out),
            is_int=result is dtypes.int32, Result=dtypes.SCALAR_NAMES[result], Out=dtypes.SCALAR_NAMES[out]))


def _store_one(out: Any, result: Tensor, name: str, asks: Out) -> Tensor:
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if state.enabled and (result.requires_grad or (out.requires_grad and asks.history)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of "
            "the arguments requires grad.")
    if result.device != out.device:
        raise RuntimeError(f"Expected out tensor to have device {result.device}, but got {out.device} "
                           "instead")
    require_no_overlap(out._geometry)
    _require_type(asks, name, result.dtype, out.dtype)
    if not dtypes.can_cast(result.dtype, out.dtype):
        if asks.joins:
            raise TypeError("torch.cat(): input types can't be cast to the desired output type "
                            f"{dtypes.SCALAR_NAMES[out.dtype]}")
        raise RuntimeError(f"result type {dtypes.SCALAR_NAMES[result.dtype]} can't be cast to the desired "
                           f"output type {dtypes.SCALAR_NAMES[out.dtype]}")
    if out.shape != result.shape:
        if out.numel() != 0:
            warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, "
                f"which does not match the required output shape {list(result.shape)}. This behavior is "
                "deprecated, and in a future PyTorch release outputs will not be resized unless they have "
                "zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero "
                "elements with t.resize_(0).")
        out.resize_(result.shape)
        if not result._geometry.is_contiguous:
            out._geometry = dense_like(result.shape, result._geometry, out.dtype)
    write(out, result.detach().to(out.dtype))
    return out
