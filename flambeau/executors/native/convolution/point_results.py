"""How results of a single tap are written that tiles cannot write at once; see ``point.py``.

They lie in M, a row of a tile after the other. Some rows or pixels are missing, or a tile goes on in the next
image (``parts_function``), or there are zeros between pixels and lines (``spread_function``). A tile with
zeros has four times as many bytes as its sums, and so many stores one after the other wait for their lines:
where all vectors are whole, they are written a row at a time while the next tile is computed (``Late``).
"""

from __future__ import annotations

from ..llvm.build import Function, Module
from ..llvm.compiling.machine import LINE, machine
from ..llvm.lanes import shuffle
from ..products.microkernel import Tile, local_array
from ..vectors import Elements

_PARTS = (("ptr noalias", "%m"), ("ptr noalias", "%y"), ("i64", "%first"), ("i64", "%count"),
          ("i64", "%rows"))


def parts_function(module: Module, e: Elements, tile: Tile) -> Function:
    """Write a tile of which some rows or pixels are missing, or which goes on in the next image."""
    with module.helper("write_parts", [*_PARTS, *_numbers("each", "t_n", "t_c")]) as f:
        stop = f.add("%first", "%count")
        with f.loop(f.div("%first", "%each"), f.add(f.div(f.sub(stop, 1), "%each"), 1)) as image:
            start = f.mul(image, "%each")
            high = f.least(stop, f.add(start, "%each"))
            with f.loop(f.most(start, "%first"), high, e.lanes) as at:
                mask = f.first_lanes(f.sub(high, at), e.lanes)
                x = f.at("%m", f.sub(at, "%first"), e.element)
                y = e.at(f, "%y", f.add(f.mul(image, "%t_n"), f.sub(at, start)))
                with f.loop(0, "%rows") as row:
                    value = f.read(e.kind, f.at(x, f.mul(row, tile.columns), e.element), e.width)
                    e.write(f, value, e.at(f, y, f.mul(row, "%t_c")), mask)
    return f


def _numbers(*names: str) -> list[tuple[str, str]]:
    return [("i64", f"%{name}") for name in names]


def spread_function(module: Module, e: Elements, tile: Tile) -> Function:
    """Write a tile with zeros between the pixels, and between the lines."""
    names = ("grid_w", "lines", "rest", "t_n", "t_c", "width", "apart")
    n = e.lanes
    with module.helper("spread", [*_PARTS, *_numbers(*names)]) as f:
        stop = f.add("%first", "%count")
        with f.loop(f.div("%first", "%grid_w"), f.add(f.div(f.sub(stop, 1), "%grid_w"), 1)) as line:
            start = f.mul(line, "%grid_w")
            high, number = f.least(stop, f.add(start, "%grid_w")), f.rem(line, "%lines")
            end = f.least(f.sub("%rest", f.mul(number, "%apart")), "%apart")
            place = f.add(f.mul(f.div(line, "%lines"), "%t_n"), f.mul(number, "%apart"))
            last = f.least(f.mul(f.sub(high, start), 2), "%width")
            with f.loop(f.most(start, "%first"), high, n) as at:
                x, column = f.at("%m", f.sub(at, "%first"), e.element), f.mul(f.sub(at, start), 2)
                y = e.at(f, "%y", f.add(place, column))
                counts = [f.sub(last, f.add(column, k * n)) for k in range(2)]
                masks = [f.first_lanes(count, n) for count in counts]
                some = [f.compare("sgt", count, 0) for count in counts]
                with f.loop(0, "%rows") as row:
                    to = e.at(f, y, f.mul(row, "%t_c"))
                    value = f.read(e.kind, f.at(x, f.mul(row, tile.columns), e.element), e.width)
                    for k, spread in enumerate(_with_zeros(f, e, value)):
                        with f.when(some[k]):
                            e.write(f, spread, e.at(f, to, k * n), masks[k])
                            with f.loop("%width", end, "%width") as between:
                                e.write(f, "zeroinitializer", e.at(f, to, f.add(between, k * n)), masks[k])
    return f


_M, _FIRST, _SECOND, _ROWS, _DUE, _ROW, _LINE, _STEPS, _PAST = range(9)
_NEVER = 1 << 40


class Late:
    """A tile in M of which rows are still to be written, with zeros: lines of two whole vectors each.

    ``state``: where the next row lies and where both of its vectors go; how many rows there are; after how
    many steps the next one is written; elements from a row to the next one, and of a line; steps for a row;
    whether they go past the caches.
    """

    def __init__(self, f: Function, e: Elements, tile: Tile, state: str,
                 rest: Function | None = None) -> None:
        self.f, self.e, self.tile, self.state, self.rest = f, e, tile, state, rest
        self._due = f.variable("i64", self._read(_DUE))

    def begin(self, m: str, places: list[str], rows: str) -> None:
        """After a tile: it is written from now on."""
        self.finish()
        for word, pointer in zip((_M, _FIRST, _SECOND), (m, *places)):
            self._set(word, pointer, "ptr")
        self._set(_ROWS, rows)
        self._set(_DUE, self._read(_STEPS))

    def finish(self) -> None:
        """Write all rows that are left."""
        assert self.rest is not None
        with self.f.when(self.f.compare("sgt", self._read(_ROWS), 0)):
            self.f.run(self.rest, self.state)

    def step(self) -> None:
        """Within a tile: write a row, if it is time."""
        f, due = self.f, self._due
        due.set(f.sub(due.get(), 1))
        with f.when(f.compare("eq", due.get(), 0)):
            self.write()
            due.set(f.choose(f.compare("sgt", self._read(_ROWS), 0), "i64", self._read(_STEPS), _NEVER))

    def save(self) -> None:
        """Let the next tile go on."""
        self._set(_DUE, self._due.get())

    def write(self) -> None:
        """The next row."""
        f, e, n = self.f, self.e, self.e.lanes
        m, row, line = self._read(_M, "ptr"), self._read(_ROW), self._read(_LINE)
        pairs = []
        for j, word in enumerate((_FIRST, _SECOND)):
            to = self._read(word, "ptr")
            value = f.read(e.kind, f.at(m, j * n, e.element), e.width)
            for k, spread in enumerate(_with_zeros(f, e, value)):
                pairs.append((spread, e.at(f, to, k * n)))
                pairs.append(("zeroinitializer", e.at(f, to, f.add(line, k * n))))
            self._set(word, e.at(f, to, row), "ptr")
        store(f, e, pairs, self._read(_PAST))
        self._set(_M, f.at(m, self.tile.columns, e.element), "ptr")
        self._set(_ROWS, f.sub(self._read(_ROWS), 1))

    def _read(self, word: int, kind: str = "i64") -> str:
        return self.f.read(kind, self.f.at(self.state, word, "i64"), 8)

    def _set(self, word: int, value: str, kind: str = "i64") -> None:
        self.f.write(kind, value, self.f.at(self.state, word, "i64"), 8)


def begin_late(f: Function, module: Module, e: Elements, tile: Tile, target: tuple[str, str],
               depth: str, past: str) -> Late:
    """Nothing to write yet. ``target``: elements from a row to the next one, and of a line."""
    with module.helper("write_late", [("ptr", "%late")]) as rest:
        late = Late(rest, e, tile, "%late")
        with rest.loop(0, rest.read("i64", rest.at("%late", _ROWS, "i64"), 8)):
            late.write()
        rest.write("i64", str(_NEVER), rest.at("%late", _DUE, "i64"), 8)
    state = local_array(f, _PAST + 1, "i64")
    for word, value in ((_ROWS, "0"), (_DUE, str(_NEVER)), (_ROW, target[0]), (_LINE, target[1]),
                        (_STEPS, f.div(depth, tile.rows)), (_PAST, past)):
        f.write("i64", value, f.at(state, word, "i64"), 8)
    return Late(f, e, tile, state, rest)


def store(f: Function, e: Elements, pairs: list[tuple[str, str]], past: str) -> None:
    """Store vectors at their places, past the caches if ``past`` is not 0."""
    near = "true"
    if past != "0" and machine().passes:
        near = f.compare("eq", past, 0)
        with f.otherwise(near):
            for value, at in pairs:
                f.write_past(e.kind, value, at, machine().vector)
    with f.when(near):
        for value, at in pairs:
            e.write(f, value, at)


def begins_line(f: Function, place: str) -> str:
    """Whether a line of the caches begins there."""
    inside = f.emit(f"and i64 {f.emit(f'ptrtoint ptr {place} to i64')}, {LINE - 1}")
    return f.compare("eq", inside, 0)


def _with_zeros(f: Function, e: Elements, value: str) -> list[str]:
    """A vector as two, with a zero behind each element."""
    n = e.lanes
    return [shuffle(f, e.kind, n, value, "zeroinitializer",
                    [(k * n + lane) // 2 if lane % 2 == 0 else n for lane in range(n)]) for k in range(2)]
