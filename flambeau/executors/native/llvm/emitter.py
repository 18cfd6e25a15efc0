"""LLVM's textual language, written line by line: llvmlite's object model is too slow for many kernels."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

Dtype = np.dtype[Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT16, FLOAT32, FLOAT64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
BOOL, INT32, INT64 = np.dtype(np.bool_), np.dtype(np.int32), np.dtype(np.int64)


class Unsupported(Exception):
    """What a kernel asks for has no native form: the interpreter computes it."""


def element(size: int) -> str:
    """The type of elements of which only the size is known, in bytes."""
    return f"i{size * 8}"


def register_type(dtype: Dtype) -> str:
    """The LLVM type in which elements are computed with; 16-bit floating types are held as float."""
    kind = dtype.kind
    if kind == "b":
        return "i1"
    if kind in "iu":
        return f"i{dtype.itemsize * 8}"
    if dtype == FLOAT64:
        return "double"
    if dtype in (FLOAT32, FLOAT16, BFLOAT16):
        return "float"
    raise Unsupported(f"elements of type {dtype}")


def memory_type(dtype: Dtype) -> str:
    """The LLVM type of elements in memory."""
    if dtype.kind == "b":
        return "i8"
    if dtype == FLOAT16:
        return "half"
    if dtype == BFLOAT16:
        return "i16"
    return register_type(dtype)


def literal(number: Any, dtype: Dtype) -> str:
    """A constant in LLVM's notation."""
    if dtype.kind == "b":
        return "true" if number else "false"
    if dtype.kind in "iu":
        return str(int(number))
    value = float(number)
    if dtype != FLOAT64:  # LLVM writes a float with the bits of the double that equals it
        value = float(np.float32(value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Emitter:
    """Collects the instructions of one loop body; equal instructions are written once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declarations: dict[str, None] = {}
        self._known: dict[str, str] = {}
        self._exact: dict[str, Dtype] = {}      # registers whose floats are elements of a 16-bit type
        self._count = 0

    def name(self) -> str:
        """A fresh register."""
        self._count += 1
        return f"%v{self._count}"

    def emit(self, instruction: str) -> str:
        """The register that holds an instruction's result."""
        found = self._known.get(instruction)
        if found is None:
            found = self._known[instruction] = self.name()
            self.lines.append(f"  {found} = {instruction}")
        return found

    def effect(self, instruction: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {instruction}")

    def call(self, function: str, result: str, types: Sequence[str], arguments: Sequence[str]) -> str:
        """A call of an intrinsic function."""
        return self.emit("call " + self.declared(function, result, types, arguments))

    def declared(self, function: str, result: str, types: Sequence[str], arguments: Sequence[str],
                 immediate: Sequence[int] = ()) -> str:
        """A function as a call names it; it is declared. ``immediate``: parameters that must be constants."""
        kinds = [f"{t} immarg" if i in immediate else t for i, t in enumerate(types)]
        self.declarations[f"declare {result} @{function}({', '.join(kinds)})"] = None
        return f"{result} @{function}({', '.join([f'{t} {a}' for t, a in zip(types, arguments)])})"

    # --- rows -----------------------------------------------------------------------------------------------

    def costly(self, function: Callable[..., Any], *operands: Any) -> Any:
        """What an expensive function gives."""
        return function(*operands)

    # --- memory ---------------------------------------------------------------------------------------------

    def load(self, pointer: str, dtype: Dtype) -> str:
        """The element at a pointer, as it is computed with."""
        return self.widen(self.emit(f"load {memory_type(dtype)}, ptr {pointer}, align {dtype.itemsize}"),
                          dtype)

    def store(self, register: str, pointer: str, dtype: Dtype) -> None:
        """Write a register that holds an element of ``dtype``."""
        held = self.narrow(register, dtype)
        self.effect(f"store {memory_type(dtype)} {held}, ptr {pointer}, align {dtype.itemsize}")

    def widen(self, held: str, dtype: Dtype) -> str:
        """From the form in memory to that in registers."""
        if dtype.kind == "b":
            return self.emit(f"icmp ne i8 {held}, 0")
        if dtype not in (FLOAT16, BFLOAT16):
            return held
        found = self.emit(f"fpext half {held} to float") if dtype == FLOAT16 else self._from_bfloat(held)
        self._exact[found] = dtype
        return found

    def narrow(self, register: str, dtype: Dtype) -> str:
        """From the form in registers to that in memory, rounding to nearest even."""
        if dtype.kind == "b":
            return self.emit(f"zext i1 {register} to i8")
        if dtype == FLOAT16:
            return self.emit(f"fptrunc float {register} to half")
        if dtype == BFLOAT16:
            return self._to_bfloat(register)
        return register

    def rounded(self, register: str, dtype: Dtype) -> str:
        """A float rounded to the nearest element of ``dtype``."""
        if dtype not in (FLOAT16, BFLOAT16) or self.exact(register) == dtype:
            return register
        return self.widen(self.narrow(register, dtype), dtype)

    def exact(self, register: str) -> Dtype | None:
        """The 16-bit type of which a register, or a literal, is known to hold an element."""
        if register.startswith("0x"):   # bits of a double: few of them, of a normal number or 0
            bits = int(register, 16)
            return BFLOAT16 if not bits & ((1 << 45) - 1) and (bits >> 52 & 2047 > 896 or not bits) else None
        return self._exact.get(register)

    def chosen(self, register: str, *among: str) -> None:
        """Note that a register holds one of others, perhaps with another sign."""
        dtype = self.exact(among[0])
        if dtype is not None and all(self.exact(x) == dtype for x in among):
            self._exact[register] = dtype

    def _from_bfloat(self, held: str) -> str:
        wide = self.emit(f"zext i16 {held} to i32")
        return self.emit(f"bitcast i32 {self.emit(f'shl i32 {wide}, 16')} to float")

    def _to_bfloat(self, register: str) -> str:
        bits = self.emit(f"bitcast float {register} to i32")
        if self.exact(register) == BFLOAT16:
            return self.emit(f"trunc i32 {self.emit(f'lshr i32 {bits}, 16')} to i16")
        odd = self.emit(f"and i32 {self.emit(f'lshr i32 {bits}, 16')}, 1")
        bias = self.emit(f"add i32 {odd}, 32767")
        up = self.emit(f"lshr i32 {self.emit(f'add i32 {bits}, {bias}')}, 16")
        nan = self.emit(f"or i32 {self.emit(f'lshr i32 {bits}, 16')}, 64")  # stays a NaN, of its sign
        unordered = self.emit(f"fcmp uno float {register}, {register}")
        chosen = self.emit(f"select i1 {unordered}, i32 {nan}, i32 {up}")
        return self.emit(f"trunc i32 {chosen} to i16")
