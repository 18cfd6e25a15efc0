"""Looks: what needs a value now (``item``, ``numpy``, ``tolist``, ``bool``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...devices import META
from ...engine import expose, value_of
from ...executors.interpreter.arrays import read
from ...graph.storage import Storage
from ...tensor import Tensor, state
from ...tensor.aliasing.turned import Turned, is_turned
from ...tensor.batching import BatchedTensor, rules
from ...tensor.samples.drawn import number_seen
from ...tensor.warned import warn
from ..calls.arguments import require_bool
from ..declaration.registry import api

# An array gives an element of these as the Python number at once.
_PLAIN = frozenset({dtypes.float32, dtypes.float64, dtypes.int64, dtypes.int32, dtypes.bool_})
# NumPy has no such numbers.
_NOT_NUMPY = dtypes.FLOAT8 | {dtypes.bfloat16, dtypes.complex32}


def look(x: Tensor, cause: str, only_checks: bool = False) -> np.ndarray[Any, Any]:
    """The values of x as an array that must not be written to or kept.

    Inside vmap ``only_checks`` gives those of all examples, and everything else is refused.
    """
    if x.__class__ is BatchedTensor:
        x = rules.look(x, cause, only_checks)
    if x._geometry.device.type == "meta":
        if cause in ("tolist", "numpy"):
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        raise RuntimeError(f"Tensor.{'item' if cause == 'bool' else cause}() cannot be called on meta "
                           "tensors")
    found = read(value_of(x._storage, cause), x._geometry)
    return found if x._geometry.dtype is not dtypes.complex32 else dtypes.converted(found, np.complex64)


@api("Tensor", judge="never")
def item(self: Tensor) -> Any:
    """The one element as a Python number.

    >>> import flambeau as torch
    >>> torch.tensor([2.5]).item()
    2.5
    """
    return _element(self, "item", 4)


def _element(x: Tensor, cause: str, inside: int) -> Any:
    """The one element of x as a Python number; ``inside`` is for ``value_of``. (Note: hot functions)"""
    storage, g = x._storage, x._geometry
    if storage.__class__ is Storage and g.numel == 1 and g.dtype in _PLAIN \
            and x.__class__ is not BatchedTensor and g.device is not META:
        flat = value_of(storage, cause, inside)
        if flat.dtype is g.dtype.numpy:
            return flat.item(g.offset)
    elif (number := number_seen(x)) is not None:
        return number
    if g.numel != 1:
        if cause == "bool":
            amount = "no values" if g.numel == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {amount} is ambiguous")
        raise RuntimeError(f"a Tensor with {g.numel} elements cannot be converted to Scalar")
    value = look(x, cause).reshape(-1)[0]
    return float(value) if g.dtype in dtypes.LOW_PRECISION else value.item()


@api("Tensor")
def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers.

    >>> import flambeau as torch
    >>> torch.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    array = look(self, "tolist")
    return (
        array.astype(np.float32).tolist() if self._geometry.dtype in dtypes.LOW_PRECISION else array.tolist()
    )


@api("Tensor")
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray[Any, Any]:
    """A NumPy array that shares memory with this tensor (a copy is made only with ``force``, where it must).

    >>> import flambeau as torch
    >>> x = torch.zeros(2); a = x.numpy(); a[0] = 5; x
    tensor([5., 0.])
    """
    if force is not False:
        require_bool("numpy", "force", force)
    if not force and state.enabled and self.requires_grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                           "instead.")
    if self._geometry.device.type == "meta":
        raise TypeError("can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the "
                        "tensor to host memory first.")
    if self._geometry.dtype in _NOT_NUMPY:
        raise TypeError(f"Got unsupported ScalarType {dtypes.SCALAR_NAMES[self._geometry.dtype]}")
    if self._storage.__class__ is Turned:
        self = _resolved(self, force)
    return read(expose(self._storage, "numpy"), self._geometry)


def _resolved(x: Tensor, force: bool) -> Tensor:
    for name, short, turned in zip(("conjugate", "negative"), ("conj", "neg"), is_turned(x)):
        if turned and not force:
            raise RuntimeError(f"Can't call numpy() on Tensor that has {name} bit set. Use "
                               f"tensor.resolve_{short}().numpy() instead.")
    return x.clone()


# --- Python's conversions -----------------------------------------------------------------------------------


@api("torch", "Tensor")
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero.

    >>> import flambeau as torch
    >>> torch.is_nonzero(torch.tensor([1.]))
    True
    """
    return bool(_element(input, "bool", 4))


def _number(self: Tensor) -> Any:
    if self._geometry.numel != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return _element(self, "item", 5)


_told: set[str] = set()     # what PyTorch says once in a process


def _tell_of_lost_gradient(self: Tensor) -> None:
    """Warn, once, of a conversion that no gradient flows through."""
    if not _told and self.requires_grad:
        _told.add("scalar")
        warn("Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
             "behavior.\nConsider using tensor.detach() first.")


def _real(number: Any, kind: str) -> Any:
    """A number; of a complex one its real part, if that is all of it."""
    if number.__class__ is complex:
        if number.imag or (kind == "int64_t" and not -2**63 <= number.real < 2**63):
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
        return number.real
    return number


def _float(self: Tensor) -> float:
    if self._requires_grad or self._base is not None:
        _tell_of_lost_gradient(self)
    number = _number(self)
    return number if number.__class__ is float else float(_real(number, "double"))


def _int(self: Tensor) -> int:
    number = _number(self)
    return number if number.__class__ is int else int(_real(number, "int64_t"))


def _complex(self: Tensor) -> complex:
    _tell_of_lost_gradient(self)
    return complex(_number(self))


def _format(self: Tensor, spec: str) -> str:
    if self._geometry.ndim == 0 and type(self) is Tensor and self._geometry.device.type != "meta":
        return format(self.item(), spec)
    return object.__format__(self, spec)


_T: Any = Tensor
_T.__bool__ = _T.__nonzero__ = lambda self: bool(_element(self, "bool", 4))
_T.__float__ = _float
_T.__int__ = _T.__long__ = _int
_T.__complex__ = _complex
_T.__format__ = _format
