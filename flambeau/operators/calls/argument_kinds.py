"""Whether PyTorch takes a value for a parameter of some kind, as its signatures name kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import ndarray

from ...dtypes import dtype
from ...layouts import memory_format
from ...tensor import Tensor
from ...tensor.generator import Generator
from .arguments import is_integer


def _is_scalar(value: Any) -> bool:
    return isinstance(value, Tensor) and value.ndim == 0


def _all_integers(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(map(is_extent, value, range(len(value))))


def is_extent(value: Any, place: int) -> bool:
    """Whether PyTorch takes something for an integer of a list: truth values from the second on."""
    return is_integer(value) or (place > 0 and isinstance(value, bool))


def _several(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, (tuple, list)) and all(kind(x) for x in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex)) or _is_scalar(value) or (
        not isinstance(value, (Tensor, ndarray))
        and (hasattr(value, "__complex__") or hasattr(value, "__float__")))


def _is_real(value: Any) -> bool:
    return _is_number(value) and not isinstance(value, complex)


# Kinds that are not here are not judged.
_FITS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, Tensor),
    "Tensor|Number": lambda value: isinstance(value, Tensor) or _is_number(value),
    "int": is_integer,
    "ints": lambda value: is_integer(value) or _all_integers(value),
    "repeated ints": lambda value: is_integer(value) or _all_integers(value),
    "tuple of ints": lambda value: is_integer(value) or _all_integers(value),
    "several ints": _all_integers,
    "tuple of Tensors": _several(lambda x: isinstance(x, Tensor)),
    "tuple of floats": _several(_is_real),
    "tuple of Scalars": _several(_is_number),
    "bool": lambda value: isinstance(value, bool),
    "float": _is_real,
    "Number": _is_number,
    "str": lambda value: isinstance(value, str),
    "torch.memory_format": lambda value: isinstance(value, memory_format),
    "torch.Generator": lambda value: isinstance(value, Generator) or value is None,
    "torch.dtype": lambda value: isinstance(value, (dtype, type)),
}


def fits(value: Any, kind: str) -> bool:
    """Whether PyTorch takes a value for a parameter of this kind."""
    return kind not in _FITS or _FITS[kind](value)
