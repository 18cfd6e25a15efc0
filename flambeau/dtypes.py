"""Data types: PyTorch's names for NumPy's and ml_dtypes' element types, and the promotion lattice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

BOOL, INTEGER, FLOATING, COMPLEX = range(4)


class dtype:
    """The element type of a tensor, such as ``flambeau.float32``.

    >>> import flambeau as torch
    >>> torch.float32.itemsize, torch.float32.is_floating_point
    (4, True)
    """

    __slots__ = ("name", "numpy", "category", "itemsize", "is_floating_point", "is_complex", "is_signed",
                 "abbr")

    name: str
    numpy: np.dtype[Any]

    def __init__(self, name: str, numpy_type: Any, category: int, abbr: str) -> None:
        self.name = name
        self.numpy = np.dtype(numpy_type)
        self.category = category
        self.itemsize = self.numpy.itemsize
        self.is_floating_point = category == FLOATING
        self.is_complex = category == COMPLEX
        self.is_signed = category >= FLOATING or (category == INTEGER and not name.startswith("u"))
        self.abbr = abbr

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        own = type(self).__module__ == __name__
        return "bool_" if own and self.name == "bool" else self.name    # the name of the global in the module

    @property
    def is_integral(self) -> bool:
        return self.category <= INTEGER

    def to_real(self) -> dtype:
        """The real type of the same precision.

        >>> import flambeau as torch
        >>> torch.complex64.to_real()
        torch.float32
        """
        return _REAL.get(self, self)

    def to_complex(self) -> dtype:
        """The complex type of the same precision.

        >>> import flambeau as torch
        >>> torch.float64.to_complex()
        torch.complex128
        """
        if self.is_complex:
            return self
        found = _COMPLEX.get(self)
        if found is None:
            raise RuntimeError(f"Unknown Complex ScalarType for {SCALAR_NAMES[self]}")
        return found


def _unfilled(name: str, itemsize: int) -> dtype:
    """A quantized type: programs compare it and keep it in tables, but there are no tensors of it."""
    made = object.__new__(dtype)
    made.name = made.abbr = name
    made.category, made.itemsize = INTEGER, itemsize
    made.is_floating_point = made.is_complex = False
    return made


def refuse_unfilled(of: dtype) -> None:
    """Raise for a type that there are no tensors of."""
    if of in QUANTIZED:
        raise NotImplementedError(f"flambeau has no tensors of {of!r}: nothing is quantized")


bool_ = dtype("bool", np.bool_, BOOL, "b8")
uint8 = dtype("uint8", np.uint8, INTEGER, "u8")
int8 = dtype("int8", np.int8, INTEGER, "i8")
int16 = dtype("int16", np.int16, INTEGER, "i16")
int32 = dtype("int32", np.int32, INTEGER, "i32")
int64 = dtype("int64", np.int64, INTEGER, "i64")
uint16 = dtype("uint16", np.uint16, INTEGER, "u16")
uint32 = dtype("uint32", np.uint32, INTEGER, "u32")
uint64 = dtype("uint64", np.uint64, INTEGER, "u64")
float16 = dtype("float16", np.float16, FLOATING, "f16")
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOATING, "bf16")
float32 = dtype("float32", np.float32, FLOATING, "f32")
float64 = dtype("float64", np.float64, FLOATING, "f64")
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, FLOATING, "f8e4m3fn")
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, FLOATING, "f8e5m2")
float8_e4m3fnuz = dtype("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, FLOATING, "f8e4m3fnuz")
float8_e5m2fnuz = dtype("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, FLOATING, "f8e5m2fnuz")
# Pairs of float16: NumPy has no such complex numbers, kernels compute in complex64 (``converted``).
HALF_PAIR = np.dtype([("real", np.float16), ("imag", np.float16)])
complex32 = dtype("complex32", HALF_PAIR, COMPLEX, "c32")
complex64 = dtype("complex64", np.complex64, COMPLEX, "c64")
complex128 = dtype("complex128", np.complex128, COMPLEX, "c128")

ALL: tuple[dtype, ...] = (
    bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz,
    complex32, complex64, complex128,
)
qint8 = _unfilled("qint8", 1)
quint8 = _unfilled("quint8", 1)
qint32 = _unfilled("qint32", 4)
quint4x2 = _unfilled("quint4x2", 1)
quint2x4 = _unfilled("quint2x4", 1)
QUANTIZED = (qint8, quint8, qint32, quint4x2, quint2x4)
ALIASES: dict[str, dtype] = {
    "bool": bool_, "short": int16, "int": int32, "long": int64, "half": float16, "float": float32,
    "double": float64, "chalf": complex32, "cfloat": complex64, "cdouble": complex128,
}
_REAL = {complex32: float16, complex64: float32, complex128: float64}
_COMPLEX = {float16: complex32, bfloat16: complex64, float32: complex64, float64: complex128}
_FROM_NUMPY = {d.numpy: d for d in ALL}
FLOAT8 = frozenset((float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz))
LOW_PRECISION = FLOAT8 | {float16, bfloat16}
_BARE_UNSIGNED = frozenset((uint16, uint32, uint64))

# What PyTorch calls a type in error messages ("expected scalar type Float but found Long").
SCALAR_NAMES = {
    bool_: "Bool", uint8: "Byte", int8: "Char", int16: "Short", int32: "Int", int64: "Long",
    uint16: "UInt16", uint32: "UInt32", uint64: "UInt64", float16: "Half", bfloat16: "BFloat16",
    float32: "Float", float64: "Double", float8_e4m3fn: "Float8_e4m3fn", float8_e5m2: "Float8_e5m2",
    float8_e4m3fnuz: "Float8_e4m3fnuz", float8_e5m2fnuz: "Float8_e5m2fnuz",
    complex32: "ComplexHalf", complex64: "ComplexFloat", complex128: "ComplexDouble",
}
_IN_C = {
    bool_: "bool", uint8: "unsigned char", int8: "signed char", int16: "short int", int32: "int",
    int64: "long int", uint16: "short unsigned int", uint32: "unsigned int", uint64: "long unsigned int",
    float32: "float", float64: "double", complex32: "c10::complex<c10::Half>",
    complex64: "c10::complex<float>", complex128: "c10::complex<double>",
}


def c_name(of: dtype) -> str:
    """The name of an element type in C++, as some of PyTorch's messages have it."""
    return _IN_C.get(of) or f"c10::{SCALAR_NAMES[of]}"


def from_numpy_dtype(numpy_type: Any) -> dtype:
    """The dtype of a NumPy element type; ``TypeError`` where PyTorch has none."""
    found = _FROM_NUMPY.get(np.dtype(numpy_type))
    if found is None:
        if not np.dtype(numpy_type).isnative:
            raise ValueError(
                "given numpy array has byte order different from the native byte order. Conversion between "
                "byte orders is currently not supported."
            )
        raise TypeError(
            "can't convert np.ndarray of type "
            f"{getattr(np.dtype(numpy_type), 'type', numpy_type).__module__}."
            f"{np.dtype(numpy_type).type.__name__}. "
            "The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, "
            "int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
    return found


# What Python's own types mean as an argument ``dtype``.
PYTHON_TYPES: dict[Any, dtype] = {bool: bool_, int: int64, float: float64, complex: complex128}


def given(argument: Any, function: str, name: str = "dtype", place: int = 0) -> Any:
    """The dtype that a caller gave, as one of Python's types too; None stays, unless a parameter needs one.

    >>> import flambeau as torch
    >>> torch.zeros(1, dtype=float).dtype
    torch.float64
    """
    if argument.__class__ is dtype or (argument is None and not place):
        return argument
    found = PYTHON_TYPES.get(argument) if isinstance(argument, type) else None
    if found is None:
        where = f" (position {place})" if place else ""
        raise TypeError(f"{function}(): argument '{name}'{where} must be torch.dtype, not "
                        f"{type(argument).__name__}")
    return found


def converted(array: Any, numpy_type: Any) -> Any:
    """``array.astype`` that knows half complex numbers."""
    if array.dtype == HALF_PAIR:
        wide = np.empty(array.shape, np.complex64)
        wide.real, wide.imag = array["real"], array["imag"]
        array = wide if np.dtype(numpy_type).kind in "cbV" else wide.real
    if numpy_type != HALF_PAIR:
        return array.astype(numpy_type)
    pairs = np.empty(array.shape, HALF_PAIR)
    with np.errstate(over="ignore"):
        pairs["real"], pairs["imag"] = array.real, array.imag
    return pairs


_default = float32


def get_default_dtype() -> dtype:
    """The floating-point type of new tensors (``float32`` unless set).

    >>> import flambeau as torch
    >>> torch.get_default_dtype()
    torch.float32
    """
    return _default


def set_default_dtype(d: dtype, /) -> None:
    """Set the floating-point type that factory functions and promotion of integers use.

    >>> import flambeau as torch
    >>> torch.set_default_dtype(torch.float64)
    >>> made = torch.ones(1)
    >>> torch.set_default_dtype(torch.float32)
    >>> made.dtype
    torch.float64
    """
    global _default
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d
    for clear in on_default_change:
        clear()


# Caches whose entries depend on the default dtype register their ``clear`` here.
on_default_change: list[Any] = []

_promotions: dict[tuple[dtype, dtype], dtype] = {}


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type to which both types convert without changing kind.

    >>> import flambeau as torch
    >>> torch.promote_types(torch.int32, torch.float16)
    torch.float16
    """
    if type1 is type2:
        return type1
    found = _promotions.get((type1, type2))
    if found is None:
        for quantized in {type1, type2}.intersection(QUANTIZED):
            refuse_unfilled(quantized)
        found = _promote(given(type1, "promote_types", "type1", 1),
                         given(type2, "promote_types", "type2", 2))
        _promotions[type1, type2] = found
    return found


def _promote(a: dtype, b: dtype) -> dtype:
    if a in FLOAT8 or b in FLOAT8:
        raise RuntimeError("Promotion for Float8 Types is not supported, attempted to promote "
                           f"{SCALAR_NAMES[a]} and {SCALAR_NAMES[b]}")
    if (a in _BARE_UNSIGNED and b.category != FLOATING) or (b in _BARE_UNSIGNED and a.category != FLOATING):
        raise RuntimeError("Promotion for uint16, uint32, uint64 types is not supported, attempted to "
                           f"promote {SCALAR_NAMES[a]} and {SCALAR_NAMES[b]}")
    if a.category > b.category:
        a, b = b, a
    if a.category < b.category:
        if a.category == FLOATING and b.is_complex:  # as precise as both
            return promote_types(a.to_complex(), b)
        return b
    if a.category == COMPLEX:
        return a if a.itemsize > b.itemsize else b
    if a.category == FLOATING:
        if a.itemsize == b.itemsize:  # float16 with bfloat16
            return float32
        return a if a.itemsize > b.itemsize else b
    return _promote_integers(a, b)


def _promote_integers(a: dtype, b: dtype) -> dtype:
    if uint8 in (a, b):
        other = b if a is uint8 else a
        return int16 if other is int8 else other
    return a if a.itemsize > b.itemsize else b


def number_dtype(number_type: type) -> dtype:
    """The type a Python number would have as a tensor."""
    if issubclass(number_type, bool):
        return bool_
    if issubclass(number_type, int):
        return int64
    if issubclass(number_type, float):
        return _default
    return _default.to_complex()


def combine(dimensioned: Iterable[dtype], zero_dim: Iterable[dtype], numbers: Iterable[type]) -> dtype:
    """Type promotion in PyTorch's three priorities: tensors with dimensions, 0-dim tensors, Python numbers.

    A lower priority counts only where its category (bool < integer < floating < complex) is higher.
    """
    result: dtype | None = None
    for group in (dimensioned, zero_dim, map(number_dtype, numbers)):
        joined: dtype | None = None
        for d in group:
            joined = d if joined is None else promote_types(joined, d)
        if joined is None:
            continue
        if result is None:
            result = joined
        elif joined.category > result.category:
            result = _raise_category(result, joined)
    if result is None:
        raise ValueError("result_type needs at least one operand")
    return result


def _raise_category(low: dtype, high: dtype) -> dtype:
    # A real floating tensor meeting a complex number keeps its precision.
    if high.is_complex:
        return low.to_complex() if low.is_floating_point else high
    return promote_types(low, high)


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a value may be stored as ``to`` under the rules of in-place operators.

    >>> import flambeau as torch
    >>> torch.can_cast(torch.float32, torch.int64)
    False
    """
    return bool(given(from_, "can_cast", "from_", 1).category <= given(to, "can_cast", "to", 2).category)
