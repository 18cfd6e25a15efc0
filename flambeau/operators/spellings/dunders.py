"""Python's operators on tensors: ``+``, ``**``, ``<``, ``+=`` and the rest."""

from __future__ import annotations

from collections.abc import Callable
from operator import ge, gt, le, lt
from typing import Any

from ... import dtypes
from ...graph.operator import Operator
from ...tensor import Tensor, assign, record, record_pair, record_scaled
from ...tensor.aliasing.inplace import write_whole
from ...tensor.aliasing.overlap import require_apart
from ...tensor.construct import tensor
from ...tensor.overrides import first_seen
from ...tensor.samples.drawn import Drawn, compared
from ..declaration.definition import NUMBERS
from ..pointwise import arithmetic, comparison, division, logical, power
from ..products import matmul

T: Any = Tensor


def _value(other: Any) -> Any:
    """Another operand as a tensor or number; None for what tensors cannot be combined with."""
    if isinstance(other, (Tensor, *NUMBERS)):
        return other
    if hasattr(other, "__array__") and hasattr(other, "dtype"):  # NumPy's arrays and scalars
        return other.item() if getattr(other, "shape", None) == () else tensor(other)
    return None


def _left(self: Any, name: str, other: Any) -> Any:
    """What a tensor makes of an operand that is neither a tensor nor a number: its class may override."""
    return getattr(self, name)(other) if first_seen((other,)) else NotImplemented


def _binary(op: Operator, name: str) -> Callable[[Any, Any], Any]:
    """``self op other``."""
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, Tensor):
            return record_pair(op, self, other)
        if other.__class__ in NUMBERS:
            return record_scaled(op, self, other)
        value = _value(other)
        return _left(self, name, other) if value is None else record(op, (self, value))
    return method


def _reflected(op: Operator, name: str) -> Callable[[Any, Any], Any]:
    """``other op self``."""
    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, Tensor) and other.__class__ not in NUMBERS:
            value = _value(other)
            if value is None:
                return _left(self, name, other)
            other = value
        return record(op, (other, self))
    return method


def _in_place(op: Operator, name: str, announced: str) -> Callable[[Any, Any], Any]:
    """``self op= other``."""
    def method(self: Any, other: Any) -> Any:
        if write_whole(op, self, (self, other)):
            return self
        if not isinstance(other, Tensor) and other.__class__ not in NUMBERS:
            value = _value(other)
            if value is None:
                return _left(self, name, other)
            other = value
        result = record(op, (self, other))
        if isinstance(other, Tensor) and other._storage is self._storage:
            require_apart(self, (other,))
        return assign(self, result, announced)
    return method


_ARITHMETIC = {
    "add": arithmetic.ADD, "sub": arithmetic.SUB, "mul": arithmetic.MUL, "truediv": division.TRUE_DIVIDE,
    "floordiv": division.FLOOR_DIVIDE, "mod": division.REMAINDER, "and": logical.bitwise_and.operator,
    "or": logical.bitwise_or.operator, "xor": logical.bitwise_xor.operator,
    "lshift": logical.bitwise_left_shift.operator, "rshift": logical.bitwise_right_shift.operator,
}
_IN_PLACE_NAMES = {"truediv": "div_", "floordiv": "floor_divide_", "mod": "remainder_", "and": "bitwise_and_",
                   "or": "bitwise_or_", "xor": "bitwise_xor_", "lshift": "bitwise_left_shift_",
                   "rshift": "bitwise_right_shift_"}
for _name, _op in _ARITHMETIC.items():
    setattr(T, f"__{_name}__", _binary(_op, f"__{_name}__"))
    setattr(T, f"__r{_name}__", _reflected(_op, f"__r{_name}__"))
    setattr(T, f"__i{_name}__", _in_place(_op, f"__i{_name}__", _IN_PLACE_NAMES.get(_name, f"{_name}_")))
T.__div__, T.__rdiv__, T.__idiv__ = T.__truediv__, T.__rtruediv__, T.__itruediv__
T.__radd__, T.__rmul__ = T.__add__, T.__mul__   # the tensor stays the first operand, as in PyTorch's graphs

for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(T, f"__{_name}__", _binary(getattr(comparison, _name).operator, f"__{_name}__"))


def _comparing(compare: Callable[[Any, Any], bool], general: Any) -> Callable[[Any, Any], Any]:
    """A comparison of a number that was drawn; what else there is goes the general way."""
    def method(self: Any, other: Any) -> Any:
        if self._storage.__class__ is Drawn and (found := compared(compare, self, other)) is not None:
            return found
        return general(self, other)
    return method


for _compare in (lt, le, gt, ge):
    _name = f"__{_compare.__name__}__"
    setattr(T, _name, _comparing(_compare, getattr(T, _name)))


def _floored(op: Operator, general: Any) -> Callable[[Any, Any], Any]:
    """``self // other`` and ``self % other``, with what is known of the divisor when it is recorded."""
    def method(self: Any, other: Any) -> Any:
        if other.__class__ is int:
            return record_scaled(division.by_number(op, self, other), self, other)
        division.refuse_zero(self, other)
        return general(self, other)
    return method


def _by_no_zero(general: Any) -> Callable[[Any, Any], Any]:
    """``self //= other`` and ``self %= other``."""
    def method(self: Any, other: Any) -> Any:
        division.refuse_zero(self, other)
        return general(self, other)
    return method


def _reflected_by_no_zero(general: Any) -> Callable[[Any, Any], Any]:
    """``other // self`` and ``other % self``."""
    def method(self: Any, other: Any) -> Any:
        division.refuse_zero(other, self)
        return general(self, other)
    return method


T.__rfloordiv__, T.__rmod__ = _reflected_by_no_zero(T.__rfloordiv__), _reflected_by_no_zero(T.__rmod__)
T.__ifloordiv__, T.__imod__ = _by_no_zero(T.__ifloordiv__), _by_no_zero(T.__imod__)
T.__floordiv__ = _floored(division.FLOOR_DIVIDE, T.__floordiv__)
T.__mod__ = _floored(division.REMAINDER, T.__mod__)


def _rsub(self: Any, other: Any) -> Any:
    if other.__class__ in NUMBERS:
        return record_scaled(arithmetic.RSUB, self, other)
    value = _value(other)
    return _left(self, "__rsub__", other) if value is None else record(arithmetic.RSUB, (self, value))


def _rtruediv(self: Any, other: Any) -> Any:
    value = _value(other)
    if value is None:
        return _left(self, "__rtruediv__", other)
    return record(arithmetic.MUL, (self.reciprocal(), value))


def _pow(self: Any, other: Any) -> Any:
    value = _value(other)
    return _left(self, "__pow__", other) if value is None else power.pow(self, value)


def _rpow(self: Any, other: Any) -> Any:
    value = _value(other)
    return _left(self, "__rpow__", other) if value is None else power.pow(value, self)


def _ipow(self: Any, other: Any) -> Any:
    value = _value(other)
    return _left(self, "__ipow__", other) if value is None else self.pow_(value)


def _matmul(self: Any, other: Any) -> Any:
    return matmul.matmul(self, other) if isinstance(other, Tensor) else _left(self, "__matmul__", other)


def _rmatmul(self: Any, other: Any) -> Any:
    return matmul.matmul(other, self) if isinstance(other, Tensor) else _left(self, "__rmatmul__", other)


def _imatmul(self: Any, other: Any) -> Any:
    return matmul.matmul(self, other) if isinstance(other, Tensor) else _left(self, "__imatmul__", other)


def _invert(self: Any) -> Any:
    if self._geometry.dtype.category >= dtypes.FLOATING:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return logical.bitwise_not(self)


def _index(self: Any) -> int:
    if self._geometry.dtype.category >= dtypes.FLOATING or self._geometry.numel != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self.item())


def _contains(self: Any, element: Any) -> bool:
    if isinstance(element, (Tensor, *NUMBERS)):
        return bool((self == element).any())
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
    )


T.__rsub__, T.__rtruediv__, T.__rdiv__ = _rsub, _rtruediv, _rtruediv
T.__pow__, T.__rpow__, T.__ipow__ = _pow, _rpow, _ipow
T.__matmul__, T.__rmatmul__, T.__imatmul__ = _matmul, _rmatmul, _imatmul
T.__neg__, T.__pos__, T.__invert__ = arithmetic.neg, arithmetic.positive, _invert
T.__abs__ = lambda self: self.abs()
T.__index__, T.__contains__ = _index, _contains
T.__array_priority__ = 1000     # NumPy's operators give way to ours
