"""The loops of a kernel over operands of given shapes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..llvm.emitter import Dtype
from ..movement.spaces import even
from ..quantity import whole
from .structure import ADJACENT, ELEMENT, FLAT, ONE, REPEATED, ROW, SHORT, STRIDED, Input
from .traits import Space

_TASK = 1 << 14      # elements of a task, where they need not stay together
_PARTS = 64          # a row is shared between at most that many tasks
_MANY = 256          # rows for which other code pays, if they are short
_FEW = 8             # tasks that are too few to share large work evenly
_SHORT = 256         # loops of so few elements are no loops for vectors
_COLUMNS = 1024      # columns of a task
_LARGEST = 1 << 23   # elements that a task has to itself
_CACHED = 1 << 17    # elements that stay in the second cache between passes


Accesses = tuple[tuple[int, int], ...]


class Nest:
    """The loops, the operands' strides in them, and how the work is cut into tasks.

    ``outer``: the loops that are kept, outermost first, ``mid``: those that are reduced, both except for the
    ``inner`` one, of which ``reduced`` tells which it is (None: nothing is reduced). ``accesses``: how each
    input is read, and at which level. ``strides``: of each input that is read by strides, those of the outer
    and mid loops and the inner step. ``total``: how many elements there are; ``elements``: how many a task
    goes over, where it has rows to itself. ``rows``: outer positions, or blocks of columns.
    """

    __slots__ = ("outer", "mid", "inner", "columns", "split", "packed", "short", "own", "accesses", "strides",
                 "total", "chunk", "chunks", "block", "count", "tail", "elements", "rows")

    def __init__(self, outer: list[int], mid: list[int], inner: int, reduced: bool | None, own: list[int],
                 accesses: Accesses, strides: list[list[int]], passes: int, tail: int = 0) -> None:
        self.outer = outer
        self.mid = mid
        self.inner = inner
        self.own = own
        self.accesses = accesses
        self.strides = strides
        self.tail = tail
        self.columns = reduced is False
        self.count = prod(mid) * (inner if reduced else 1) * max(tail, 1)
        self._cut(reduced is not None, passes)

    def _cut(self, reduces: bool, passes: int) -> None:
        rows, mid, inner = prod(self.outer), prod(self.mid), self.inner
        self.total = rows * mid * inner
        self.chunk, self.chunks, self.block, self.split, self.packed, self.short = _cuts(
            rows, mid, inner, self.mid[0] if self.mid else inner, self.count, self.tail, bool(self.mid),
            self.columns, reduces, passes)
        self.elements = mid * (self.block if self.columns else inner)
        self.rows = rows * (-(-inner // self.block) if self.columns else 1)

    @property
    def tasks(self) -> int:
        return self.rows * self.chunks

    def inputs(self, dtypes: Sequence[Dtype]) -> tuple[Input, ...]:
        """The operands as the kernel's code sees them."""
        return tuple([Input(dtype, *access) for dtype, access in zip(dtypes, self.accesses)])


@whole
def _cuts(rows: int, mid: int, inner: int, first: int, count: int, tail: int, has_mid: bool, columns: bool,
           reduces: bool, passes: int) -> tuple[int, int, int, bool, bool, bool]:
    """How a nest is cut: chunk, chunks, block; whether it is split, its rows are packed, and short.

    ``rows``, ``mid``: positions of the outer and of the mid loops; ``first``: the extent of the outermost
    loop that is reduced.
    """
    again, total = passes > 1, rows * mid * inner
    block = min(inner, _COLUMNS) if columns else 1
    chunk = max(first, 1)
    each = count // first if reduces else 1
    blocks = rows
    if columns:
        if again and rows * -(-inner // block) < _FEW:
            block = min(block, max(64, -(-inner * rows // _FEW // 64) * 64))
        blocks = rows * -(-inner // block)
        each = each // max(tail, 1) * block     # the block has the tail's elements
    elements = mid * (block if columns else inner)
    if not reduces:
        chunk = min(_TASK, inner)
    elif first > 1 and (elements > _LARGEST
                        or (blocks < (2 if again else _FEW) and total >= 4 * _TASK)):
        shares = max(2 * _TASK, total // (_FEW if again else _PARTS))
        chunk = min(first, -(-shares // max(each, 1)))
        chunk = -(-first // even(-(-first // chunk)))
        if not has_mid:
            chunk = -(-chunk // 4096) * 4096
    elif columns and elements > _CACHED:
        block = min(inner, max(64, _CACHED // mid // 64 * 64))
    if tail:
        block = max(block // tail, 1) * tail
    chunks = -(-first // chunk)
    split = reduces and chunks > 1
    elements = mid * (block if columns else inner)
    packed = passes > 2 and has_mid and not columns and not split and elements <= 2 * _CACHED
    short = reduces and not (again or has_mid or columns or split) and inner <= SHORT and rows >= _MANY
    return chunk, chunks, block, split, packed, short


def nest_over(loops: list[tuple[int, bool]], steps: Sequence[Sequence[int]], own: Sequence[int],
              levels: Sequence[int], reduces: bool, passes: int, tail: int = 0) -> Nest:
    """The nest of loops (extent, whether it is reduced), given the inputs' steps in each, and the space's."""
    last = len(loops) - 1
    kept = [n for n in range(last) if not loops[n][1]]
    reduced = [n for n in range(last) if loops[n][1]]
    order = [*kept, *reduced, last]
    accesses, strides = [], []
    for s, level in zip(steps, levels):
        if not any(s):
            access = ONE
        elif s == own and level == ELEMENT:
            access = FLAT
        else:
            access = REPEATED if s[-1] == 0 else ADJACENT if s[-1] == 1 else STRIDED
            strides.append([s[n] for n in order])
        accesses.append((access, level))
    return Nest([loops[n][0] for n in kept], [loops[n][0] for n in reduced], loops[last][0],
                loops[last][1] if reduces else None, [own[n] for n in order[:-1]], tuple(accesses), strides,
                passes, tail)


Groups = tuple[tuple[int, ...], ...]    # the dimensions that are one loop each, outermost first


def nest_of(space: Space, dims: tuple[int, ...] | None, reads: Sequence[Sequence[int]], passes: int) -> Nest:
    """The loops over ``space``; ``reads``: each input's strides along the space's dimensions.

    ``passes``: how often elements are passed over, about.
    """
    shape, strides = space
    groups = groups_of(space, dims, reads)
    reduces = dims is not None
    loops = [(prod([shape[d] for d in group]), dims is not None and group[0] in dims) for group in groups]
    own = [strides[group[-1]] for group in groups]
    steps = [[s[group[-1]] for group in groups] for s in reads]
    if not loops or (reduces and not any(is_reduced for _, is_reduced in loops)):
        loops.append((1, reduces))
        own.append(1)
        for s in steps:
            s.append(0)
    levels = [ELEMENT] * len(steps)
    if reduces:
        reduced = [n for n, (_, is_reduced) in enumerate(loops) if is_reduced]
        levels = [ELEMENT if any(s[n] for n in reduced) else ROW for s in steps]
        if _folds(loops, steps, levels):
            tail = loops[-1][0]
            steps = [[*s[:-2], s[-1] if level == ELEMENT else s[-2]] for s, level in zip(steps, levels)]
            loops = [*loops[:-2], (loops[-2][0] * tail, False)]
            return nest_over(loops, steps, [*own[:-2], 1], levels, reduces, passes, tail)
    return nest_over(loops, steps, own, levels, reduces, passes)


def groups_of(space: Space, dims: tuple[int, ...] | None, reads: Sequence[Sequence[int]]) -> Groups:
    """Neighbouring dimensions joined where every operand allows it, but not kept ones to reduced ones."""
    shape, strides = space
    order = [d for d, n in enumerate(shape) if n > 1]
    order.sort(key=strides.__getitem__, reverse=True)
    groups: list[tuple[int, ...]] = []
    last = -1
    for d in order:
        n = shape[d]
        if groups and (dims is None or (d in dims) == (last in dims)) and strides[last] == n * strides[d] \
                and all(s[last] == n * s[d] for s in reads):
            groups[-1] = (*groups[-1], d)
        else:
            groups.append((d,))
        last = d
    return tuple(groups)


def _folds(loops: list[tuple[int, bool]], steps: Sequence[Sequence[int]], levels: list[int]) -> bool:
    """Whether the innermost loop, reduced but short, is taken together with the kept one around it."""
    if len(loops) < 3 or not loops[-1][1] or loops[-2][1] or loops[-1][0] > _SHORT \
            or not any(reduced for _, reduced in loops[:-2]):
        return False
    return all(level == ROW or s[-2] == loops[-1][0] * s[-1] for s, level in zip(steps, levels))
