"""From the members of a unit to the plan of its kernel: what is input, what is number, what is kept.

The plan is a function of the members' signatures and of which operand is which member's result, so that units
of the same form share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....graph.geometry import Geometry
from ....graph.node import Signature
from ....graph.recent import Recent
from ..plan import Call, Plan, Words
from . import cost, traits
from .accumulate import wide
from .compile import Kernel, kernel_of
from .nest import Nest, nest_of
from .schedule import Unit
from .structure import ELEMENT, ROW, Member, Output, Structure
from .traits import Dims, Space, compute_of

_APART = 320    # bytes between areas of scratch memory, that they do not all begin in the same cache lines

Place = tuple[int, int]  # (member, operand)

_plans: Recent[Any, Plan | None] = Recent(1 << 11)


class _Parts(NamedTuple):
    """The members of a kernel for operands of certain shapes, and the space in which they are computed."""

    unit: Unit
    signatures: Sequence[Signature]
    space: Space
    dims: Dims | None


class Reads:
    """The arrays that a kernel reads: equal reads of one node are one input."""

    def __init__(self, space: Space, dims: Dims | None) -> None:
        self.space = space
        self.dims = dims
        self.known: dict[Any, int] = {}
        self.places: list[Place] = []
        self.geometries: list[Geometry] = []
        self.strides: list[tuple[int, ...]] = []

    def input(self, node: int, place: Place, signature: Signature, level: int) -> int:
        """The number of the input that an operand is."""
        g = signature.geometries[place[1]]
        ndim = len(self.space[0])
        strides = traits.strides_in(signature, place[1], g, ndim) if level == ELEMENT else \
            self._of_rows(g, signature.outputs[0])
        k = self.known.setdefault((node, g.dtype, g.offset, strides), len(self.places))
        if k == len(self.places):
            self.places.append(place)
            self.geometries.append(g)
            self.strides.append(strides)
        return k

    def _of_rows(self, g: Geometry, output: Geometry) -> tuple[int, ...]:
        """The strides, along the space's dimensions, of what is read for each row of an array of rows."""
        assert self.dims is not None
        places = traits.kept_dims(self.space, self.dims, output.shape)
        assert places is not None
        found = [0] * len(self.space[0])
        for d, s in zip(places, traits.aligned(g, output.ndim)):
            if d >= 0:
                found[d] = s
        return tuple(found)


def bind(unit: Unit, signatures: Sequence[Signature], space: Space, dims: Dims | None) -> Plan | None:
    """The plan of a fused unit with members of these signatures; None where its kernel has no native form."""
    key = (unit.form, *signatures)
    try:
        return _plans[key]
    except KeyError:
        return _plans.keep(key, _prepare(_Parts(unit, signatures, space, dims)))


def bound(unit: Unit, signatures: Sequence[Signature]) -> Plan | None:
    """The plan of a unit of the same form with these signatures, if there was one lately."""
    key = (unit.form, *signatures)
    return _plans.get(key) or _plans.recall(key)


class Contents(NamedTuple):
    """A kernel's members, what they read (``numbers``: in which types), and their results that are stored.

    ``outputs``: in the structure's terms, ``results``: as (member of the unit, result).
    """

    reads: Reads
    members: tuple[Member, ...]
    numbers: list[Any]
    outputs: tuple[Output, ...]
    results: list[tuple[int, int]]


def contents(unit: Unit, signatures: Sequence[Signature], space: Space, dims: Dims | None) -> Contents:
    """What a unit with members of these signatures consists of."""
    assert unit.references is not None
    reads = Reads(space, dims)
    members: list[Member] = []
    outputs: list[Output] = []
    results: list[tuple[int, int]] = []
    numbers: list[Any] = []
    values: list[Any] = []                  # of each node: a member of the structure, which of its results
    for i, (signature, own) in enumerate(zip(signatures, unit.references.operands)):
        levels = unit.levels[i]
        if signature.operator.kind == "project":
            values.append((values[own[0][1]][0], signature.attributes[0]))
        else:
            values.append((len(members), 0))
            mapped = []
            for j, reference in enumerate(own):
                if reference is not None and reference[0] == "member":
                    reference = ("member", *values[reference[1]])
                elif reference is not None and reference[0] == "node":
                    level = ROW if levels == (ROW,) and traits.dims_of(signature) is None else ELEMENT
                    reference = ("input", reads.input(reference[1], (i, j), signature, level))
                mapped.append(reference)
            numbers += [compute_of(signature) for r in own if r is not None and r[0] == "number"]
            members.append(traits.member_of(signature, tuple(mapped)))
        if unit.stored[i]:
            for result, level in enumerate(levels):
                member, first = values[i]
                outputs.append(Output(member, first + result, level))
                results.append((i, result))
    return Contents(reads, tuple(members), numbers, tuple(outputs), results)


def _prepare(parts: _Parts) -> Plan | None:
    unit, space, dims = parts.unit, parts.space, parts.dims
    found = contents(unit, parts.signatures, space, dims)
    nest = nest_of(space, dims, found.reads.geometries, found.reads.strides, _passes(parts))
    ndim = len(space[0]) if dims is not None else None
    structure = Structure(found.members, nest.inputs, len(found.numbers), found.outputs, len(nest.outer),
                          len(nest.mid), ndim, dims or (),
                          nest.columns, nest.split, nest.packed, nest.tail > 0)
    kernel = kernel_of(structure)
    return None if kernel is None else _plan(kernel, nest, found, parts)


def _passes(parts: _Parts) -> int:
    """How often a kernel passes over its elements, as far as its operators tell: once, twice or more."""
    unit = parts.unit
    if unit.passes:
        return unit.passes
    assert unit.references is not None
    found = 1
    for signature, own, levels in zip(parts.signatures, unit.references.operands, unit.levels):
        if traits.dims_of(signature) is not None:
            found = max(found, traits.passes_of(signature))
        members = [r[1] for r in own if r is not None and r[0] == "member"]
        if levels == (ELEMENT,) and any(ROW in unit.levels[k] for k in members):
            found = max(found, 2)
    unit.passes = found
    return found


def _plan(kernel: Kernel, nest: Nest, found: Contents, parts: _Parts) -> Plan:
    """The calls of a kernel on the operands' loops."""
    partials: list[int] = []
    workspace = 0
    if nest.split:
        width = nest.inner if nest.columns else 1
        positions = nest.tasks // nest.rows * (nest.rows if not nest.columns else _positions(nest)) * width
        for kind, dtype in kernel.reductions:
            partials.append(workspace)
            workspace += -(-positions * wide(kind, dtype).itemsize // 64) * 64
    region = -(-nest.block * 8 // 64) * 64 + _APART
    sizes = [dtype.itemsize for dtype in kernel.buffers]
    buffer = nest.elements * max(sizes, default=0)
    buffer = -(-buffer // 64) * 64 + _APART
    scratch = kernel.regions * region + len(sizes) * buffer
    calls: list[Call] = []
    elements = 1
    for n in (*nest.outer, *nest.mid, nest.inner):
        elements *= n
    nanoseconds = elements * cost.ELEMENT_INSTRUCTION * max(kernel.work, 8)
    for name, address in kernel.calls:
        words = Words()
        _fill(words, kernel, nest, found, parts, partials, region, buffer)
        tasks = nest.rows if name == "finish" else nest.tasks
        each = nanoseconds / tasks if name != "finish" else 100.0
        calls.append(Call(address, words, tasks, cost.grain(tasks, each), scratch))
    traffic = sum(g.numel * g.dtype.itemsize for g in found.reads.geometries) \
        + sum(g.numel * g.dtype.itemsize for i, k in found.results for g in [parts.signatures[i].outputs[k]])
    return Plan(calls, workspace=workspace, traffic=float(traffic), nanoseconds=nanoseconds)


def _positions(nest: Nest) -> int:
    found = 1
    for n in nest.outer:
        found *= n
    return found


def _fill(words: Words, kernel: Kernel, nest: Nest, found: Contents, parts: _Parts, partials: list[int],
          region: int, buffer: int) -> None:
    """The words of a call, in the order of ``structure.layout_of``."""
    words.constant(*nest.outer, *nest.mid, nest.inner, nest.chunk, nest.chunks, nest.block, nest.count,
                   region, buffer, max(nest.tail, 1), *nest.own)
    for strides in nest.strides:
        words.constant(*strides)
    for (member, operand), geometry in zip(found.reads.places, found.reads.geometries):
        words.input(operand, geometry, member)
    for member, result in found.results:
        words.output(result, member)
    assert parts.unit.references is not None
    for (member, operand), dtype in zip(parts.unit.references.numbers, found.numbers):
        words.number(operand, dtype, member)
    if nest.split:
        for offset in partials:
            words.workspace(offset)
    assert len(words.values) == len(kernel.words)
