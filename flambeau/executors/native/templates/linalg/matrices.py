"""Linear algebra on batches of matrices: factorizations, determinants, inverses, solutions.

Small ones are taken by vectors that hold an element of each; the others by a library (``systems``). Irregular
matrices (a pivot of zero, a square root of a negative number) are left to the interpreter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import SupportsIndex

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ....interpreter import linalg
from ...arguments import Argument, result, words
from ...llvm.compiling.code import kernel
from ...llvm.emitter import FLOAT32, FLOAT64
from ...matrices import kernels
from ...matrices.kernels import Form
from ...movement.spaces import fused
from ...plan import Call, Plan, Template
from ...quantity import at_once
from ...vectors import Elements, elements
from . import systems

# The largest extent of a matrix that is factored, and of one that is only substituted into.
LARGEST, LARGEST_FACTOR = 32, 64
# Multiply-adds of vectors for each matrix in their lanes, and rows of a matrix for each: where the library
# takes as long.
ENOUGH, ROWS_ENOUGH = 13e3, 11
# Right-hand sides that are solved for together.
MOST_SIDES = 64
_TASK = 20e3    # nanoseconds

_SUBSTITUTIONS = ("linalg_solve_triangular", "cholesky_solve", "cholesky_inverse", "linalg_lu_solve")

_WRITERS = {
    "linalg_lu_factor_ex": kernels.lu, "linalg_inv_ex": kernels.inverse, "linalg_solve_ex": kernels.solve,
    "linalg_det": kernels.determinant, "linalg_slogdet": kernels.sign_and_logarithm,
    "linalg_cholesky_ex": kernels.cholesky, "linalg_solve_triangular": kernels.solve_triangular,
    "cholesky_solve": kernels.cholesky_solve, "cholesky_inverse": kernels.cholesky_inverse,
    "linalg_lu_solve": kernels.lu_solve,
}


@kernel("matrices")
def _code(name: str, form: Form) -> str:
    return kernels.module_of("matrices", _WRITERS[name], elements(form.dtype), form)


class Operand:
    """A batch of matrices: how far they, their rows and their columns lie apart."""

    def __init__(self, number: int, g: Geometry, batch: int, step: int) -> None:
        self.number, self.g, self.batch, self.step = number, g, batch, step
        self.rows, self.columns = g.shape[-2:]
        by_rows, by_columns = (self.columns, 1), (1, self.rows)
        steps = g.strides[-2:]
        self.steps = by_rows if steps == by_rows or self.rows == self.columns == 1 else by_columns
        self.dense = steps in (by_rows, by_columns)

    def given(self, name: str) -> dict[str, Argument]:
        """The kernel's arguments; of a dense operand the steps are those of what was transposed."""
        row, column = self.steps if self.dense else self.g.strides[-2:]
        return {f"{name}_batch": self.step, f"{name}_row": row, f"{name}_column": column,
                f"{name}_rows": self.rows, f"{name}_columns": self.columns}


def _operands(signature: Signature, order: tuple[int, ...]) -> tuple[int, list[Operand]] | None:
    """How many matrices there are, and the operands in the kernel's order; None where they are not taken."""
    found = [signature.geometries[i] for i in order]
    shape = signature.outputs[0].shape
    batch = shape[:-2] if signature.operator.name not in ("linalg_det", "linalg_slogdet") else shape
    if any(not g.numel or g.dtype.numpy not in (FLOAT32, FLOAT64) for g in found):
        return None
    strides = [[0] * (len(batch) + 2 - g.ndim) + [0 if n == 1 else s for n, s in
                                                  zip(g.shape[:-2], g.strides[:-2])] for g in found]
    space = fused(batch, strides, ordered=False)
    if len(space.extents) > 1:
        return None
    count = space.size
    return count, [Operand(i, g, count, s[0]) for i, g, s in zip(order, found, space.strides)]


def _fits(name: str, found: list[Geometry]) -> bool:
    """Whether matrices are small enough for vectors."""
    largest = LARGEST_FACTOR if name in _SUBSTITUTIONS else LARGEST
    return found[-1].shape[-1] <= MOST_SIDES and max(found[0].shape[-2:]) <= largest


def _pays(name: str, found: list[Geometry], count: int) -> bool:
    """Whether vectors, not all of whose lanes need have a matrix, are faster than a library."""
    rows, columns = found[0].shape[-2:]
    factored = name not in _SUBSTITUTIONS
    sides = found[1].shape[-1] if len(found) > 1 else columns if "inv" in name else 0
    steps = sides + (min(rows, columns) if factored else 0) * (0.4 if "cholesky" in name else 1)
    together = min(count, elements(found[0].dtype.numpy).lanes)
    return _fits(name, found) and max(rows, columns) <= max(linalg.ROUNDED - 1, ROWS_ENOUGH * together) \
        and rows * columns * steps <= ENOUGH * together


def _rooms(e: Elements, first: Operand, sides: int) -> tuple[dict[str, int], int]:
    """Where what is in scratch memory begins, in vectors, and its size in bytes."""
    def up(n: int) -> int:
        return -(-n // e.lanes) * e.lanes
    x = up(first.rows * first.columns)
    b = up(max(first.rows * sides, first.rows, first.columns))
    places = {"at_b": x, "at_result": x + b, "at_staging": 2 * x + b}
    return places, (2 * x + b + max(x, b)) * e.lanes * e.width


def _planned(order: tuple[int, ...], results: tuple[str, ...],
             flags: Callable[[Signature], tuple[bool, ...]] = lambda signature: ()) -> Template:
    """``order``: which operands are the matrices and the right-hand sides; ``results``: where they go."""
    def find(signature: Signature) -> Plan | None:
        if signature.operator.name == "linalg_lu_factor_ex" and not signature.attributes[0]:
            return None     # without row exchanges
        if signature.operator.name == "linalg_lu_solve" and not _one_by_one(signature):
            return None
        found = _operands(signature, order)
        if found is None:
            return None
        count, operands = found
        given = [x.g for x in operands]
        if not _pays(signature.operator.name, given, count):
            plan = systems.plan(signature, count, operands, results)
            if plan is not None or not _fits(signature.operator.name, given):
                return plan
        form = Form(str(operands[0].g.dtype.numpy), tuple([x.dense for x in operands]), flags(signature))
        return _plan(signature, _code(signature.operator.name, form), count, operands, results)
    return find


def _one_by_one(signature: Signature) -> bool:
    """Whether each solution has factors, and row exchanges, of its own, one behind another."""
    factors, pivots, _ = signature.geometries
    return factors.shape[:-2] == signature.outputs[0].shape[:-2] and pivots.is_contiguous


def _plan(signature: Signature, code: SupportsIndex, count: int, operands: list[Operand],
          results: tuple[str, ...]) -> Plan:
    e, first = elements(operands[0].g.dtype.numpy), operands[0]
    out = signature.outputs[0]
    sides = operands[1].columns if len(operands) > 1 else first.columns
    rooms, scratch = _rooms(e, first, sides)
    given: dict[str, Argument] = dict.fromkeys(kernels.POINTERS, 0)
    given |= {"batch": count, "sides": sides, "size": math.prod(out.shape[-2:]), **rooms,
              "status": lambda w: w.status(), "a": lambda w: w.input(first.number, first.g)}
    given |= first.given("a")
    if len(operands) > 1:
        second = operands[1]
        given |= {"b": lambda w: w.input(second.number, second.g), **second.given("b")}
    else:
        given |= {f"b_{name}": 0 for name in kernels.OPERAND}
    if signature.operator.name == "linalg_lu_solve":
        given["pivots"] = lambda w: w.input(1, signature.geometries[1])
    for k, name in enumerate(results):
        given[name] = result(k)
    work = first.rows * first.columns * (min(first.rows, first.columns) + sides + 30.0) / 2 + 200
    tasks = -(-count // e.lanes)
    call = Call(code, words(kernels.POINTERS, kernels.NUMBERS, given), tasks, at_once(_TASK, work),
                scratch + 64)
    return Plan([call], nanoseconds=work * tasks)


def _flags(signature: Signature) -> tuple[bool, ...]:
    return tuple([bool(x) for x in signature.attributes])


TEMPLATES: dict[str, Template] = {
    "linalg_lu_factor_ex": _planned((0,), ("first", "second", "third")),
    "linalg_inv_ex": _planned((0,), ("first", "second")),
    "linalg_solve_ex": _planned((0, 1), ("first", "second")),
    "linalg_det": _planned((0,), ("first",)),
    "linalg_slogdet": _planned((0,), ("first", "second")),
    "linalg_cholesky_ex": _planned((0,), ("first", "second"), _flags),
    "linalg_solve_triangular": _planned((0, 1), ("first",), _flags),
    "cholesky_solve": _planned((1, 0), ("first",), _flags),
    "cholesky_inverse": _planned((0,), ("first",), _flags),
    "linalg_lu_solve": _planned((0, 2), ("first",), _flags),
}
