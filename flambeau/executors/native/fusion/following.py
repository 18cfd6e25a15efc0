"""Pointwise kernels that follow a matrix product, block by block, while its result is in the cache.

Note: followers. A kernel without reductions whose elements are those of a product's result, read in their
order, needs no pass over memory of its own: the product calls it with each block that it has completed. The
product waits for the kernel's other operands, so nobody else may read its result before. Where nobody else
reads it at all, the kernel's first result of the same type takes its place.

What drops elements follows the tosses that decide on them in the same way, batch by batch: tosses are
computed while the elements come from memory. Whatever a product can be followed by rather follows that.
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
from ..templates.products.matmul import TEMPLATES, problem_of
from ..templates.random.random import Use, followed_plan, is_followed
from . import cost, past
from .binding import Contents, contents, extents, read_strides
from .blocks import Block, follower
from .kinds import KINDS, Kind, kind_of, lie_alike
from .nest import Nest, nest_over
from .refit import Fit
from .schedule import Unit, is_stored
from .structure import ELEMENT, FLAT, Structure
from .traits import Space, space_of

_BYTE = 0.03    # nanoseconds for a byte from memory or to it, on one of two threads

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
        mold = self._mold_of(product, own)
        return _plans.keep(key, None if mold is None else mold.plan(product, own))

    def record(self, known: Sequence[Signature], given: Sequence[Signature]) -> Plan | None:
        """The plan for members of a known kind, the numbers of which are quantities (Note: formulas)."""
        mold = self._mold_of(known[0], known[1:])
        return None if mold is None or not lie_alike(known[1:], given[1:]) else mold.plan(given[0], given[1:])

    def _mold_of(self, product: Signature, own: Sequence[Signature]) -> _Mold | None:
        """The mold of the kind of the kernel's signatures."""
        kind = kind_of(own)
        try:
            return self.molds[kind]
        except KeyError:
            return self.molds.keep(kind, self._mold(product, own))

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


Code = tuple[SupportsIndex, int]    # a function's address, and how many instructions it has for an element


class _Mold:
    """A follower for operands of one kind (Note: kinds).

    ``anchor``: the member that walks its space; ``product``: the input that is the product's result;
    ``place``: the output that lies where that does, or -1. ``codes``: by how inputs are accessed, and whether
    results pass the caches.
    """

    __slots__ = ("kernel", "anchor", "contents", "product", "place", "dtypes", "codes")

    def __init__(self, kernel: Unit, anchor: int, found: Contents, product: int, place: int) -> None:
        self.kernel = kernel
        self.anchor = anchor
        self.contents = found
        self.product = product
        self.place = place
        self.dtypes = [g.dtype.numpy for g in found.reads.geometries]
        self.codes: dict[Any, Code | None] = {}

    def plan(self, product: Signature, own: Sequence[Signature]) -> Plan | None:
        """The plan for a product and members of these signatures, if they can follow it."""
        space = space_of(own[self.anchor].outputs[0])
        if product.operator.name not in TEMPLATES:
            return self._behind_tosses(product, own, space)
        problem = problem_of(product)
        if problem is None or not _is_plain(problem, space):
            return None
        nest = self._nest(own, space, problem.m, problem.n, problem.n)
        code = self._code(nest, False)
        if nest is None or code is None:
            return None
        following = _Following(self, self._geometries(own), nest, code[0])
        plan = product_plan(Problem(*problem[:-2], following, following.place_of_product()))
        return self._added(plan, self._moved(own), space, code)

    def _behind_tosses(self, tosses: Signature, own: Sequence[Signature], space: Space) -> Plan | None:
        """The same where the source are tosses: their elements are one row if operands can be read so."""
        count = tosses.outputs[0].numel
        if not is_followed(tosses) or count != prod(space[0]):
            return None
        innermost = _innermost(space)
        for columns in (count, innermost):
            nest = self._nest(own, space, count // columns, columns, 0 if columns is count else columns)
            if nest is not None:
                break
        geometries = self._geometries(own)
        flat = [k for k, access in enumerate(nest.accesses if nest is not None else ())
                if access[0] == FLAT and k != self.product]
        if nest is None or not flat:
            return None
        moved = self._moved(own)
        least = min([own[i].outputs[r].dtype.itemsize for i, r in self.contents.results])
        passes = past.loop_goes_past(moved + tosses.nbytes, columns * least, count // columns)
        code = self._code(nest, passes)
        if code is None:
            return None
        member, position = self.contents.reads.places[flat[0]]
        each = max(cost.ELEMENT_INSTRUCTION * max(code[1], 8), _BYTE * moved / count)
        plan = followed_plan(tosses, Use(_Following(self, geometries, nest, code[0]), columns, each,
                                         (member + 1, position, geometries[flat[0]])))
        return self._added(plan, moved, space, code)

    def _geometries(self, own: Sequence[Signature]) -> list[Geometry]:
        return [own[m].geometries[j] for m, j in self.contents.reads.places]

    def _nest(self, own: Sequence[Signature], space: Space, rows: int, columns: int,
              step: int) -> Nest | None:
        """The loops over the result's rows and columns; None where an operand has no strides there.

        ``step``: from a row of the result to the next.
        """
        reads = [read_strides(own[m], j, ELEMENT, space, None) for m, j in self.contents.reads.places]
        steps = _steps(space, reads, columns)
        if steps is None:
            return None
        loops = [(rows, False), (columns, False)]
        return nest_over(loops, steps, [step, 1], [ELEMENT] * len(steps), False, 1)

    def _moved(self, own: Sequence[Signature]) -> int:
        """How many bytes are read and written beside the product's result."""
        moved = [g for k, g in enumerate(self._geometries(own)) if k != self.product]
        moved += [own[i].outputs[r] for k, (i, r) in enumerate(self.contents.results) if k != self.place]
        return sum([g.nbytes for g in moved])

    @staticmethod
    def _added(plan: Plan, moved: int, space: Space, code: Code) -> Plan:
        """A plan with what its follower costs."""
        plan.nanoseconds += prod(space[0]) * cost.ELEMENT_INSTRUCTION * max(code[1], 8)
        plan.traffic += moved
        return plan

    def _code(self, nest: Nest | None, passes: bool) -> Code | None:
        if nest is None or nest.accesses[self.product][0] != FLAT:
            return None
        key = nest.accesses, passes
        if key not in self.codes:
            found = self.contents
            structure = Structure(found.members, nest.inputs(self.dtypes), len(found.numbers), found.outputs,
                                  1, past=passes)
            self.codes[key] = follower(Block(structure, self.product, self.place))
        return self.codes[key]


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
        """In the order of ``structure.layout_of``; chunks and blocks are not used."""
        mold = self.mold
        words.constant(*extents(self.nest, past.REGION, 0))
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


def _innermost(space: Space) -> int:
    """The extent of the dimension along which elements are adjacent."""
    _, extent = min([(s, n) for n, s in zip(*space) if n > 1], default=(1, 1))
    return extent


def _step(shape: tuple[int, ...], strides: tuple[int, ...], dims: list[int]) -> int | None:
    """The stride with which dimensions are walked as one; None where there is no such stride."""
    for inner, outer in pairwise(dims):
        if strides[outer] != strides[inner] * shape[inner]:
            return None
    return strides[dims[0]] if dims else 0


# --- who follows whom ---------------------------------------------------------------------------------------

def joined(units: list[Unit], nodes: Sequence[Node]) -> list[Unit]:
    """The units of a schedule, with the kernels that can follow a product, or tosses, joined to it."""
    readers = _first_readers(units, nodes)
    found: list[Unit | None] = list(units)
    for u, unit in enumerate(units):
        if not unit.fused or unit.dims is not None or unit.space is None:
            continue
        own = [p for p, reader in readers.items() if reader == u and units[p].plan is not None]
        for product in sorted(own, key=lambda p: (_tosses(units[p], nodes), -p)):
            together = _together(units[product], unit, nodes) if found[product] is units[product] else None
            if together is not None:
                found[product], found[u] = None, together
                break
    return [unit for unit in found if unit is not None]


def _first_readers(units: list[Unit], nodes: Sequence[Node]) -> dict[int, int]:
    """Of each unit, the first one that reads it. What names one of several results reads nothing."""
    made: dict[int, int] = {}
    readers: dict[int, int] = {}
    for u, unit in enumerate(units):
        made.update({id(nodes[k]): u for k in unit.members})
        for k in unit.members:
            for x in nodes[k].operands:
                source = made.get(id(x), u)
                if _projects(nodes[k]):
                    made[id(nodes[k])] = source
                elif source != u:
                    readers.setdefault(source, u)
    return readers


def _projects(node: Node) -> bool:
    return node.signature is not None and node.signature.operator.kind == "project"


def _tosses(unit: Unit, nodes: Sequence[Node]) -> bool:
    signature = nodes[unit.members[0]].signature
    return signature is not None and signature.operator.name == "bernoulli"


def _together(product: Unit, kernel: Unit, nodes: Sequence[Node]) -> Followed | None:
    """A product, or tosses, and the kernel that reads it first as one; None where it cannot follow."""
    first = product.members[0]
    signature = nodes[first].signature
    tosses = _tosses(product, nodes)
    if product.plan is None or signature is None:
        return None
    if not tosses and signature.operator.name not in TEMPLATES:
        return None
    assert kernel.references is not None
    # No local variable may refer to the product's node: references tell whether somebody else reads it.
    source = next((own[j][1] for k, own in zip(kernel.members, kernel.references.operands)
                   for j in range(len(own)) if _is_result(nodes[k].operands[j], nodes[first])), None)
    if source is None:
        return None
    kept = tosses or is_stored(nodes, [first, *kernel.members])[0]
    unit = Followed(first, kernel, source, kept)
    unit.plan = unit.plan_for([s for k in unit.members for s in [nodes[k].signature] if s is not None])
    return unit if unit.plan is not None else None


def _is_result(operand: Any, node: Node) -> bool:
    """Whether an operand is a node's first result."""
    if operand is node:
        return True
    signature = operand.signature if operand.__class__ is Node else None
    # What has been computed has no operands any more.
    return signature is not None and signature.operator.kind == "project" and signature.attributes[0] == 0 \
        and operand.operands[:1] == (node,)
