"""Pointwise kernels that follow a matrix product, block by block, while its result is in the cache.

Note: followers. A kernel without reductions whose elements are those of a product's result, read in their
order, needs no pass over memory of its own: the product calls it with each block that it has completed. The
product waits for the kernel's other operands, so nobody else may read its result before. Where nobody else
reads it at all, the kernel's first result of the same type takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple, SupportsIndex

from ....graph.geometry import Geometry
from ....graph.node import Node, Signature
from ....graph.recent import Recent
from ..plan import Plan, Words
from ..products.blocking import Problem, product_plan
from ..templates.matmul import TEMPLATES, problem_of
from . import cost
from .binding import Contents, contents, extents, read_strides
from .blocks import Block, follower
from .kinds import KINDS, Kind, kind_of
from .nest import Nest, nest_over
from .refit import Fit
from .schedule import Unit, is_stored
from .structure import ELEMENT, FLAT, Structure
from .traits import Space, space_of

_plans: Recent[Any, Plan | None] = Recent(1 << 11)


class Followed(Unit):
    """A product, the first member, and the members of the kernel that follows it.

    ``kernel``: that kernel; ``source``: which of the nodes outside of it is the product; ``kept``: whether
    somebody else reads the product's result. It is a unit with a plan, for the shapes that came first.
    """

    __slots__ = ("kernel", "source", "kept", "fit", "molds")

    def __init__(self, product: int, kernel: Unit, source: int, kept: bool) -> None:
        super().__init__([product, *kernel.members], None)
        self.kernel = kernel
        self.source = source
        self.kept = kept
        self.fit: Fit | None = None
        self.molds: Recent[Kind, _Mold | None] = Recent(KINDS)     # None: it can not follow

    def plan_for(self, signatures: Sequence[Signature]) -> Plan | None:
        """The plan for other shapes; None where the kernel can not follow the product."""
        key = (self.kernel.form, self.source, self.kept, *signatures)
        plan = _plans.get(key) or _plans.recall(key)
        if plan is not None:
            return plan
        product, *own = signatures
        kind = kind_of(own)
        try:
            mold = self.molds[kind]
        except KeyError:
            mold = self.molds.keep(kind, self._mold(product, own))
        return _plans.keep(key, None if mold is None else mold.plan(product, own))

    def record(self, known: Sequence[Signature], given: Sequence[Signature]) -> Plan | None:
        """The plan for members of a known kind, the numbers of which are quantities (Note: formulas)."""
        mold = self.molds.get(kind_of(known[1:]))
        return None if mold is None else mold.plan(given[0], given[1:])

    def _mold(self, product: Signature, own: Sequence[Signature]) -> _Mold | None:
        if self.fit is None:
            self.fit = Fit(self.kernel, own)
        found = self.fit.space(own)
        if found is None or found[1] is not None:
            return None
        inside = contents(self.kernel, own, found[0], None)
        at = self._product_input(inside)
        if at is None:
            return None
        place = -1 if self.kept else next((k for k, (i, r) in enumerate(inside.results)
                                           if own[i].outputs[r].dtype is product.outputs[0].dtype), -1)
        return _Mold(self.kernel, self.fit.anchor, inside, at, place)

    def _product_input(self, found: Contents) -> int | None:
        """The input that is the product's result; None if it is read in several ways."""
        assert self.kernel.references is not None
        operands = self.kernel.references.operands
        inputs = [k for k, (m, j) in enumerate(found.reads.places) if operands[m][j] == ("node", self.source)]
        return inputs[0] if len(inputs) == 1 else None


class _Mold:
    """A follower for operands of one kind (Note: kinds).

    ``anchor``: the member that walks its space; ``product``: the input that is the product's result;
    ``place``: the output that lies where that does, or -1. ``codes``: by how inputs are accessed, the
    function's address and how many instructions it has for an element.
    """

    __slots__ = ("kernel", "anchor", "contents", "product", "place", "dtypes", "codes")

    def __init__(self, kernel: Unit, anchor: int, found: Contents, product: int, place: int) -> None:
        self.kernel = kernel
        self.anchor = anchor
        self.contents = found
        self.product = product
        self.place = place
        self.dtypes = [g.dtype.numpy for g in found.reads.geometries]
        self.codes: dict[Any, tuple[SupportsIndex, int] | None] = {}

    def plan(self, product: Signature, own: Sequence[Signature]) -> Plan | None:
        """The plan for a product and members of these signatures, if they can follow it."""
        problem, space = problem_of(product), space_of(own[self.anchor].outputs[0])
        if problem is None or not _is_plain(problem, space):
            return None
        places = self.contents.reads.places
        reads = [read_strides(own[m], j, ELEMENT, space, None) for m, j in places]
        steps = _steps(space, reads, problem.n)
        if steps is None:
            return None
        nest = nest_over([(problem.m, False), (problem.n, False)], steps, [problem.n, 1],
                         [ELEMENT] * len(steps), False, 1)
        if nest.accesses not in self.codes:
            self.codes[nest.accesses] = self._code(nest)
        code = self.codes[nest.accesses]
        if code is None:
            return None
        geometries = [own[m].geometries[j] for m, j in places]
        following = _Following(self, geometries, nest, code[0])
        plan = product_plan(Problem(*problem[:-2], following, following.place_of_product()))
        plan.nanoseconds += prod(space[0]) * cost.ELEMENT_INSTRUCTION * max(code[1], 8)
        moved = [g for k, g in enumerate(geometries) if k != self.product]
        moved += [own[i].outputs[r] for k, (i, r) in enumerate(self.contents.results) if k != self.place]
        plan.traffic += sum([g.numel * g.dtype.itemsize for g in moved])
        return plan

    def _code(self, nest: Nest) -> tuple[SupportsIndex, int] | None:
        if nest.accesses[self.product][0] != FLAT:
            return None
        found = self.contents
        structure = Structure(found.members, nest.inputs(self.dtypes), len(found.numbers), found.outputs, 1)
        return follower(Block(structure, self.product, self.place))


class _Following(NamedTuple):
    """The arguments of a follower. ``geometries``: of what it reads."""

    mold: _Mold
    geometries: Sequence[Geometry]
    nest: Nest
    address: SupportsIndex

    def place_of_product(self) -> tuple[int, int]:
        """Which member's result the product's lies in, as ``Words.output`` wants it."""
        if self.mold.place < 0:
            return 0, 0
        member, result = self.mold.contents.results[self.mold.place]
        return result, member + 1

    def fill(self, words: Words) -> None:
        """In the order of ``structure.layout_of``; chunks, blocks and scratch memory are not used."""
        mold = self.mold
        words.constant(*extents(self.nest, 0, 0))
        for k, ((member, operand), g) in enumerate(zip(mold.contents.reads.places, self.geometries)):
            if k == mold.product:
                words.output(*self.place_of_product())
            else:
                words.input(operand, g, member + 1)
        for member, result in mold.contents.results:
            words.output(result, member + 1)
        assert mold.kernel.references is not None
        for (member, operand), dtype in zip(mold.kernel.references.numbers, mold.contents.numbers):
            words.number(operand, dtype, member + 1)


def _is_plain(problem: Problem, space: Space) -> bool:
    """Whether a product's result lies like the elements of a space, row by row."""
    c = problem.c
    return problem.items == 1 and problem.n > 1 and c.column == 1 and (c.row == problem.n or problem.m == 1) \
        and problem.m * problem.n == prod(space[0])


def _steps(space: Space, reads: Sequence[tuple[int, ...]], columns: int) -> list[list[int]] | None:
    """Of each input, its strides along rows of so many columns and along these; None where one has none."""
    parts = _parts(space, columns)
    if parts is None:
        return None
    found: list[list[int]] = []
    for k, strides in enumerate(reads):
        if k and strides == reads[k - 1]:
            found.append(found[-1])
            continue
        steps = [_step(space[0], strides, dims) for dims in parts]
        if None in steps:
            return None
        found.append([step or 0 for step in steps])
    return found


def _parts(space: Space, columns: int) -> list[list[int]] | None:
    """The dimensions of a space, innermost first, that are the rows, and those that are their columns."""
    shape, own = space
    order = sorted([d for d, n in enumerate(shape) if n > 1], key=own.__getitem__)
    found: list[list[int]] = []
    for extent in (columns, prod(shape) // columns):
        dims, size = list[int](), 1
        while size < extent and order:
            dims.append(order.pop(0))
            size *= shape[dims[-1]]
        if size != extent:
            return None
        found.insert(0, dims)
    return found


def _step(shape: tuple[int, ...], strides: tuple[int, ...], dims: list[int]) -> int | None:
    """The stride with which dimensions are walked as one; None where there is no such stride."""
    for inner, outer in pairwise(dims):
        if strides[outer] != strides[inner] * shape[inner]:
            return None
    return strides[dims[0]] if dims else 0


# --- who follows whom ---------------------------------------------------------------------------------------

def joined(units: list[Unit], nodes: Sequence[Node]) -> list[Unit]:
    """The units of a schedule, with the kernels that can follow a product joined to it."""
    readers = _first_readers(units, nodes)
    found: list[Unit | None] = list(units)
    for u, unit in enumerate(units):
        if not unit.fused or unit.dims is not None or unit.space is None:
            continue
        for product in sorted((p for p, reader in readers.items() if reader == u), reverse=True):
            together = _together(units[product], unit, nodes) if found[product] is units[product] else None
            if together is not None:
                found[product], found[u] = None, together
                break
    return [unit for unit in found if unit is not None]


def _first_readers(units: list[Unit], nodes: Sequence[Node]) -> dict[int, int]:
    """Of each unit, the first one that reads it."""
    made = {id(nodes[k]): u for u, unit in enumerate(units) for k in unit.members}
    readers: dict[int, int] = {}
    for u, unit in enumerate(units):
        for k in unit.members:
            for x in nodes[k].operands:
                source = made.get(id(x), u)
                if source != u:
                    readers.setdefault(source, u)
    return readers


def _together(product: Unit, kernel: Unit, nodes: Sequence[Node]) -> Followed | None:
    """A product and the kernel that reads it first as one; None where it cannot follow."""
    first = product.members[0]
    signature = nodes[first].signature
    if product.plan is None or signature is None or signature.operator.name not in TEMPLATES:
        return None
    assert kernel.references is not None
    # No local variable may refer to the product's node: references tell whether somebody else reads it.
    source = next(own[j][1] for k, own in zip(kernel.members, kernel.references.operands)
                  for j in range(len(own)) if nodes[k].operands[j] is nodes[first])
    kept = is_stored(nodes, [first, *kernel.members])[0]
    unit = Followed(first, kernel, source, kept)
    unit.plan = unit.plan_for([s for k in unit.members for s in [nodes[k].signature] if s is not None])
    return unit if unit.plan is not None else None
