"""Bringing a part of an image into the form in which convolutions multiply.

Staged images are [block of channels][image][a][b][w][64 channels] with the zeros of the padding around them:
adjacent channels of a pixel are a vector, so that pixels can be taken one by one whatever the stride is and
however small an image is. From there the operand V of the matrix products is filled: for each tap (or each
element of a Winograd tile) rows of 64 channels, one for each pixel (or tile) of the grid.
"""

from __future__ import annotations

from ..arguments import Registers, entry
from ..llvm.build import Function, Value, vector
from ..vectors import Elements, kept, masks_between, pixels_apart, pixels_masked, transposed
from .winograd import Matrix, Tiles, Winograd, transform

# Channels in a row of a staged image, and of V.
WIDTH = 64

STAGE_NUMBERS = ("s_n", "s_c", "s_a", "s_b", "s_w", "extent_a", "extent_b", "channels", "before_a",
                 "before_b", "left", "middle", "right", "first", "x_n", "x_a", "x_b", "x_block", "x_pixel",
                 "blocks", "vectors", "x_rows_b", "span_a", "dense")


class Part(dict[str, str]):
    """What a task works on: registers ``first_image``, ``images``, ``first_a``, ``rows``."""


def stage(f: Function, a: Registers, e: Elements, source: str, buffer: str, part: Part,
          adjacent: str) -> None:
    """Copy rows first_a ... of some images; ``adjacent``: what lies side by side in the source.

    ``pixels``, ``channels``, ``other`` (every other pixel is read), or ``nothing``. Rows that follow one
    another in both places (``dense``) are one.
    """
    width = f.mul(a.vectors, e.lanes)
    dense = f.compare("ne", a.dense, 0)
    rows = f.choose(dense, "i64", 1, part["rows"])
    joined = f.choose(dense, "i64", f.least(part["rows"], f.sub(a.extent_a, part["first_a"])), 1)
    pixels = f.mul(joined, a.middle)
    # A vector of channels goes through all rows, so that as few places as possible are read at a time.
    with f.loop(0, a.blocks) as block, f.loop(0, part["images"]) as image, f.loop(0, a.vectors) as v:
        inner = f.mul(v, e.lanes)
        channel = f.add(f.mul(block, width), inner)
        start = f.add(f.mul(f.add(part["first_image"], image), a.s_n), f.mul(channel, a.s_c))
        from_ = e.at(f, source, f.add(start, f.mul(a.first, a.s_w)))
        pixel = f.add(f.mul(block, a.x_block), f.mul(image, a.x_n))
        to = e.place(f, buffer, f.add(f.mul(pixel, a.x_pixel), inner))
        count = f.sub(a.channels, channel)
        with f.loop(0, rows) as row, f.loop(0, a.x_rows_b) as plane:
            at_a, at_b = f.sub(f.add(part["first_a"], row), a.before_a), f.sub(plane, a.before_b)
            line = f.mul(f.add(f.mul(row, a.x_a), f.mul(plane, a.x_b)), a.x_pixel)
            target = e.place(f, to, line)
            good = f.emit(f"and i1 {f.compare('ult', at_a, a.extent_a)}, "
                          f"{f.compare('ult', at_b, a.extent_b)}")
            good = f.emit(f"and i1 {good}, {f.compare('sgt', count, 0)}")   # behind the last channel: nothing
            middle = f.choose(good, "i64", pixels, 0)
            right = f.choose(good, "i64", a.right, f.add(f.add(a.left, pixels), a.right))
            left = f.choose(good, "i64", a.left, 0)
            x = e.at(f, from_, f.add(f.mul(at_a, a.s_a), f.mul(at_b, a.s_b)))
            _zero(f, a, e, target, left)
            _row(f, a, e, x, e.place(f, target, f.mul(left, a.x_pixel)), middle, count, adjacent)
            _zero(f, a, e, e.place(f, target, f.mul(f.add(left, middle), a.x_pixel)), right)


def _zero(f: Function, a: Registers, e: Elements, target: str, pixels: Value) -> None:
    with f.loop(0, pixels) as w:
        e.keep(f, "zeroinitializer", e.place(f, target, f.mul(w, a.x_pixel)))


PIXEL_STEPS = {"pixels": 1, "other": 2}


def _row(f: Function, a: Registers, e: Elements, source: str, target: str, pixels: str, channels: str,
         adjacent: str) -> None:
    """A vector of channels of a row of pixels; those that are missing are zeros."""
    if adjacent in PIXEL_STEPS:
        _transposed_row(f, a, e, source, target, pixels, channels, PIXEL_STEPS[adjacent])
    elif adjacent == "channels":
        mask = f.first_lanes(channels, e.lanes)
        with f.loop(0, pixels) as w:
            value = e.read(f, e.at(f, source, f.mul(w, a.s_w)), mask)
            e.keep(f, value, e.place(f, target, f.mul(w, a.x_pixel)))
    else:
        _gathered_row(f, a, e, source, target, pixels, channels)


def _transposed_row(f: Function, a: Registers, e: Elements, source: str, target: str, pixels: str,
                    channels: str, step: int) -> None:
    """Whole vectors of pixels: what is too much of them is where the zeros or the next line are written."""
    n = e.lanes
    rows = [f.mul(a.s_c, i) for i in range(n)]
    with f.loop(0, pixels, n) as w:
        left = f.sub(pixels, w)
        whole = f.emit(f"and i1 {f.compare('sge', channels, n)}, {f.compare('sge', left, n)}")
        from_, to = e.at(f, source, f.mul(w, step)), e.place(f, target, f.mul(w, a.x_pixel))
        with f.when(whole):
            read = [pixels_apart(f, e, e.at(f, from_, row), step) for row in rows]
            for i, column in enumerate(transposed(f, e.kind, read)):
                e.keep(f, column, e.place(f, to, f.mul(a.x_pixel, i)))
        with f.otherwise(whole):
            masks, exist = masks_between(f, e, step, 0, left), f.first_lanes(channels, n)
            read = []
            for i, row in enumerate(rows):  # in place of a channel that is missing the first one
                at = e.at(f, from_, f.choose(f.compare("slt", i, channels), "i64", row, 0))
                read.append(pixels_masked(f, e, at, step, masks))
            for i, column in enumerate(transposed(f, e.kind, read)):
                column = f.emit(f"select <{n} x i1> {exist}, {e.kind} {column}, {e.kind} zeroinitializer")
                e.keep(f, column, e.place(f, to, f.mul(a.x_pixel, i)))


def _gathered_row(f: Function, a: Registers, e: Elements, source: str, target: str, pixels: str,
                  channels: str) -> None:
    with f.loop(0, pixels) as w:
        from_, to = e.at(f, source, f.mul(w, a.s_w)), e.place(f, target, f.mul(w, a.x_pixel))
        e.keep(f, "zeroinitializer", to)
        with f.loop(0, f.least(channels, e.lanes)) as c:
            value = e.read_one(f, e.at(f, from_, f.mul(c, a.s_c)))
            e.keep_one(f, value, e.place(f, to, c))


# --- filling V ----------------------------------------------------------------------------------------------

FILL_NUMBERS = ("step_a", "step_b", "step_w", "v_step", "v_pixel")


def fill_taps(f: Function, a: Registers, e: Elements, buffer: str, v: str, part: Part, offsets: str,
              taps: str) -> None:
    """V[tap][block][pixel][channels]: copies of the pixels that each tap meets; ``offsets``: a table."""
    kind = vector(e.lanes, e.staged)
    with f.loop(0, taps) as tap, f.loop(0, a.blocks) as block:
        offset = f.add(entry(f, offsets, tap), f.mul(block, a.x_block))
        k = f.add(f.mul(tap, a.blocks), block)
        target = f.variable("ptr", e.place(f, v, f.mul(k, a.v_step)))
        with f.loop(0, part["images"]) as image, f.loop(0, part["grid_a"]) as row, \
                f.loop(0, part["grid_b"]) as plane:
            start = f.add(f.add(offset, f.mul(image, a.x_n)),
                          f.add(f.mul(f.mul(row, a.step_a), a.x_a), f.mul(f.mul(plane, a.step_b), a.x_b)))
            source = e.place(f, buffer, f.mul(start, a.x_pixel))
            skip = f.mul(a.step_w, a.x_pixel)
            to = target.get()
            with f.loop(0, part["grid_w"]) as w:
                x, y = e.place(f, source, f.mul(w, skip)), e.place(f, to, f.mul(w, a.v_pixel))
                with f.loop(0, a.vectors) as i:
                    lane = f.mul(i, e.lanes)
                    value = f.read(kind, e.place(f, x, lane), e.staged_size)
                    f.write(kind, value, e.place(f, y, lane), e.staged_size)
            target.set(e.place(f, to, f.mul(part["grid_w"], a.v_pixel)))


def fill_tiles(f: Function, a: Registers, e: Elements, buffer: str, v: str, part: Part, w: Winograd,
               tiles: Tiles) -> None:
    """V[element][block][tile][channels] = B^T d B of all tiles d, as far apart as they have results."""
    transform_tiles(f, a.replaced(all_blocks=a.blocks), e, buffer, v, part, tiles, w.input, w.apart)


def transform_tiles(f: Function, a: Registers, e: Elements, buffer: str, v: str, part: Part, tiles: Tiles,
                    matrix: Matrix, apart: int) -> None:
    """V[element][block][tile][channels] = matrix d matrix^T of all tiles d of what is staged.

    A tile begins ``apart`` pixels after the one before; elements of V lie ``all_blocks`` blocks apart.
    """
    n = len(matrix[0])
    with f.loop(0, a.blocks) as block:
        target = f.at(v, f.mul(block, a.v_step), e.element)
        element_step = f.mul(a.v_step, a.all_blocks)
        with f.loop(0, part["images"]) as image, f.loop(0, part["grid_a"]) as row:
            start = f.add(f.add(f.mul(block, a.x_block), f.mul(image, a.x_n)),
                          f.mul(f.mul(row, apart), a.x_a))
            source = f.at(buffer, f.mul(start, a.x_pixel), e.element)
            lines = tiles.line(target, image, row, a.v_pixel, e.element)
            with f.loop(0, part["grid_w"]) as column, f.loop(0, a.vectors) as i:
                lane = f.mul(i, e.lanes)
                x = f.at(source, f.add(f.mul(f.mul(column, apart), a.x_pixel), lane), e.element)
                shift = f.add(f.mul(column, a.v_pixel), lane)
                d = [[f.read(e.kind, f.at(x, f.mul(f.add(f.mul(a.x_a, r), c), a.x_pixel), e.element))
                      for c in range(n)] for r in range(n)]
                for k, value in enumerate(transform(f, e.kind, matrix, d)):
                    y = f.at(lines[k], f.add(shift, f.mul(element_step, k)), e.element)
                    f.write(e.kind, value, y)


NARROW_NUMBERS = ("depth",)
# The ``step`` of ``fill_narrow`` for what is adjacent in the source.
NARROW_STEPS = {"every": 1, "other": 2, "nothing": 0}


def fill_narrow(f: Function, a: Registers, e: Elements, source: str, v: str, part: Part, taps: str,
                step: int) -> None:
    """V[block][pixel][(channel, tap)] of few channels, straight from the source.

    ``taps``: a table of (place in the source, offset a, offset b, first and last pixel that is inside).
    ``step``: how far apart the pixels of neighbouring results lie in memory: 1, 2, or 0 for any distance.
    """
    row_of_v = f.variable("ptr", v)
    with f.loop(0, part["images"]) as image, f.loop(0, part["grid_a"]) as row, \
            f.loop(0, part["grid_b"]) as plane:
        to = row_of_v.get()
        at_a = f.sub(f.add(part["first_a"], f.mul(row, a.step_a)), a.before_a)
        at_b = f.sub(f.mul(plane, a.step_b), a.before_b)
        start = f.add(f.mul(f.add(part["first_image"], image), a.s_n),
                      f.add(f.mul(at_a, a.s_a), f.mul(at_b, a.s_b)))
        line = NarrowLine(f, a, e, taps, (at_a, at_b), e.at(f, source, start))
        if step:
            line.transpose(to, part["grid_w"], step)
        else:
            line.copy(to, part["grid_w"])
        row_of_v.set(e.place(f, to, f.mul(part["grid_w"], a.v_pixel)))


class NarrowLine:
    """A line of pixels of few channels: each (channel, tap) is a column of V."""

    def __init__(self, f: Function, a: Registers, e: Elements, taps: str, at: tuple[str, str],
                 source: str) -> None:
        self.f, self.a, self.e, self.taps, self.at, self.source = f, a, e, taps, at, source

    def _tap(self, k: Value) -> tuple[str, str, str]:
        """Where a column is read, and the first and the last pixel that is inside."""
        f, a = self.f, self.a
        place, in_a, in_b, first, last = (entry(f, self.taps, f.add(f.mul(k, 5), i)) for i in range(5))
        good = f.emit(f"and i1 {f.compare('ult', f.add(self.at[0], in_a), a.extent_a)}, "
                      f"{f.compare('ult', f.add(self.at[1], in_b), a.extent_b)}")
        return self.e.at(f, self.source, place), first, f.choose(good, "i64", last, first)

    def _column(self, to: str, k: Value) -> str:
        f, a = self.f, self.a
        block = f.div(k, a.narrow_width)
        return self.e.place(f, to, f.add(f.mul(block, a.v_step), f.sub(k, f.mul(block, a.narrow_width))))

    def copy(self, to: str, pixels: str) -> None:
        """Element by element."""
        f, a, e = self.f, self.a, self.e
        skip = f.mul(a.step_w, a.s_w)
        with f.loop(0, a.depth) as k:
            x, first, stop = self._tap(k)
            y = self._column(to, k)
            for start, end in (("0", first), (stop, pixels)):
                with f.loop(start, end) as w:
                    e.keep_one(f, "0.0", e.place(f, y, f.mul(w, a.v_pixel)))
            with f.loop(first, stop) as w:
                value = e.read_one(f, e.at(f, x, f.mul(w, skip)))
                e.keep_one(f, value, e.place(f, y, f.mul(w, a.v_pixel)))

    def transpose(self, to: str, pixels: str, step: int) -> None:
        """A vector of pixels for each of as many columns at once; blocks are whole vectors of columns."""
        f, a, e = self.f, self.a, self.e
        n = e.lanes
        with f.loop(0, a.depth, n) as k:
            y = self._column(to, k)
            taps = [self._tap(f.add(k, i)) for i in range(n)]
            with f.loop(0, pixels, n) as w:
                rows = [self._pixels(tap, w, step) for tap in taps]
                rest = f.sub(pixels, w)
                square = kept(f, e, transposed(f, e.kind, rows))
                with f.loop(0, f.least(rest, n)) as i:
                    column = f.read(e.kind, f.at(square, f.mul(i, n), e.element))
                    e.keep(f, column, e.place(f, y, f.mul(f.add(w, i), a.v_pixel)))

    def _pixels(self, tap: tuple[str, str, str], w: str, step: int) -> str:
        f, e = self.f, self.e
        n = e.lanes
        x, first, stop = tap
        low, high = f.sub(first, w), f.sub(stop, w)
        halves = []
        for k in range(step):
            lanes = ", ".join(f"i64 {(k * n + lane) // step}" for lane in range(n))
            above = f.emit(f"icmp sge <{n} x i64> <{lanes}>, {f.splat(low, n, 'i64')}")
            below = f.emit(f"icmp slt <{n} x i64> <{lanes}>, {f.splat(high, n, 'i64')}")
            mask = f.emit(f"and <{n} x i1> {above}, {below}")
            if step == 2:  # what lies between two pixels need not exist
                even = ", ".join(["i1 true", "i1 false"] * (n // 2))
                mask = f.emit(f"and <{n} x i1> {mask}, <{even}>")
            halves.append(e.read(f, e.at(f, x, f.add(f.mul(w, step), k * n)), mask))
        if step == 1:
            return halves[0]
        picks = ", ".join(f"i32 {2 * lane}" for lane in range(n))
        return f.emit(f"shufflevector {e.kind} {halves[0]}, {e.kind} {halves[1]}, <{n} x i32> <{picks}>")
