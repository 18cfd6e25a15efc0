"""The loops of a kernel over operands of given shapes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ....graph.geometry import Geometry
from .structure import ADJACENT, ELEMENT, FLAT, ONE, REPEATED, ROW, STRIDED, Input
from .traits import Space

_TASK = 1 << 14      # elements of a task, where they need not stay together
_PARTS = 64          # a row is shared between at most that many tasks
_FEW = 8             # tasks that are too few to share large work evenly
_SHORT = 256         # loops of so few elements are no loops for vectors
_COLUMNS = 1024      # columns of a task
_LARGEST = 1 << 23   # elements that a task has to itself
_CACHED = 1 << 17    # elements that stay in the second cache between passes


class Nest:
    """The loops, the operands' strides in them, and how the work is cut into tasks.

    ``strides``: of each input that is read by strides, those of the outer and mid loops and the inner step.
    """

    __slots__ = ("outer", "mid", "inner", "columns", "split", "packed", "own", "inputs", "strides", "chunk",
                 "chunks", "block", "count", "tail")

    def __init__(self, loops: list[tuple[int, bool]], steps: list[list[int]], own: list[int],
                 inputs: Sequence[tuple[Geometry, int]], reduces: bool, passes: int, tail: int = 0) -> None:
        last = len(loops) - 1
        self.tail = tail
        self.columns = reduces and not loops[last][1]
        kept = [n for n in range(last) if not loops[n][1]]
        reduced = [n for n in range(last) if loops[n][1]]
        order = kept + reduced + [last]
        self.outer = [loops[n][0] for n in kept]
        self.mid = [loops[n][0] for n in reduced]
        self.inner = loops[last][0]
        self.own = [own[n] for n in order[:-1]]
        self.count = prod(n for n, is_reduced in loops if is_reduced) * max(tail, 1)
        self.inputs, self.strides = self._accesses(steps, own, order, inputs)
        self._cut(reduces, passes)

    @staticmethod
    def _accesses(steps: list[list[int]], own: list[int], order: list[int],
                  operands: Sequence[tuple[Geometry, int]]) -> tuple[tuple[Input, ...], list[list[int]]]:
        inputs, strides = [], []
        for (g, level), s in zip(operands, steps):
            if not any(s):
                access = ONE
            elif s == own and level == ELEMENT:
                access = FLAT
            else:
                access = {0: REPEATED, 1: ADJACENT}.get(s[-1], STRIDED)
                strides.append([s[n] for n in order])
            inputs.append(Input(g.dtype.numpy, access, level))
        return tuple(inputs), strides

    def _cut(self, reduces: bool, passes: int) -> None:
        again = passes > 1
        rows = prod(self.outer)
        total = rows * prod(self.mid) * self.inner
        first = self.mid[0] if self.mid else self.inner
        self.block = min(self.inner, _COLUMNS) if self.columns else 1
        self.chunk, self.chunks, self.split = max(first, 1), 1, False
        each = self.count // first if reduces else 1
        if self.columns and again and rows * -(-self.inner // self.block) < _FEW:
            self.block = min(self.block, max(64, -(-self.inner * rows // _FEW // 64) * 64))
        if self.columns:
            rows *= -(-self.inner // self.block)
            each *= self.block
        if not reduces:
            self.chunk = min(_TASK, self.inner)
        elif first > 1 and (self.elements > _LARGEST
                            or (rows < (2 if again else _FEW) and total >= 4 * _TASK)):
            least = max(2 * _TASK, total // (_FEW if again else _PARTS))
            self.chunk = min(first, -(-least // max(each, 1)))
            if not self.mid:
                self.chunk = -(-self.chunk // 4096) * 4096
        elif self.columns and self.elements > _CACHED:
            self.block = min(self.inner, max(64, _CACHED // prod(self.mid) // 64 * 64))
        if self.tail:
            self.block = max(self.block // self.tail, 1) * self.tail
        self.chunks = -(-first // self.chunk)
        self.split = reduces and self.chunks > 1
        self.packed = passes > 2 and bool(self.mid) and not self.columns and not self.split \
            and self.elements <= 2 * _CACHED

    @property
    def elements(self) -> int:
        """How many elements a task goes over, where it has rows to itself."""
        return prod(self.mid) * (self.block if self.columns else self.inner)

    @property
    def rows(self) -> int:
        """Outer positions, or blocks of columns."""
        return prod(self.outer) * (-(-self.inner // self.block) if self.columns else 1)

    @property
    def tasks(self) -> int:
        return self.rows * self.chunks


def nest_of(space: Space, dims: tuple[int, ...] | None, geometries: Sequence[Geometry],
            reads: Sequence[Sequence[int]], passes: int) -> Nest:
    """The loops over ``space``; ``reads``: each input's strides along the space's dimensions.

    ``passes``: how often elements are passed over, about.
    """
    shape, strides = space
    order = sorted((d for d in range(len(shape)) if shape[d] > 1), key=lambda d: -strides[d])
    reduces = dims is not None
    loops = [(shape[d], reduces and d in (dims or ())) for d in order]
    own = [strides[d] for d in order]
    steps = [[s[d] for d in order] for s in reads]
    if not loops or (reduces and not any(is_reduced for _, is_reduced in loops)):
        loops.append((1, reduces))
        own.append(1)
        for s in steps:
            s.append(0)
    loops, steps, own = _merged(loops, steps, own)
    levels = [ROW if reduces and not any(x for x, (_, reduced) in zip(s, loops) if reduced) else ELEMENT
              for s in steps]
    inputs = list(zip(geometries, levels))
    if _folds(loops, steps, levels):
        tail = loops[-1][0]
        steps = [[*s[:-2], s[-1] if level == ELEMENT else s[-2]] for s, level in zip(steps, levels)]
        loops = [*loops[:-2], (loops[-2][0] * tail, False)]
        return Nest(loops, steps, [*own[:-2], 1], inputs, reduces, passes, tail)
    return Nest(loops, steps, own, inputs, reduces, passes)


def _folds(loops: list[tuple[int, bool]], steps: list[list[int]], levels: list[int]) -> bool:
    """Whether the innermost loop, reduced but short, is taken together with the kept one around it."""
    if len(loops) < 3 or not loops[-1][1] or loops[-2][1] or loops[-1][0] > _SHORT \
            or not any(reduced for _, reduced in loops[:-2]):
        return False
    return all(level == ROW or s[-2] == loops[-1][0] * s[-1] for s, level in zip(steps, levels))


def _merged(loops: list[tuple[int, bool]], steps: list[list[int]],
            own: list[int]) -> tuple[list[tuple[int, bool]], list[list[int]], list[int]]:
    """Neighbouring loops as one wherever every operand allows it, but not kept ones with reduced ones."""
    every = [own, *steps]
    merged = [loops[-1]]
    kept = [[s[-1]] for s in every]
    for n in range(len(loops) - 2, -1, -1):
        extent, kind = merged[0]
        if loops[n][1] == kind and all(s[n] == extent * k[0] for s, k in zip(every, kept)):
            merged[0] = (extent * loops[n][0], kind)
        else:
            merged.insert(0, loops[n])
            for s, k in zip(every, kept):
                k.insert(0, s[n])
    return merged, kept[1:], kept[0]
