"""Group norm and its gradients: images in planes, or with channels that lie side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .....graph.geometry import Geometry
from .....graph.node import Signature
from .....graph.strides import row_major_strides
from ...arguments import Argument, words
from ...llvm.compiling.code import kernel
from ...llvm.compiling.effort import Effort
from ...llvm.emitter import BFLOAT16, FLOAT16, FLOAT32, FLOAT64
from ...normalization import groups
from ...plan import Call, Plan, Template, Words
from ...vectors import Elements, elements

_TYPES = (FLOAT32, FLOAT64, FLOAT16, BFLOAT16)
# Channels of a task, where they lie side by side: several vectors that are read together.
_CHANNELS = 64
_TASK = 1 << 14     # elements


class _Strides(NamedTuple):
    """From sample to sample, channel to channel and pixel to pixel."""

    n: int
    c: int
    p: int


def _strides(g: Geometry) -> _Strides | None:
    """None where the pixels of an image do not follow one another at one distance."""
    space, steps = g.shape[2:], g.strides[2:]
    known = [(n, s) for n, s in zip(space, steps) if n != 1]
    step = known[-1][1] if known else 1
    if any(s != step * m for (_, s), m in zip(known, row_major_strides([n for n, _ in known]))):
        return None
    return _Strides(g.strides[0], g.strides[1], step)


@kernel("group_norm", effort=Effort.FEW)
def _forward_code(name: str, weights: str, last: bool) -> str:
    return groups.forward_module(elements(name), elements(weights) if weights else None, last)


@kernel("group_norm_backward", effort=Effort.FEW)
def _backward_code(name: str, weights: str, last: bool) -> str:
    return groups.backward_module(elements(name), elements(weights) if weights else None, last)


@kernel("group_norm_totals", effort=Effort.FEW)
def _totals_code(name: str) -> str:
    return groups.totals_module(elements(name))


class _Problem:
    """What both directions have in common."""

    def __init__(self, signature: Signature, e: Elements, strides: Sequence[_Strides], x: Geometry) -> None:
        count, = signature.attributes
        self.e, self.signature = e, signature
        self.batch, self.channels = x.shape[:2]
        self.pixels = math.prod(x.shape[2:])
        self.last = all(s.c == 1 for s in strides) and (strides[0].p != 1 or self.pixels == 1)
        each = self.channels // count
        chunk = max(1, min(count, _CHANNELS // each)) if self.last else 1
        self.chunks = -(-count // chunk)
        room = -(-chunk * each // (groups.VECTORS * e.lanes)) * groups.VECTORS * e.lanes
        self.scratch = groups.ARRAYS * room * e.width + 64
        self.given: dict[str, Argument] = dict.fromkeys(groups.POINTERS, 0)
        self.given |= {"batch": self.batch, "groups": count, "channels": self.channels, "each": each,
                       "pixels": self.pixels, "size": each * self.pixels, "chunks": self.chunks,
                       "chunk": chunk, "room": room, "eps": 0}
        for prefix, own in zip("xtg", (*strides, strides[0])):
            self.given |= {f"{prefix}_{name}": step for name, step in own._asdict().items()}

    def call(self, function: Any) -> Call:
        """All samples, some groups each."""
        tasks = self.batch * self.chunks
        grain = max(1, _TASK * self.chunks // (self.channels * self.pixels))
        return Call(function, words(groups.POINTERS, groups.NUMBERS, self.given), tasks, grain, self.scratch)


def _problem(signature: Signature, x: Geometry, others: Sequence[Geometry]) -> _Problem | None:
    strides = [_strides(g) for g in (x, *others)]
    dtype = x.dtype.numpy
    if not x.numel or dtype not in _TYPES or any(g.dtype.numpy != dtype for g in others):
        return None
    found = [s for s in strides if s is not None]
    if len(found) != len(strides):
        return None
    made = _Problem(signature, elements(dtype), found, x)
    return made if made.last or made.pixels == 1 or all(s.p == 1 for s in found) else None


def _weights(*parameters: Any) -> str | None:
    """The type of weights, "" if there are none; None where there is no native form."""
    found = [p for p in parameters if isinstance(p, Geometry)]
    if any(p.strides[0] != 1 and p.numel != 1 for p in found) or len({p.dtype for p in found}) > 1:
        return None
    return str(found[0].dtype.numpy) if found else ""


def _forward(signature: Signature) -> Plan | None:
    x, weight, bias = signature.geometries[:3]
    out = signature.outputs[0]
    problem, kind = _problem(signature, x, (out,)), _weights(weight, bias)
    if problem is None or kind is None or isinstance(signature.geometries[3], Geometry):
        return None
    problem.given |= {
        "x": lambda w: w.input(0, x), "target": lambda w: w.output(0), "mean": lambda w: w.output(1),
        "rstd": lambda w: w.output(2), "eps": lambda w: w.number(3, FLOAT64)}
    for i, name in ((1, "weight"), (2, "bias")):
        if isinstance(signature.geometries[i], Geometry):
            problem.given[name] = _operand(i, signature.geometries[i])
    call = problem.call(_forward_code(problem.e.name, kind, problem.last))
    return Plan([call], traffic=2.0 * x.nbytes)


def _operand(i: int, g: Geometry) -> Any:
    def place(w: Words) -> int:
        return w.input(i, g)
    return place


def _backward(signature: Signature) -> Plan | None:
    grad, x, weight, mean, rstd = signature.geometries
    out = signature.outputs[0]
    problem, kind = _problem(signature, x, (out, grad)), _weights(weight)
    if problem is None or kind is None or not (mean.is_contiguous and rstd.is_contiguous) \
            or any(g.dtype.numpy != (FLOAT64 if problem.e.width == 8 else FLOAT32) for g in (mean, rstd)):
        return None
    problem.given |= {
        "grad": lambda w: w.input(0, grad), "x": lambda w: w.input(1, x), "target": lambda w: w.output(0),
        "mean": lambda w: w.input(3, mean), "rstd": lambda w: w.input(4, rstd),
        "sums": lambda w: w.workspace(0)}
    if isinstance(weight, Geometry):
        problem.given["weight"] = lambda w: w.input(2, weight)
    call = problem.call(_backward_code(problem.e.name, kind, problem.last))
    given: dict[str, Argument] = {
        "sums": lambda w: w.workspace(0), "first": lambda w: w.output(1), "second": lambda w: w.output(2),
        "batch": problem.batch, "channels": problem.channels}
    made = words(groups.TOTALS_POINTERS, groups.TOTALS_NUMBERS, given)
    tasks = -(-problem.channels // problem.e.lanes)
    totals = Call(_totals_code(problem.e.name), made, tasks, max(1, _TASK // (problem.batch * 32)))
    return Plan([call, totals], workspace=2 * problem.batch * problem.channels * problem.e.width,
                traffic=3.0 * x.nbytes)


TEMPLATES: dict[str, Template] = {"native_group_norm": _forward, "native_group_norm_backward": _backward}
