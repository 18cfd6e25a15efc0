"""The kernels of the gradient by the weight: sums over all pixels of products of gradients with inputs.

    sum[tap][c][o] = sum over pixels of grad[pixel][o] * V[tap][pixel][c]

with V as in the forward convolution, but in panels of as many channels as a tile of the microkernel has
columns; the output channels are its rows. A task takes a range of the grid, a slice of the output channels
and some blocks of input channels. It walks through its range in chunks that fit into the cache and adds up in
its own part of the workspace; a second call adds the ranges in their order. So the result does not depend on
who does what.

Where lines are long enough (``direct``) there is no V: tiles read the pixels of a tap where they are staged,
line by line, but none of lines outside of the source.

Winograd's way is the forward one transposed (``winograd.py``): with the same tiles d, and tiles g
of gradients, dW = G^T [sum of (A g A^T) . (B^T d B)] G.
"""

from __future__ import annotations

from ..arguments import Registers, entry, registers
from ..llvm.build import Function, Module
from ..products.microkernel import Accumulators, Tile, accumulate, local_array
from ..vectors import Elements, arithmetic, kept, transposed
from .ahead import AHEAD_NUMBERS, Ahead, Walks
from .staging import (
    FILL_NUMBERS,
    NARROW_NUMBERS,
    NARROW_STEPS,
    STAGE_NUMBERS,
    Part,
    fill_narrow,
    fill_taps,
    fill_tiles,
    stage,
    transform_tiles,
)
from .tiles import rows_of_long_tiles, short_rows
from .winograd import Tiles, Winograd, flipped, transform, weight_of, winograd_of

THERE = "there"

POINTERS = ("source", "grad", "sums")
NUMBERS = (*STAGE_NUMBERS, *FILL_NUMBERS, *NARROW_NUMBERS, *(f"g_{name}" for name in STAGE_NUMBERS),
           "narrow_width", "batch", "groups", "images_each", "chunks", "rows_each", "ranges", "total",
           "slices", "slice", "parts", "blocks_each", "outs", "s_group", "g_group", "g_c", "v_at", "g_at",
           "h_at", "h_step", "taps", "grid_a", "grid_b", "grid_w", "grid_step", "sum_range", "sum_block",
           "blocks_out", *AHEAD_NUMBERS)


def gradient_module(e: Elements, tile: Tile, mode: str, adjacent: str, adjacent_grad: str) -> str:
    """Code of ``add_up``. ``mode``: that of ``forward_module``.

    ``adjacent_grad``: as ``adjacent``, or ``THERE``: gradients of a single tap are read where they lie.
    """
    module = Module()
    w, there = winograd_of(mode), adjacent_grad == THERE
    direct = mode == "direct"
    tiles = {t.rows: _tile_function(module, e, t, _DIRECT if direct else _THERE if there else ())
             for t in (tile, short_rows(tile))}
    with module.kernel("add_up") as f:
        a, ahead = registers(f, POINTERS, NUMBERS), Ahead(f)
        v, g, h = (f.at(f.scratch, at, "i8") for at in (a.v_at, a.g_at, a.h_at))
        with f.loop(f.begin, f.end) as task:
            slice_, rest = f.rem(task, a.slices), f.div(task, a.slices)
            share, rest = f.rem(rest, a.parts), f.div(rest, a.parts)
            group, range_ = f.rem(rest, a.groups), f.div(rest, a.groups)
            first_out = f.mul(slice_, a.slice)
            outs = f.least(a.slice, f.sub(a.outs, first_out))
            first_block = f.mul(share, a.blocks_each)
            channel = f.mul(first_block, tile.columns)
            source = e.at(f, a.source, f.add(f.mul(group, a.s_group), f.mul(channel, a.s_c)))
            grad = e.at(f, a.grad, f.add(f.mul(group, a.g_group), f.mul(first_out, a.g_c)))
            sums = f.at(a.sums, f.add(f.mul(f.add(f.mul(range_, a.groups), group), a.sum_range),
                                      f.add(f.mul(first_block, a.sum_block),
                                            f.mul(first_out, tile.columns))), e.element)
            all_blocks = a.blocks
            a = a.replaced(blocks=f.least(a.blocks_each, f.sub(a.blocks, first_block)),
                           channels=f.sub(a.channels, channel))
            first = f.div(f.mul(range_, a.total), a.ranges)
            last = f.div(f.mul(f.add(range_, 1), a.total), a.ranges)
            with f.loop(first, last) as chunk:
                part = _chunk(f, a, chunk)
                _begin_next(f, a, e, ahead, chunk, last, (source, grad), outs)
                pointers = (source, f.scratch, v, grad, g)
                _stage_both(f, a, e, mode, pointers, part, outs, (adjacent, adjacent_grad))
                tiling = None
                if w:
                    tiling = Tiles(f, w, part, (part["grid_a"], part["grid_w"]))
                    fill_tiles(f, a, e, f.scratch, v, part, w, tiling)
                    blocks = f.div(f.add(outs, tile.columns - 1), tile.columns)
                    _fill_grad_tiles(f, a, e, g, h, part, blocks, tiling)
                pixels = f.mul(f.mul(part["images"], part["grid_a"]), f.mul(part["grid_b"], part["grid_w"]))
                more = f.emit(f"zext i1 {f.compare('sgt', chunk, first)} to i64")
                taps = str(w.elements**2) if w else "1" if mode == "narrow" else a.taps
                grads, counts = h if w else g, (taps, all_blocks)
                if there:
                    place = f.add(f.mul(part["first_image"], a.g_s_n), f.mul(part["grid_first"], a.g_s_a))
                    grads, pixels = e.at(f, grad, place), f.div(pixels, part["images"])
                if direct:
                    pixels = part["grid_w"]
                a = a.replaced(images=part["images"])
                operands = f.scratch if direct else v, grads, sums
                _products(f, a, e, tile, tiles, operands, counts, pixels, outs, more, tiling, ahead, there,
                          part if direct else None)
    return module.text()


def _chunk(f: Function, a: Registers, chunk: str) -> Part:
    part = Part()
    part["first_image"] = f.mul(f.div(chunk, a.chunks), a.images_each)
    part["images"] = f.least(a.images_each, f.sub(a.batch, part["first_image"]))
    part["grid_first"] = f.mul(f.rem(chunk, a.chunks), a.rows_each)
    part["first_a"] = f.mul(part["grid_first"], a.grid_step)
    part["grid_a"] = f.least(a.rows_each, f.sub(a.grid_a, part["grid_first"]))
    part["grid_b"], part["grid_w"] = a.grid_b, a.grid_w
    part["rows"] = f.add(f.mul(f.sub(a.rows_each, 1), a.grid_step), a.span_a)
    return part


def _begin_next(f: Function, a: Registers, e: Elements, ahead: Ahead, chunk: str, last: str,
                pointers: tuple[str, str], outs: str) -> None:
    """Ask for what the next chunk stages."""
    following = f.add(chunk, 1)
    more, part = f.compare("slt", following, last), _chunk(f, a, following)
    part["source"], grad = pointers
    ahead.begin_source(f, a, e, part, f.least(a.channels, f.mul(a.blocks, a.x_pixel)), more)
    place = f.add(f.mul(part["first_image"], a.g_s_n), f.mul(part["grid_first"], a.g_s_a))
    ahead.begin(f, a, "out", e.at(f, grad, place), (part["images"], part["grid_a"], outs), more)


def _stage_both(f: Function, a: Registers, e: Elements, mode: str, pointers: tuple[str, str, str, str, str],
                part: Part, outs: str, adjacent: tuple[str, str]) -> None:
    source, x, v, grad, g = pointers
    if mode == "narrow":
        fill_narrow(f, a, e, source, v, part, a.table, NARROW_STEPS[adjacent[0]])
    else:
        stage(f, a, e, source, v if mode == "pointwise" else x, part, adjacent[0])
        if mode == "taps":
            fill_taps(f, a, e, x, v, part, a.table, a.taps)
    if adjacent[1] == THERE:
        return
    mine = a.named("g_").replaced(channels=outs)
    theirs = Part(part)
    theirs["first_a"], theirs["rows"] = part["grid_first"], a.g_span_a
    stage(f, mine, e, grad, g, theirs, adjacent[1])


def _fill_grad_tiles(f: Function, a: Registers, e: Elements, g: str, h: str, part: Part, blocks: str,
                     tiling: Tiles) -> None:
    """H[element][block][tile][channels] = A g A^T of all tiles g of gradients."""
    mine = a.named("g_").replaced(blocks=blocks, all_blocks=a.g_blocks, v_step=a.h_step, v_pixel=a.g_x_pixel)
    w = tiling.w
    transform_tiles(f, mine, e, g, h, part, tiling, flipped(w.output), w.results)


# --- products -----------------------------------------------------------------------------------------------

# What else tiles are told that read G where it lies, or the pixels of a tap where they are staged: from where
# to where lines meet the source, and how far they are apart in G and there, and pixels of a line.
_THERE = ("images", "g_n", "g_c")
_DIRECT = ("images", "first_a", "last_a", "first_b", "last_b", "g_n", "g_a", "g_b", "x_n", "x_a", "x_b",
           "x_w")


def _tile_function(module: Module, e: Elements, tile: Tile, others: tuple[str, ...]) -> Function:
    """S (+)= G^T V for a tile: a sum over pixels; with ``others``, those of each image or line in turn."""
    parameters = [("ptr noalias", "%g"), ("ptr noalias", "%v"), ("ptr noalias", "%s"), *Walks.PARAMETERS,
                  ("i64", "%pixels"), ("i64", "%more"), *(("i64", f"%{name}") for name in others)]
    with module.helper(f"tile{tile.rows}", parameters) as f:
        acc = Accumulators(f, tile)

        def place(i: int, j: int) -> str:
            return f.at("%s", i * tile.columns + j * tile.lanes, e.element)
        walks = Walks(f, write=False)
        if others is _DIRECT:
            with f.loop(0, "%images") as n, f.loop("%first_a", "%last_a") as row, \
                    f.loop("%first_b", "%last_b") as plane:
                g, v = (f.add(f.mul(n, f"%{x}_n"), f.add(f.mul(row, f"%{x}_a"), f.mul(plane, f"%{x}_b")))
                        for x in "gx")
                accumulate(f, acc, "%pixels", f.at("%g", g, e.element), f.at("%v", v, e.element), a_row=1,
                           a_step=tile.columns, b_step="%x_w", each=walks.step)
        elif others:
            with f.loop(0, "%images") as image:
                v = f.at("%v", f.mul(f.mul(image, "%pixels"), tile.columns), e.element)
                accumulate(f, acc, "%pixels", e.at(f, "%g", f.mul(image, "%g_n")), v, a_row="%g_c", a_step=1,
                           b_step=tile.columns, each=walks.step)
        else:
            accumulate(f, acc, "%pixels", "%g", "%v", a_row=1, a_step=tile.columns, b_step=tile.columns,
                       each=walks.step)
        walks.save()
        with f.when(f.compare("ne", "%more", 0)):
            for i in range(tile.rows):
                for j in range(tile.vectors):
                    acc.set(i, j, arithmetic(f, "fadd", e.kind, acc.get(i, j), f.read(e.kind, place(i, j))))
        for i in range(tile.rows):
            for j in range(tile.vectors):
                f.write(e.kind, acc.get(i, j), place(i, j))
    return f


def _products(f: Function, a: Registers, e: Elements, tile: Tile, tiles: dict[int, Function],
              pointers: tuple[str, str, str], counts: tuple[str, str], pixels: str, outs: str, more: str,
              tiling: Tiles | None, ahead: Ahead, there: bool, direct: Part | None) -> None:
    """``direct``: where tiles read the staged image."""
    (v, grads, sums), (taps, all_blocks) = pointers, counts
    short, columns, w = short_rows(tile).rows, tile.columns, tiling.w if tiling else None
    # Staged gradients lie in panels; where they are read where they lie, tiles cross from one to the next.
    panel = f.most(outs, 1) if there else str(columns)
    with f.loop(0, taps) as tap, f.loop(0, a.blocks) as block:
        k = f.add(f.mul(tap, a.blocks), block)
        from_v = f.at(v, f.mul(k, a.v_step), e.element)
        others = [a.images, a.g_s_n, a.g_c] if there else []
        if direct:
            place, others = _lines_of(f, a, direct, tap, columns)
            from_v = f.at(v, f.mul(f.add(place, f.mul(block, a.x_block)), columns), e.element)
        (matrix, shared), adding = weight_of(f, w, tap) if w else (tap, "false"), more
        if tiling:
            pixels = tiling.count(tap)
        if shared != "false":
            adding = f.choose(shared, "i64", 1, more)
        to = f.at(sums, f.mul(f.add(f.mul(matrix, all_blocks), block), a.sum_block), e.element)
        with f.loop(0, outs, panel) as out:
            number = f.div(out, columns)
            if there:
                from_g = e.at(f, grads, f.mul(out, a.g_c))
            elif w:
                from_g = f.at(grads, f.mul(f.add(f.mul(tap, a.g_blocks), number), a.h_step), e.element)
            else:
                from_g = f.at(grads, f.mul(number, f.mul(a.g_x_block, columns)), e.element)
            count = f.least(f.sub(outs, out), panel)
            long = rows_of_long_tiles(f, tile, count)
            for rows, start, stop in ((tile.rows, "0", long), (short, long, count)):
                with f.loop(start, stop, rows) as row:
                    place = f.at(to, f.mul(f.add(out, row), columns), e.element)
                    g = e.at(f, from_g, f.mul(row, a.g_c)) if there else f.at(from_g, row, e.element)
                    f.run(tiles[rows], g, from_v, place, *ahead.states.values(), pixels, adding, *others)


def _lines_of(f: Function, a: Registers, part: Part, tap: str, columns: int) -> tuple[str, list[str]]:
    """Where a tap begins in the staged image, and ``_DIRECT``: other lines meet nothing but zeros."""
    place, *offsets = (entry(f, a.table, f.add(f.mul(tap, 3), i)) for i in range(3))
    found = [a.images]
    firsts = f.sub(part["first_a"], a.before_a), f.sub(0, a.before_b)
    for x, first, offset in zip("ab", firsts, offsets):
        first, step = f.add(first, offset), getattr(a, f"step_{x}")
        for end in (0, getattr(a, f"extent_{x}")):
            lines = f.div(f.add(f.most(f.sub(end, first), 0), f.sub(step, 1)), step)
            found.append(f.least(lines, part[f"grid_{x}"]))
    found += [f.mul(n, columns) for n in (a.g_x_n, a.g_x_a, a.g_x_b)]
    found += [f.mul(f.mul(n, step), columns) for n, step in
              ((a.x_n, 1), (a.x_a, a.step_a), (a.x_b, a.step_b), (1, a.step_w))]
    return place, found


# --- the sum of all ranges ----------------------------------------------------------------------------------

FINISH_POINTERS = ("sums", "target")
FINISH_NUMBERS = ("ranges", "groups", "sum_range", "sum_block", "taps", "blocks", "outs", "channels",
                  "volume", "t_out", "chunks")


def finish_module(e: Elements, tile: Tile, mode: str, last: bool) -> str:
    """Code of ``finish``: a task adds the ranges of a block of channels of some output channels.

    ``mode``: one of Winograd's, run (taps side by side, at most a vector), taps (more of them), or narrow.
    ``last`` (but narrow): the result is channels last.
    """
    module = Module()
    with module.kernel("finish") as f:
        a = registers(f, FINISH_POINTERS, FINISH_NUMBERS)
        with f.loop(f.begin, f.end) as task:
            block, rest = f.rem(task, a.blocks), f.div(task, a.blocks)
            group, first = f.div(rest, a.chunks), f.mul(f.rem(rest, a.chunks), tile.columns)
            # The sums of a tap for these output channels lie side by side.
            with f.loop(first, f.least(f.add(first, tile.columns), a.outs)) as out, \
                    f.loop(0, tile.vectors) as j:
                place = f.add(f.mul(block, a.sum_block), f.mul(out, tile.columns))
                sums = f.at(a.sums, f.add(f.mul(group, a.sum_range), place), e.element)
                target = e.at(f, a.target, f.mul(f.add(f.mul(group, a.outs), out), a.t_out))
                lane = f.mul(j, e.lanes)
                channel = f.add(f.mul(block, tile.columns), lane)
                left = f.sub(a.channels, channel)
                with f.when(f.compare("sgt", left, 0)):
                    finish = _finish_last if last else _finish_vector
                    finish(f, a, e, mode, f.at(sums, lane, e.element),
                           e.at(f, target, channel if last else f.mul(channel, a.volume)), left)
    return module.text()


def _finish_vector(f: Function, a: Registers, e: Elements, mode: str, sums: str, target: str,
                   left: str) -> None:
    apart = f.mul(a.blocks, a.sum_block)
    if mode == "narrow":
        e.write(f, _total(f, a, e, sums), target, f.first_lanes(left, e.lanes))
        return
    if mode == "taps":
        with f.loop(0, a.taps) as tap:
            square = kept(f, e, [_total(f, a, e, f.at(sums, f.mul(apart, tap), e.element))])
            with f.loop(0, f.least(left, e.lanes)) as lane:
                one = f.read(e.element, f.at(square, lane, e.element), e.width)
                e.write_one(f, one, e.at(f, target, f.add(f.mul(a.volume, lane), tap)))
        return
    w = winograd_of(mode)
    rows = _rows_of_taps(f, a, e, sums, apart, w.weights**2 if w else e.lanes)
    if w:
        rows = _transformed(f, e, w, rows)
    for first in range(0, len(rows), e.lanes):
        part = rows[first:first + e.lanes]
        square = kept(f, e, transposed(f, e.kind, part + part[:1] * (e.lanes - len(part))))
        mask = f.first_lanes(f.sub(a.volume, first), e.lanes)
        with f.loop(0, f.least(left, e.lanes)) as lane:
            column = f.read(e.kind, f.at(square, f.mul(lane, e.lanes), e.element))
            e.write(f, column, e.at(f, target, f.add(f.mul(a.volume, lane), first)), mask)


def _finish_last(f: Function, a: Registers, e: Elements, mode: str, sums: str, target: str,
                 left: str) -> None:
    """The channels of a tap lie side by side in the result as they do in the sums."""
    apart, mask = f.mul(a.blocks, a.sum_block), f.first_lanes(left, e.lanes)
    w = winograd_of(mode)
    if w:
        rows = _transformed(f, e, w, _rows_of_taps(f, a, e, sums, apart, w.weights**2))
        for n, row in enumerate(rows):
            e.write(f, row, e.at(f, target, f.mul(a.channels, n)), mask)
        return
    with f.loop(0, a.taps) as tap:
        total = _total(f, a, e, f.at(sums, f.mul(apart, tap), e.element))
        e.write(f, total, e.at(f, target, f.mul(a.channels, tap)), mask)


def _rows_of_taps(f: Function, a: Registers, e: Elements, sums: str, apart: str, count: int) -> list[str]:
    """The sums of each tap; of ``count``, those that do not exist are undefined."""
    totals = local_array(f, count * e.lanes, e.element)
    with f.loop(0, a.taps) as tap:
        value = _total(f, a, e, f.at(sums, f.mul(apart, tap), e.element))
        f.write(e.kind, value, f.at(totals, f.mul(tap, e.lanes), e.element))
    return [f.read(e.kind, f.at(totals, k * e.lanes, e.element)) for k in range(count)]


def _transformed(f: Function, e: Elements, w: Winograd, rows: list[str]) -> list[str]:
    n = w.weights
    return transform(f, e.kind, flipped(w.weight), [rows[n * r:n * r + n] for r in range(n)])


def _total(f: Function, a: Registers, e: Elements, place: str) -> str:
    """A vector of sums, of all ranges in their order."""
    found = f.variable(e.kind, f.read(e.kind, place))
    with f.loop(1, a.ranges) as k:
        at = f.at(place, f.mul(k, f.mul(a.groups, a.sum_range)), e.element)
        found.set(arithmetic(f, "fadd", e.kind, found.get(), f.read(e.kind, at)))
    return found.get()
