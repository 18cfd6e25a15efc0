"""Optimizer steps: an update rule traced into one loop that goes once through the memory of all tensors.

A rule (``operators/optimization/optimizer.py``) is written on the namespace ``m`` for one element. Here its
parameter, its gradient and its states become registers, and one loop loads them, computes, and stores what is
new over what was old, so that each byte is read once and written once. All tensors of a step count as one
list of elements, cut into tasks of equal size whatever the sizes of the tensors:

    tensors   |-- 0 ------------|1|2|------ 3 --------------------|
    tasks     |----0----|----1----|----2----|----3----|----4----|-|

Numbers (a learning rate, bias corrections) are arguments, and so is the table of the tensors: a kernel
belongs to a rule, its flags and an element type. States that are ``joined`` have one pointer for all: their
elements lie in the order of the list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..llvm import namespace
from ..llvm.build import Function, Module
from ..llvm.compiling.code import kernel
from ..llvm.emitter import FLOAT64, Dtype, memory_type
from ..llvm.expressions.elements import sign_of
from ..llvm.expressions.expression import Expression

Kernel = Callable[..., list[Any]]

# Words of a call: these, the numbers, pointers to joined states, and the records of the parameters.
COUNT, CHUNK, TOTAL, HEADER = 0, 1, 2, 3

# A record: start in the list of elements, where its gradient's strides stand, then its pointers.
START, LAYOUT, POINTERS = 0, 1, 2


class Structure(NamedTuple):
    """What the code of a step depends on."""

    kernel: Kernel                      # ``apply_rule`` of ``operators/optimization/optimizer.py``
    rule: Callable[..., Any]
    present: tuple[bool, ...]           # which of the rule's states are in use
    numbers: int
    flags: tuple[tuple[str, bool], ...]
    dtype: Dtype
    grad: Dtype
    joined: bool

    @property
    def targets(self) -> int:
        """How many tensors are written for one parameter: itself and its states."""
        return 1 + sum(self.present)

    @property
    def common(self) -> int:
        """How many pointers all parameters have in common."""
        return self.targets - 1 if self.joined else 0

    @property
    def record(self) -> int:
        """Words that describe one parameter."""
        return POINTERS + self.targets - self.common + 1

    @property
    def table(self) -> int:
        """Where the records start."""
        return HEADER + self.numbers + self.common


class _Namespace:
    """The namespace of native kernels, with the names under which rules ask for it."""

    sign = staticmethod(sign_of)

    def __getattr__(self, name: str) -> Any:
        return getattr(namespace, name)


_m = _Namespace()


@kernel("step")
def step_kernel(structure: Structure) -> str:
    """The address of the kernel that computes tasks of a step."""
    module = Module()
    span = _span(module, structure, unit=True)
    strided = _span(module, structure, unit=False)
    with module.kernel("step") as f:
        _tasks(f, structure, span, strided)
    return module.text()


def _span(module: Module, s: Structure, unit: bool) -> Function:
    """Elements that follow each other in memory; of the gradient with any stride where not ``unit``.

    The pointers never overlap: an operand that somebody else can see was copied.
    """
    element = memory_type(s.dtype)
    targets = [("ptr noalias", f"%target{k}") for k in range(s.targets)]
    numbers = [(element, f"%number{k}") for k in range(s.numbers)]
    parameters = [*targets, ("ptr noalias readonly", "%grad"), ("i64", "%stride"), ("i64", "%count"),
                  *numbers]
    with module.helper("span" if unit else "strided_span", parameters) as f, f.loop(0, "%count") as i:
        places = [f.at(name, i, element) for _, name in targets]
        position = i if unit else f.mul(i, "%stride")
        old = [Expression(f, f.load(place, s.dtype), s.dtype) for place in places]
        grad = Expression(f, f.load(f.at("%grad", position, memory_type(s.grad)), s.grad), s.grad)
        known = [Expression(f, name, s.dtype) for _, name in numbers]
        new = s.kernel(_m, s.rule, old[0], grad, old[1:], s.present, known, s.flags)
        for place, value in zip(places, new):
            f.store(value.register, place, s.dtype)
    return f


def _tasks(f: Function, s: Structure, span: Function, strided: Function) -> None:
    count, chunk, total = f.word(COUNT), f.word(CHUNK), f.word(TOTAL)
    kind = memory_type(s.dtype)
    numbers = [f.word(HEADER + k, kind) for k in range(s.numbers)]
    common = [f.word(HEADER + s.numbers + k, "ptr") for k in range(s.common)]
    first = f.mul(f.begin, chunk)
    last = f.least(f.mul(f.end, chunk), total)
    with f.loop(0, count) as k:
        record = f.at(f.words, f.add(f.mul(k, s.record), s.table), "i64")
        start = _field(f, record, START)
        begin = f.most(f.sub(first, start), 0)
        end = f.least(last, _field(f, record, s.record + START))
        end = f.sub(end, start)
        with f.when(f.compare("slt", begin, end)):
            bases = [_field(f, record, POINTERS + j, "ptr") for j in range(s.targets - s.common)]
            bases += [f.at(base, start, kind) for base in common]
            grad = _field(f, record, POINTERS + s.targets - s.common, "ptr")
            layout = _field(f, record, LAYOUT)
            dense = f.compare("eq", layout, 0)
            with f.when(dense):
                places = [f.at(base, begin, kind) for base in bases]
                f.run(span, *places, f.at(grad, begin, memory_type(s.grad)), 1, f.sub(end, begin), *numbers)
            with f.otherwise(dense):
                _rows(f, s, strided, bases, grad, f.at(f.words, layout, "i64"), begin, end, numbers)


def _field(f: Function, record: str, k: int, kind: str = "i64") -> str:
    return f.read(kind, f.at(record, k, "i64"), align=8)


def _rows(f: Function, s: Structure, strided: Function, bases: list[str], grad: str, layout: str,
          begin: str, end: str, numbers: list[str]) -> None:
    """Elements begin to end of a parameter whose gradient has strides, row by row.

    ``layout``: number of dimensions, then extent and stride of each, the innermost first.
    """
    dims, inner, stride = (_field(f, layout, k) for k in range(3))
    kind = memory_type(s.dtype)
    last_row = f.div(f.add(end, f.sub(inner, 1)), inner)
    with f.loop(f.div(begin, inner), last_row) as row:
        offset, rest = f.variable("i64", 0), f.variable("i64", row)
        with f.loop(1, dims) as d:
            pair = f.at(layout, f.mul(d, 2), "i64")
            extent = _field(f, pair, 1)
            index = rest.get()
            offset.set(f.add(offset.get(), f.mul(f.rem(index, extent), _field(f, pair, 2))))
            rest.set(f.div(index, extent))
        start = f.mul(row, inner)
        left = f.most(f.sub(begin, start), 0)
        right = f.least(f.sub(end, start), inner)
        at = f.add(start, left)
        source = f.at(grad, f.add(offset.get(), f.mul(left, stride)), memory_type(s.grad))
        places = [f.at(base, at, kind) for base in bases]
        f.run(strided, *places, source, stride, f.sub(right, left), *numbers)


def number_type(dtype: Dtype) -> Any:
    """The type in which a kernel reads its numbers."""
    return np.float64 if dtype == FLOAT64 else np.float32
