"""Expressions: elements that a kernel combines, written as LLVM instructions instead of being computed.

An ``Expression`` stands for one element of an array in the namespace ``m`` of native kernels. Arithmetic is
rounded after each operation exactly as NumPy rounds it; only the functions of ``functions.py`` use fused
operations inside. Whatever has no native form raises ``Unsupported``, and its operator stays with the
interpreter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..emitter import BFLOAT16, BOOL, FLOAT16, Dtype, Emitter, Unsupported, literal, register_type

_FLOAT_ORDER = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}
_SIGNED_ORDER = {"<": "slt", "<=": "sle", ">": "sgt", ">=": "sge", "==": "eq", "!=": "ne"}
_UNSIGNED_ORDER = {"<": "ult", "<=": "ule", ">": "ugt", ">=": "uge", "==": "eq", "!=": "ne"}
_FLOAT_ARITHMETIC = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_INTEGER_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}
_TRUTH_ARITHMETIC = {"+": "or", "*": "and", "&": "and", "|": "or", "^": "xor"}


class Expression:
    """An element: the register that holds it, and its NumPy type."""

    __slots__ = ("emitter", "register", "dtype")
    __array_ufunc__ = None  # NumPy's scalars leave mixed arithmetic to this class

    def __init__(self, emitter: Emitter, register: str, dtype: Dtype) -> None:
        self.emitter = emitter
        self.register = register
        self.dtype = dtype

    def __bool__(self) -> bool:
        raise Unsupported("a kernel that branches on a value")

    def __add__(self, other: Any) -> Expression:
        return arithmetic("+", self, other)

    def __radd__(self, other: Any) -> Expression:
        return arithmetic("+", other, self)

    def __sub__(self, other: Any) -> Expression:
        return arithmetic("-", self, other)

    def __rsub__(self, other: Any) -> Expression:
        return arithmetic("-", other, self)

    def __mul__(self, other: Any) -> Expression:
        return arithmetic("*", self, other)

    def __rmul__(self, other: Any) -> Expression:
        return arithmetic("*", other, self)

    def __truediv__(self, other: Any) -> Expression:
        return arithmetic("/", self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        return arithmetic("/", other, self)

    def __and__(self, other: Any) -> Expression:
        return arithmetic("&", self, other)

    def __rand__(self, other: Any) -> Expression:
        return arithmetic("&", other, self)

    def __or__(self, other: Any) -> Expression:
        return arithmetic("|", self, other)

    def __ror__(self, other: Any) -> Expression:
        return arithmetic("|", other, self)

    def __xor__(self, other: Any) -> Expression:
        return arithmetic("^", self, other)

    def __neg__(self) -> Expression:
        return negative(self)

    def __invert__(self) -> Expression:
        return invert(self)

    def __lt__(self, other: Any) -> Expression:
        return compare("<", self, other)

    def __le__(self, other: Any) -> Expression:
        return compare("<=", self, other)

    def __gt__(self, other: Any) -> Expression:
        return compare(">", self, other)

    def __ge__(self, other: Any) -> Expression:
        return compare(">=", self, other)

    def __eq__(self, other: object) -> Any:
        return compare("==", self, other)

    def __ne__(self, other: object) -> Any:
        return compare("!=", self, other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def real(self) -> Expression:
        return self

    @property
    def ndim(self) -> int:
        """The number of dimensions of what a kernel goes over in rows; others have none."""
        found: int = self.emitter.ndim  # type: ignore[attr-defined]
        return found

    def astype(self, numpy_type: Any, copy: bool = True) -> Expression:
        """The element converted to another type."""
        return convert(self, np.dtype(numpy_type))

    def emit(self, instruction: str, dtype: Dtype) -> Expression:
        """The result of an instruction."""
        return Expression(self.emitter, self.emitter.emit(instruction), dtype)

    def intrinsic(self, name: str, *others: Expression) -> Expression:
        """An LLVM intrinsic of operands that all have this element's type."""
        kind = register_type(self.dtype)
        suffix = {"float": "f32", "double": "f64"}.get(kind, kind)
        arguments = [self.register, *[other.register for other in others]]
        register = self.emitter.call(f"llvm.{name}.{suffix}", kind, [kind] * len(arguments), arguments)
        return Expression(self.emitter, register, self.dtype)


def is_float(x: Expression) -> bool:
    """Whether x is computed with as float or double; 16-bit elements are only stored, never computed with."""
    if x.dtype in (FLOAT16, BFLOAT16):
        raise Unsupported("arithmetic in 16-bit floating types")
    return x.dtype.kind == "f"


def constant(like: Expression, number: Any, dtype: Dtype | None = None) -> Expression:
    """A number as an element of ``like``'s type or of ``dtype``."""
    wanted = dtype or like.dtype
    return Expression(like.emitter, literal(number, wanted), wanted)


def pair(x: Any, y: Any) -> tuple[Expression, Expression]:
    """Two operands, of which one at least is an expression, in their common type (numbers are weak)."""
    if not isinstance(x, Expression):
        second, first = pair(y, x)
        return first, second
    if isinstance(y, Expression):
        if x.dtype == y.dtype:
            return x, y
        common = _common(x.dtype, y.dtype)
        return convert(x, common), convert(y, common)
    common = _common(x.dtype, y.dtype if isinstance(y, np.generic) else y)
    return convert(x, common), constant(x, y, common)


def _common(first: Any, second: Any) -> Dtype:
    found = np.result_type(first, second)
    if found.kind not in "biuf":
        raise Unsupported(f"elements of type {found}")
    return found


def convert(x: Expression, dtype: Dtype) -> Expression:
    """x in another type, as C converts it."""
    if x.dtype == dtype:
        return x
    source, target = register_type(x.dtype), register_type(dtype)
    if dtype.kind == "b":
        zero = "0.0" if source in ("float", "double") else "0"
        test = "fcmp une" if source in ("float", "double") else "icmp ne"
        return x.emit(f"{test} {source} {x.register}, {zero}", dtype)
    if target in ("float", "double"):
        return _to_float(x, dtype, source, target)
    if source in ("float", "double"):
        return _to_integer(x, dtype, source)
    if source == target:
        return Expression(x.emitter, x.register, dtype)
    if int(source[1:]) > int(target[1:]):
        return x.emit(f"trunc {source} {x.register} to {target}", dtype)
    step = "sext" if x.dtype.kind == "i" else "zext"
    return x.emit(f"{step} {source} {x.register} to {target}", dtype)


def _to_float(x: Expression, dtype: Dtype, source: str, target: str) -> Expression:
    """Single precision is on the way to 16 bits, as in the interpreter: it is rounded twice."""
    if source in ("float", "double"):
        if source == target:
            found = Expression(x.emitter, x.register, dtype)
        else:
            step = "fpext" if target == "double" else "fptrunc"
            found = x.emit(f"{step} {source} {x.register} to {target}", dtype)
    else:
        step = "sitofp" if x.dtype.kind == "i" else "uitofp"
        found = x.emit(f"{step} {source} {x.register} to {target}", dtype)
    return Expression(x.emitter, x.emitter.rounded(found.register, dtype), dtype)


def _to_integer(x: Expression, dtype: Dtype, source: str) -> Expression:
    """Rounded towards zero, by way of 32 bits or 64; what they do not hold is their most negative number."""
    if dtype.kind == "u" and dtype.itemsize > 1:
        raise Unsupported("conversion of floating numbers to wide unsigned integers")
    x = Expression(x.emitter, x.register, np.dtype(np.float32 if source == "float" else np.float64))
    bits = 32 if dtype.itemsize < 8 and dtype.kind == "i" else 64
    wide, lowest = np.dtype(f"int{bits}"), -(1 << (bits - 1))
    held = compare("<", x, -float(lowest)) & (
        compare(">=", x, float(lowest)) if source == "float" or bits == 64 else compare(">", x, lowest - 1.0))
    inside = select(held, x, constant(x, 0.0))
    whole = x.emit(f"fptosi {source} {inside.register} to i{bits}", wide)
    return convert(select(held, whole, constant(whole, lowest)), dtype)


def arithmetic(symbol: str, x: Any, y: Any) -> Expression:
    """x symbol y, in their common type."""
    first, second = pair(x, y)
    kind = register_type(first.dtype)
    if is_float(first):
        table = _FLOAT_ARITHMETIC
    else:
        table = _TRUTH_ARITHMETIC if first.dtype.kind == "b" else _INTEGER_ARITHMETIC
    if symbol not in table:
        raise Unsupported(f"{symbol} of {first.dtype}")
    return first.emit(f"{table[symbol]} {kind} {first.register}, {second.register}", first.dtype)


def compare(symbol: str, x: Any, y: Any) -> Expression:
    """Whether x symbol y."""
    if isinstance(y, int) and isinstance(x, Expression) and x.dtype.kind in "iu" and not _fits(y, x.dtype):
        raise Unsupported("comparison with a number outside the type's range")
    first, second = pair(x, y)
    kind = register_type(first.dtype)
    if is_float(first):
        return first.emit(f"fcmp {_FLOAT_ORDER[symbol]} {kind} {first.register}, {second.register}", BOOL)
    order = _SIGNED_ORDER if first.dtype.kind == "i" else _UNSIGNED_ORDER
    return first.emit(f"icmp {order[symbol]} {kind} {first.register}, {second.register}", BOOL)


def _fits(number: int, dtype: Dtype) -> bool:
    limits = np.iinfo(dtype)
    return bool(limits.min <= number <= limits.max)


def negative(x: Expression) -> Expression:
    """-x."""
    kind = register_type(x.dtype)
    if is_float(x):
        return chosen(x.emit(f"fneg {kind} {x.register}", x.dtype), x)
    if x.dtype.kind == "b":
        raise Unsupported("negative of truth values")
    return x.emit(f"sub {kind} 0, {x.register}", x.dtype)


def invert(x: Expression) -> Expression:
    """All bits of an integer, or a truth value, inverted."""
    if x.dtype.kind not in "biu":
        raise Unsupported("bits of floating numbers")
    ones = "true" if x.dtype.kind == "b" else "-1"
    return x.emit(f"xor {register_type(x.dtype)} {x.register}, {ones}", x.dtype)


def select(condition: Expression, x: Expression, y: Expression) -> Expression:
    """x where the condition holds, else y (of one type)."""
    kind = register_type(x.dtype)
    found = x.emit(f"select i1 {condition.register}, {kind} {x.register}, {kind} {y.register}", x.dtype)
    return chosen(found, x, y)


def chosen(found: Expression, *among: Expression) -> Expression:
    """What is one of others, perhaps with another sign: if they have 16 bits it need not be rounded."""
    found.emitter.chosen(found.register, *[x.register for x in among])
    return found


def bits_of(x: Expression, dtype: Dtype) -> Expression:
    """The bits of x as an element of another type of its size."""
    return x.emit(f"bitcast {register_type(x.dtype)} {x.register} to {register_type(dtype)}", dtype)


def by_operator(symbol: str) -> Callable[[Any, Any], Expression]:
    """The function of an arithmetic operator."""
    def function(x: Any, y: Any) -> Expression:
        return arithmetic(symbol, x, y)
    return function


def by_comparison(symbol: str) -> Callable[[Any, Any], Expression]:
    """The function of a comparison."""
    def function(x: Any, y: Any) -> Expression:
        return compare(symbol, x, y)
    return function
