"""The products of forward convolutions and of gradients by the input: M[pixel][columns] = V U for a panel.

A tile takes some pixels and a panel of output channels, and sums over taps and blocks of channels. It reads
pixels in V, one after the other whatever they are; or ``direct``, in the staged image, where pixels of a line
are equally far apart and a tap is a place: nothing is copied then, but no tile goes on in the next line. So
lines must be as long as tiles are together (``is_covered``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..arguments import Registers, entry
from ..llvm.build import Function, Module
from ..products.ahead import Beyond
from ..products.microkernel import Accumulators, Tile, accumulate
from ..quantity import whole
from ..vectors import Elements, Pairs
from .ahead import Ahead, Walks
from .staging import WIDTH, Part

# How many blocks of channels a tile sums up before it lets go of its registers.
DEPTH = 8
# How far apart neighbouring pixels are in the staged image, for the modes that read them there.
DIRECT = {"direct": 1, "direct_other": 2}


def short_rows(tile: Tile) -> Tile:
    """The tile for a remainder of rows."""
    return tile._replace(rows=max(2, 2 * tile.rows // 3))


@whole
def is_covered(tile: Tile, count: int) -> bool:
    """Whether the tiles of so many rows have no more (``rows_of_long_tiles``)."""
    remainder, short = count % tile.rows, short_rows(tile).rows
    return remainder == 0 or remainder == short or (count > tile.rows and remainder + tile.rows == 2 * short)


def rows_of_long_tiles(f: Function, tile: Tile, rows: str) -> str:
    """How many of some rows are left to whole tiles; short ones do the others.

    A remainder takes one or two short tiles: 12 n + 4 = 12 (n - 1) + 8 + 8.
    """
    long, short = tile.rows, short_rows(tile).rows
    remainder = f.rem(rows, long)
    some = f.compare("sgt", remainder, 0)
    little = f.emit(f"and i1 {some}, {f.compare('sle', remainder, 2 * short - long)}")
    two = f.emit(f"and i1 {little}, {f.compare('sge', rows, long)}")
    one = f.emit(f"and i1 {some}, {f.compare('sle', remainder, short)}")
    whole = f.sub(rows, remainder)
    up = f.mul(f.div(f.add(rows, long - 1), long), long)
    return f.choose(two, "i64", f.sub(whole, long), f.choose(one, "i64", whole, up))


# What tells a tile that reads the staged image where it is, and what lies outside of the source.
_LINE = [("ptr noalias", "%taps"), ("i64", "%line_a"), ("i64", "%line_b"), ("i64", "%extent_a"),
         ("i64", "%extent_b")]


def _place(f: Function, number: str) -> tuple[str, str]:
    """Where a block of a tap begins, and whether it meets lines of the source."""
    place, *offsets = (entry(f, "%taps", f.add(f.mul(number, 3), i)) for i in range(3))
    good = [f.compare("ult", f.add(f"%line_{x}", offset), f"%extent_{x}") for x, offset in zip("ab", offsets)]
    return f.mul(place, WIDTH), f.emit(f"and i1 {good[0]}, {good[1]}")


class _Piece(NamedTuple):
    """Some blocks: the first one, how many, their weights, and what tiles ask for beyond these."""

    first: str
    blocks: str
    u: str
    beyond: Beyond


class Products:
    """The functions of the tiles of a kernel, and what they have in common."""

    def __init__(self, module: Module, e: Elements, tile: Tile, mode: str) -> None:
        self.e, self.tile, self.step = e, tile, DIRECT.get(mode, 0)
        self._tiles = {t.rows: self._function(module, t) for t in (tile, short_rows(tile))}

    def _function(self, module: Module, tile: Tile) -> Function:
        """M (+)= V U for a tile: a sum over blocks of channels, or over taps and these."""
        e, size = self.e, WIDTH // 2 if isinstance(self.e, Pairs) else WIDTH
        places = _LINE if self.step else [("i64", "%v_step")]
        parameters = [("ptr noalias", "%v"), ("ptr noalias", "%u"), ("ptr noalias", "%m"), *Walks.PARAMETERS,
                      ("i64", "%blocks"), *places, ("i64", "%depth"), ("i64", "%more"), ("i64", "%beyond")]
        with module.helper(f"tile{tile.rows}", parameters) as f:
            acc = Accumulators(f, tile)

            def place(i: int, j: int) -> str:
                return f.at("%m", i * tile.columns + j * tile.lanes, e.element)
            with f.when(f.compare("ne", "%more", 0)):
                for i in range(tile.rows):
                    for j in range(tile.vectors):
                        acc.set(i, j, f.read(e.kind, place(i, j)))
            columns = f.mul("%depth", tile.columns)
            walks = Walks(f, write=True)
            with f.loop(0, "%blocks") as block:
                at, inside = _place(f, block) if self.step else (f.mul(block, "%v_step"), "true")
                with f.when(inside):
                    accumulate(f, acc, "%depth", e.place(f, "%v", at),
                               f.at("%u", f.mul(block, columns), e.element), a_row=size * max(1, self.step),
                               a_step=1, b_step=tile.columns, pairs=isinstance(e, Pairs), each=walks.step,
                               beyond="%beyond")
            walks.save()
            for i in range(tile.rows):
                for j in range(tile.vectors):
                    f.write(e.kind, acc.get(i, j), place(i, j))
        return f

    def from_v(self, f: Function, a: Registers, pixels: str, blocks: str, pointers: tuple[str, str, str],
               ahead: Ahead) -> None:
        """M of all pixels of V; ``pointers``: V, U and M."""
        v, u, m = pointers
        long = rows_of_long_tiles(f, self.tile, pixels)
        with self._pieces(f, a, blocks, u) as piece:
            line = self.e.place(f, v, f.mul(piece.first, a.v_step)), m, pixels, long
            self._line(f, a, piece, line, WIDTH, [a.v_step], ahead)

    def from_image(self, f: Function, a: Registers, part: Part, taps: str, blocks: str,
                   pointers: tuple[str, str, str], ahead: Ahead) -> None:
        """M of all lines of the grid; ``pointers``: the staged image, U and M; ``taps``: their table.

        It has a place and the offsets by which taps leave the source: what they meet then is zero.
        """
        x, u, m = pointers
        width = part["grid_w"]
        long = rows_of_long_tiles(f, self.tile, width)
        with self._pieces(f, a, blocks, u) as piece, f.loop(0, part["images"]) as image, \
                f.loop(0, part["grid_a"]) as row, f.loop(0, part["grid_b"]) as plane:
            at = f.add(f.add(f.mul(image, a.x_n), f.mul(f.mul(row, a.step_a), a.x_a)),
                       f.mul(f.mul(plane, a.step_b), a.x_b))
            pixel = f.add(f.mul(image, part["p_n"]),
                          f.add(f.mul(row, part["p_a"]), f.mul(plane, part["p_b"])))
            line = (self.e.place(f, x, f.mul(at, WIDTH)),
                    f.at(m, f.mul(pixel, self.tile.columns), self.e.element), width, long)
            at_a = f.sub(f.add(part["first_a"], f.mul(row, a.step_a)), a.before_a)
            at_b = f.sub(f.mul(plane, a.step_b), a.before_b)
            places = [f.at(taps, f.mul(piece.first, 3), "i64"), at_a, at_b, a.extent_a, a.extent_b]
            self._line(f, a, piece, line, WIDTH * self.step, places, ahead)

    @contextmanager
    def _pieces(self, f: Function, a: Registers, blocks: str, u: str) -> Iterator[_Piece]:
        """Some blocks of U at a time, so that they stay in the cache."""
        tile = self.tile
        with f.loop(0, f.most(blocks, 1), DEPTH) as block:
            count, row = f.least(f.sub(blocks, block), DEPTH), tile.columns * tile.itemsize
            from_u = f.at(u, f.mul(f.mul(block, a.depth_each), tile.columns), self.e.element)
            yield _Piece(block, count, from_u, Beyond(f, f.mul(f.mul(count, a.depth_each), row), row))

    def _line(self, f: Function, a: Registers, piece: _Piece, line: tuple[str, str, str, str], apart: int,
              places: list[str], ahead: Ahead) -> None:
        """Pixels that lie ``apart``: where, and where their results do; how many, and those of long tiles."""
        e, (from_, to, pixels, long) = self.e, line
        for rows, start, stop in ((self.tile.rows, "0", long), (short_rows(self.tile).rows, long, pixels)):
            with f.loop(start, stop, rows) as pixel:
                f.run(self._tiles[rows], e.place(f, from_, f.mul(pixel, apart)), piece.u,
                      f.at(to, f.mul(pixel, self.tile.columns), e.element), *ahead.states.values(),
                      piece.blocks, *places, a.depth_each, piece.first, piece.beyond.next())
