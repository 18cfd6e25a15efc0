"""From the members of a unit to the plan of its kernel: what is input, what is number, what is kept.

The plan is a function of the members' signatures and of which operand is which member's result, so that units
of the same form share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from ....graph.geometry import Geometry
from ....graph.node import Signature
from ....graph.recent import Recent
from ..plan import Call, Plan, Words
from ..quantity import most
from . import cost, past, traits
from .accumulate import wide
from .compile import Kernel, kernel_of
from .course import Course, course_of
from .nest import Nest, groups_of, nest_of
from .schedule import Unit
from .structure import ELEMENT, ROW, Member, Output, Structure
from .traits import Dims, Space, compute_of

Place = tuple[int, int]  # (member, operand)

_plans: Recent[Any, Plan | None] = Recent(1 << 11)


class Reads:
    """The arrays that a kernel reads: equal reads of one node are one input."""

    def __init__(self, space: Space, dims: Dims | None) -> None:
        self.space = space
        self.dims = dims
        self.known: dict[Any, int] = {}
        self.places: list[Place] = []
        self.levels: list[int] = []
        self.geometries: list[Geometry] = []
        self.strides: list[tuple[int, ...]] = []

    def input(self, node: int, place: Place, signature: Signature, level: int) -> int:
        """The number of the input that an operand is."""
        g = signature.geometries[place[1]]
        strides = read_strides(signature, place[1], level, self.space, self.dims)
        k = self.known.setdefault((node, g.dtype, g.offset, strides), len(self.places))
        if k == len(self.places):
            self.places.append(place)
            self.levels.append(level)
            self.geometries.append(g)
            self.strides.append(strides)
        return k


def read_strides(signature: Signature, operand: int, level: int, space: Space,
                 dims: Dims | None) -> tuple[int, ...]:
    """The strides along a space's dimensions with which an operand is read."""
    g = signature.geometries[operand]
    if level == ELEMENT:
        if g.ndim == len(space[0]):
            return g.steps      # as most of them are: a shortcut
        return traits.strides_in(signature, operand, g, len(space[0]))
    # It is read for each row of an array of rows.
    output = signature.outputs[0]
    assert dims is not None
    places = traits.kept_dims(space, dims, output.shape)
    assert places is not None
    found = [0] * len(space[0])
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
        mold = Mold(unit, signatures, contents(unit, signatures, space, dims))
        return _plans.keep(key, mold.plan(signatures, space))


def bound(unit: Unit, signatures: Sequence[Signature]) -> Plan | None:
    """The plan of a unit of the same form with these signatures, if there was one lately."""
    key = (unit.form, *signatures)
    return _plans.get(key) or _plans.recall(key)


def keep(unit: Unit, signatures: Sequence[Signature], plan: Plan | None) -> Plan | None:
    """Remember a plan for ``bound``, and return it."""
    return _plans.keep((unit.form, *signatures), plan)


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


def _passes(unit: Unit, signatures: Sequence[Signature]) -> int:
    """How often a kernel passes over its elements, as far as its operators tell: once, twice or more."""
    if unit.passes:
        return unit.passes
    assert unit.references is not None
    found = 1
    for signature, own, levels in zip(signatures, unit.references.operands, unit.levels):
        if signature.operator.rows is not None:
            found = max(found, signature.operator.rows.passes)
        members = [r[1] for r in own if r is not None and r[0] == "member"]
        if levels == (ELEMENT,) and any(ROW in unit.levels[k] for k in members):
            found = max(found, 2)
    unit.passes = found
    return found


class _Cast(NamedTuple):
    """A kernel, and its calls' words with no values in them; ``past``: its results pass the caches."""

    kernel: Kernel
    words: Words
    past: bool


class Mold:
    """A unit's kernel for operands of one kind (Note: kinds): what is left is arithmetic with extents.

    ``row_by_row``: whether the elements are walked in the order of dimensions. ``course``: its loops, where
    the kind tells. ``casts``: the kernel for each form of loops that there were.
    """

    __slots__ = ("unit", "places", "levels", "dtypes", "sizes", "members", "outputs", "results", "numbers",
                 "ndim", "dims", "row_by_row", "passes", "course", "casts", "least")

    def __init__(self, unit: Unit, signatures: Sequence[Signature], found: Contents) -> None:
        reads, dims = found.reads, found.reads.dims
        self.unit = unit
        self.places, self.levels = reads.places, reads.levels
        self.dtypes = [g.dtype.numpy for g in reads.geometries]
        self.sizes = [dtype.itemsize for dtype in self.dtypes]
        self.members, self.outputs, self.results, self.numbers = \
            found.members, found.outputs, found.results, found.numbers
        self.least = min([self.members[x.member].dtypes[x.result].itemsize for x in self.outputs
                          if x.level == ELEMENT], default=0)
        self.ndim = None if dims is None else len(reads.space[0])
        self.dims = dims
        self.row_by_row = reads.space == traits.contiguous_space(reads.space[0])
        self.passes = _passes(unit, signatures)
        self.course = self._course(reads)
        self.casts: dict[Any, _Cast | None] = {}

    def plan(self, signatures: Sequence[Signature], space: Space) -> Plan | None:
        """The plan for members of these signatures; None where the kernel has no native form."""
        course, places, levels = self.course, self.places, self.levels
        read = range(len(places)) if course is None else course.strided
        strides = [read_strides(signatures[m], j, levels[k], space, self.dims) for k in read
                   for m, j in [places[k]]]
        nest = nest_of(space, self.dims, strides, self.passes) if course is None else \
            course.nest(space, strides)
        traffic = self._traffic(signatures)
        form = (nest.accesses, len(nest.outer), len(nest.mid), nest.columns, nest.split, nest.packed,
                nest.tail > 0, nest.short, self._past(nest, traffic))
        if form not in self.casts:
            self.casts[form] = self._cast(nest, form[-1])
        cast = self.casts[form]
        return None if cast is None else self._plan(cast, nest, signatures, traffic)

    def _course(self, reads: Reads) -> Course | None:
        if not all(g.has_no_gaps for g in reads.geometries):
            return None
        nest = nest_of(reads.space, self.dims, reads.strides, self.passes)
        return course_of(nest, groups_of(reads.space, self.dims, reads.strides), self.dims, self.passes)

    def _traffic(self, signatures: Sequence[Signature]) -> int:
        """How many bytes are read and written."""
        reads = [signatures[m].geometries[j] for m, j in self.places]
        written = [signatures[m].outputs[result] for m, result in self.results]
        return sum([g.numel * size for g, size in zip(reads, self.sizes)]) \
            + sum([g.nbytes for g in written])

    def _past(self, nest: Nest, traffic: int) -> bool:
        """Whether results for each element are written past the caches."""
        if not self.least or nest.columns or nest.split or nest.short:
            return False
        return past.loop_goes_past(traffic, nest.inner * self.least, nest.rows)

    def _cast(self, nest: Nest, goes_past: bool) -> _Cast | None:
        kernel = kernel_of(Structure(
            self.members, nest.inputs(self.dtypes), len(self.numbers), self.outputs, len(nest.outer),
            len(nest.mid), self.ndim, self.dims or (), nest.columns, nest.split, nest.packed, nest.tail > 0,
            nest.short, goes_past))
        if kernel is None:
            return None
        assert self.unit.references is not None
        words = Words()
        words.constant(*extents(nest, 0, 0))
        for member, operand in self.places:
            words.input(operand, None, member)
        for member, result in self.results:
            words.output(result, member)
        for (member, operand), dtype in zip(self.unit.references.numbers, self.numbers):
            words.number(operand, dtype, member)
        for _ in kernel.reductions if nest.split else ():
            words.workspace()
        words.close()
        assert len(words.values) == len(kernel.words)
        return _Cast(kernel, words, goes_past)

    def _plan(self, cast: _Cast, nest: Nest, signatures: Sequence[Signature], traffic: int) -> Plan:
        """The calls of a kernel on the operands' loops."""
        kernel = cast.kernel
        partials, workspace = _partials(kernel, nest) if nest.split else ([], 0)
        region = -(-most(nest.block, past.PORTION if cast.past else 0) * 8 // 64) * 64 + past.APART
        buffer = nest.elements * max([dtype.itemsize for dtype in kernel.buffers], default=0)
        buffer = -(-buffer // 64) * 64 + past.APART
        scratch = kernel.regions * region + len(kernel.buffers) * buffer
        reads = [(signatures[m].geometries[j], size) for (m, j), size in zip(self.places, self.sizes)]
        words = cast.words.again(extents(nest, region, buffer), [g.offset * size for g, size in reads],
                                 partials)
        rows, tasks = nest.rows, nest.tasks
        nanoseconds = nest.total * cost.ELEMENT_INSTRUCTION * max(kernel.work, 8)
        calls = [Call(address, words, rows, cost.grain(rows, 100.0), scratch) if name == "finish" else
                 Call(address, words, tasks, cost.grain(tasks, nanoseconds / tasks), scratch)
                 for name, address in kernel.calls]
        return Plan(calls, workspace=workspace, traffic=1.0 * traffic, nanoseconds=nanoseconds)


def _partials(kernel: Kernel, nest: Nest) -> tuple[list[int], int]:
    """Where partial results lie in the calls' common memory, and its size."""
    positions = prod(nest.outer) * nest.chunks * (nest.inner if nest.columns else 1)
    partials, workspace = [], 0
    for kind, dtype in kernel.reductions:
        partials.append(workspace)
        workspace += -(-positions * wide(kind, dtype).itemsize // 64) * 64
    return partials, workspace


def extents(nest: Nest, region: int, buffer: int) -> list[int]:
    """The words that are numbers, which come first (see ``structure.layout_of``)."""
    found = [*nest.outer, *nest.mid, nest.inner, nest.chunk, nest.chunks, nest.block, nest.count, region,
             buffer, max(nest.tail, 1), *nest.own]
    for strides in nest.strides:
        found += strides
    return found
