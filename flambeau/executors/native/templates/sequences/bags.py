"""Sums and means of bags of rows of a table, without the rows themselves in memory.

A task is a bag. Its sum stays in registers, for a few vectors of columns at a time, while its rows go by.
"""

from __future__ import annotations

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...llvm.build import Function, Module, Variable
from ...llvm.compiling.code import kernel
from ...llvm.emitter import INT32, INT64, memory_type
from ...plan import Call, Plan, Words
from ...vectors import Elements, arithmetic, elements
from ..convolutions.pooling_windows import elements_of

RESULT, TABLE, INDICES, STARTS, STATUS = range(5)
BAGS, ENTRIES, ROWS, WIDTH, ROW_STEP, INDEX_STEP, START_STEP = range(5, 12)
_VECTORS = 4        # of columns at a time
_TASK = 1 << 15     # additions that are worth a task of their own


def _sums(signature: Signature) -> Plan | None:
    table, indices, starts = signature.geometries
    assert isinstance(table, Geometry) and isinstance(indices, Geometry) and isinstance(starts, Geometry)
    mean, = signature.attributes
    e, (rows, width) = elements_of(table, indices, starts), table.shape
    if e is None or starts.dtype.numpy != INT64 or indices.dtype.numpy not in (INT32, INT64) \
            or (width > 1 and table.strides[1] != 1):
        return None
    bags, entries = starts.numel, indices.numel
    words = Words()
    words.output(0)
    words.input(0, table)
    words.input(1, indices)
    words.input(2, starts)
    words.status()
    words.constant(bags, entries, rows, width, table.strides[0], indices.strides[0], starts.strides[0])
    call = Call(_kernel(e.name, str(indices.dtype.numpy), mean), words, bags,
                grain=max(1, _TASK * bags // (entries * width)))
    return Plan([call], flops=1.0 * entries * width, traffic=1.0 * e.itemsize * (entries + bags) * width)


@kernel("embedding_bag")
def _kernel(name: str, index: str, mean: bool) -> str:
    module = Module()
    with module.kernel("embedding_bag") as f:
        bag_of = _Bags(f, elements(name), index, mean)
        block = _VECTORS * bag_of.e.lanes
        with f.loop(f.begin, f.end) as bag:
            begin, end = bag_of.range(bag)
            whole = f.mul(f.div(f.word(WIDTH), block), block)
            with f.loop(0, whole, block) as column:
                bag_of.add_up(bag, begin, end, column, _VECTORS, "")
            with f.loop(whole, f.word(WIDTH), bag_of.e.lanes) as column:
                live = f.first_lanes(f.sub(f.word(WIDTH), column), bag_of.e.lanes)
                bag_of.add_up(bag, begin, end, column, 1, live)
    return module.text()


class _Bags:
    """The bags of one call."""

    def __init__(self, f: Function, e: Elements, index: str, mean: bool) -> None:
        self.f, self.e, self.mean = f, e, mean
        self.narrow = index == "int32"
        self.index = memory_type(INT32 if self.narrow else INT64)

    def range(self, bag: str) -> tuple[str, str]:
        """The first entry of a bag, and of the next."""
        f = self.f
        last = f.sub(f.word(BAGS), 1)
        begin = self._start(bag)
        end = self._start(f.least(f.add(bag, 1), last))
        return begin, f.choose(f.compare("slt", bag, last), "i64", end, f.word(ENTRIES))

    def _start(self, bag: str) -> str:
        f = self.f
        start = f.read("i64", f.at(f.word(STARTS, "ptr"), f.mul(bag, f.word(START_STEP)), "i64"), 8)
        return f.least(f.most(start, 0), f.word(ENTRIES))

    def _row(self, entry: str) -> str:
        """Which row an entry names; the first one, and the status says so, where there is no such row."""
        f = self.f
        place = f.at(f.word(INDICES, "ptr"), f.mul(entry, f.word(INDEX_STEP)), self.index)
        row = f.read(self.index, place, 4 if self.narrow else 8)
        row = f.emit(f"sext i32 {row} to i64") if self.narrow else row
        there = f.compare("ult", row, f.word(ROWS))
        with f.when(f.emit(f"xor i1 {there}, true")):
            f.write("i64", 1, f.word(STATUS, "ptr"), 8)
        return f.choose(there, "i64", row, 0)

    def add_up(self, bag: str, begin: str, end: str, column: str, vectors: int, live: str) -> None:
        """Some vectors of columns of a bag's sum, or the lanes of one that are ``live``."""
        f, e = self.f, self.e
        sums: list[Variable] = [f.variable(e.kind, "zeroinitializer") for _ in range(vectors)]
        with f.loop(begin, end) as entry:
            start = f.add(f.mul(self._row(entry), f.word(ROW_STEP)), column)
            for k, total in enumerate(sums):
                x = e.read(f, e.at(f, f.word(TABLE, "ptr"), f.add(start, k * e.lanes)), live)
                total.set(arithmetic(f, "fadd", e.kind, total.get(), x))
        count = f.emit(f"sitofp i64 {f.most(f.sub(end, begin), 1)} to {e.element}")
        divisor = f.splat(count, e.lanes, e.element)
        to = f.add(f.mul(bag, f.word(WIDTH)), column)
        for k, total in enumerate(sums):
            value = arithmetic(f, "fdiv", e.kind, total.get(), divisor) if self.mean else total.get()
            e.write(f, value, e.at(f, f.word(RESULT, "ptr"), f.add(to, k * e.lanes)), live)


TEMPLATES = {"embedding_bag": _sums}
