"""Arithmetic on vectors of one floating type, masks of them, and elements that lie anywhere."""

from __future__ import annotations

from .build import Function, Value, suffix, vector
from .compiling.machine import machine
from .emitter import Dtype, literal, register_type
from .lanes import transpose


class Floats:
    """Arithmetic on vectors of one floating type and of integers as wide."""

    def __init__(self, f: Function, dtype: Dtype) -> None:
        self.f, self.dtype = f, dtype
        self.count = machine().vector // dtype.itemsize
        self.element, self.integer = register_type(dtype), f"i{dtype.itemsize * 8}"
        self.kind, self.whole = vector(self.count, self.element), vector(self.count, self.integer)
        self.mask = vector(self.count, "i1")
        self.wide = vector(self.count, "i64")

    def number(self, value: float) -> str:
        """A constant in all lanes."""
        one = literal(value, self.dtype)
        return "<" + ", ".join([f"{self.element} {one}"] * self.count) + ">"

    def do(self, symbol: str, x: str, y: str) -> str:
        """fadd, fsub, fmul, fdiv."""
        return self.f.emit(f"{symbol} {self.kind} {x}, {y}")

    def fma(self, x: str, y: str, z: str) -> str:
        """x y + z."""
        return self.f.fma(self.kind, x, y, z)

    def call(self, name: str, *operands: str) -> str:
        """An intrinsic function."""
        return self.f.call(f"llvm.{name}.{suffix(self.kind)}", self.kind, [self.kind] * len(operands),
                           list(operands))

    def compare(self, order: str, x: str, y: str) -> str:
        """A mask."""
        return self.f.emit(f"fcmp {order} {self.kind} {x}, {y}")

    def choose(self, mask: str, x: str, y: str, kind: str = "") -> str:
        """Lanes of x where the mask holds, else of y."""
        kind = kind or self.kind
        return self.f.emit(f"select {self.mask} {mask}, {kind} {x}, {kind} {y}")

    def both(self, x: str, y: str) -> str:
        """Where both masks hold."""
        return self.f.emit(f"and {self.mask} {x}, {y}")

    def gather(self, base: str, index: str, mask: str) -> str:
        """Elements at an index each; 0 where the mask does not hold."""
        at = self.f.emit(f"getelementptr {self.element}, ptr {base}, {self.whole} {index}")
        return self.gathered(at, mask)

    def strided(self, base: str, step: Value, mask: str) -> str:
        """Elements ``step`` bytes apart."""
        return self.gathered(self._apart(base, step), mask)

    def store_strided(self, value: str, base: str, step: Value, mask: str) -> None:
        """Write elements ``step`` bytes apart."""
        self.scatter(value, self._apart(base, step), mask)

    def scatter(self, value: str, at: str, mask: str) -> None:
        """Write elements at a vector of addresses."""
        self.f.scatter(self.kind, value, at, mask, self.dtype.itemsize)

    def _apart(self, base: str, step: Value) -> str:
        f = self.f
        lanes = "<" + ", ".join(f"i64 {k}" for k in range(self.count)) + ">"
        offset = f.emit(f"mul nsw {self.wide} {lanes}, {f.splat(step, self.count, 'i64')}")
        return f.emit(f"getelementptr i8, ptr {base}, {self.wide} {offset}")

    def gathered(self, at: str, mask: str) -> str:
        """Elements at a vector of addresses; 0 where the mask does not hold."""
        return self.f.gather(self.kind, at, mask, self.dtype.itemsize)

    def transposed(self, rows: list[str]) -> list[str]:
        """As many vectors as lanes: element i of the j-th becomes element j of the i-th."""
        return transpose(self.f, self.kind, rows)
