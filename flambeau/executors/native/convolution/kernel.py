"""The kernel of forward convolutions and of gradients by the input: products of staged pixels with weights.

A task takes a part of the grid of results (some images, or some rows of one) and a share of the panels of
output channels. It stages the part of the source that it needs (``staging.py``), fills V with a row of
channels for each pixel and tap (or reads them where they are staged), and multiplies by packed weights with
the register-tiled microkernel (``tiles.py``), pixels being the rows and output channels the columns of its
tiles. A panel of results, M[pixel][channels], is transposed to the target at once, while it is in the cache.

For kernels of 3 x 3 and strides 1 and 2 there is Winograd's way (``winograd.py``): the sums over
channels are a matrix product for each element of a tile, and the transforms combine vectors of channels.
"""

from __future__ import annotations

import functools

from ..arguments import Registers, entry, registers
from ..llvm.build import Function, Module
from ..llvm.lanes import shuffle
from ..products.microkernel import Tile
from ..vectors import Elements, arithmetic, kept, transposed
from .ahead import AHEAD_NUMBERS, Ahead
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
)
from .tiles import Products
from .winograd import Tiles, transform, weight_of, winograd_of

POINTERS = ("source", "packed", "bias", "target")
NUMBERS = (*STAGE_NUMBERS, *FILL_NUMBERS, *NARROW_NUMBERS, "narrow_width", "batch", "groups", "images_each",
           "chunks", "rows_each", "splits", "panels", "outs", "s_group", "t_group", "u_group", "u_panel",
           "t_n", "t_c", "t_a", "t_b", "t_w", "v_at", "m_at", "p_at", "m_step", "depth_each",
           "phases", "merged", "between", "missing", "zero_lines", "zero_line", "asking", *AHEAD_NUMBERS)
# Entries of a phase in the table, followed by taps.
PHASE = ("taps", "taps_at", "u_at", "target_at", "grid_a", "grid_b", "grid_w")
# The ``step`` of results whose channels lie side by side in the target.
CHANNELS = -1


def forward_module(e: Elements, tile: Tile, mode: str, adjacent: str, bias: bool, step: int) -> str:
    """Code of ``convolve``.

    ``mode``: taps, direct (taps, but tiles read the staged image, ``tiles.py``), pointwise (one tap for
    all pixels: V is the staged image), narrow (few channels), or one of Winograd's. ``adjacent``: what lies
    side by side in the source. ``step``: how far apart neighbouring results lie in the target: 1, 2, or 0 for
    any distance; ``CHANNELS`` where channels are neighbours.
    """
    module = Module()
    products = Products(module, e, tile, mode)
    with module.kernel("convolve") as f:
        a, ahead = registers(f, POINTERS, NUMBERS), Ahead(f)
        before = f.variable("i64", -1)
        ahead.begin_nothing(f, a.source)
        with f.loop(f.begin, f.end) as task:
            part = _part_of(f, a, e, mode, task)
            # Shares of the panels of one part follow one another: what they multiply is made once.
            number = f.div(task, a.splits)
            anew = f.compare("ne", before.get(), number)
            anew = f.emit(f"or i1 {anew}, {f.compare('ne', a.phases, 1)}")
            before.set(number)
            # Also behind the portion of tasks: a thread's next one mostly begins there.
            following = _part_of(f, a, e, mode, f.add(task, 1))
            there = f.compare("slt", following["first_image"], a.batch)
            ask = functools.partial(ahead.begin_source, f, a, e, following, a.channels, there)
            if mode != "pointwise":
                ask()
            if mode != "narrow":
                with f.when(anew):
                    buffer = part["v"] if mode == "pointwise" else f.scratch
                    stage(f, a, e, part["source"], buffer, part, adjacent)
            with f.loop(0, a.phases) as number:
                head = f.at(a.table, f.mul(number, len(PHASE)), "i64")
                phase = {name: entry(f, head, k) for k, name in enumerate(PHASE)}
                here, tiling = _grid_of(f, a, part, phase, mode)
                with f.when(anew):
                    _fill(f, a, e, mode, adjacent, here, phase, tiling)
                with f.loop(part["first_panel"], part["last_panel"]) as panel:
                    out = f.mul(panel, tile.columns)
                    place = f.add(_place_of(f, a, here, phase), f.mul(out, a.t_c))
                    counts = part["images"], here["lines"], f.least(f.sub(a.outs, out), tile.columns)
                    ahead.begin(f, a, "out", e.at(f, a.target, place), counts)
                    if mode == "pointwise":
                        # V is as large as the next source, and read for each panel: what comes too soon
                        # has left the second cache when it is staged.
                        first = f.most(part["first_panel"], f.sub(part["last_panel"], a.asking))
                        with f.when(f.compare("eq", panel, first)):
                            ask()
                    _multiply(f, a, e, products, tiling, here, phase, panel, ahead)
                    _deliver(f, a, e, tile, mode, here, phase, panel, bias, step)
    return module.text()


def _part_of(f: Function, a: Registers, e: Elements, mode: str, task: str) -> Part:
    """What a task does: some images or rows of the grid, a group, and a share of the panels."""
    part = Part()
    share, rest = f.rem(task, a.splits), f.div(task, a.splits)
    part["group"], rest = f.rem(rest, a.groups), f.div(rest, a.groups)
    part["first_image"] = f.mul(f.div(rest, a.chunks), a.images_each)
    part["images"] = f.least(a.images_each, f.sub(a.batch, part["first_image"]))
    part["grid_first"] = f.mul(f.rem(rest, a.chunks), a.rows_each)
    w = winograd_of(mode)
    if w:
        first, lines = (f.div(n, w.results) for n in (part["grid_first"], a.rows_each))
        part["first_a"] = f.mul(first, w.apart)
        part["rows"] = f.add(f.mul(f.sub(lines, 1), w.apart), w.extent)
    else:
        part["first_a"] = f.mul(part["grid_first"], a.step_a)
        part["rows"] = f.add(f.mul(f.sub(a.rows_each, 1), a.step_a), a.span_a)
    part["source"] = e.at(f, a.source, f.mul(part["group"], a.s_group))
    part["first_panel"] = f.div(f.mul(share, a.panels), a.splits)
    part["last_panel"] = f.div(f.mul(f.add(share, 1), a.panels), a.splits)
    part["v"], part["m"], part["p"] = (f.at(f.scratch, at, "i8") for at in (a.v_at, a.m_at, a.p_at))
    return part


def _grid_of(f: Function, a: Registers, part: Part, phase: dict[str, str],
             mode: str) -> tuple[Part, Tiles | None]:
    """The part of a phase's grid: its rows, and in units of ``grid`` (pixels, or tiles) the rows of V."""
    here = Part(part)
    here["lines"] = f.most(f.least(a.rows_each, f.sub(phase["grid_a"], part["grid_first"])), 0)
    here["grid_a"], here["grid_b"], here["grid_w"] = here["lines"], phase["grid_b"], phase["grid_w"]
    width, lines = here["grid_w"], here["grid_a"]
    w, tiling = winograd_of(mode), None
    if w:
        m = w.results
        tiling = Tiles(f, w, here, (here["lines"], phase["grid_w"]))
        width, lines = f.mul(here["grid_w"], m), f.mul(here["grid_a"], m)
    # Results of a panel: [image][a][b][w].
    here["p_b"] = width
    here["p_a"] = f.mul(here["grid_b"], width)
    here["p_n"] = f.mul(lines, here["p_a"])
    here["pixels"] = f.mul(f.mul(part["images"], here["grid_a"]), f.mul(here["grid_b"], here["grid_w"]))
    return here, tiling


def _fill(f: Function, a: Registers, e: Elements, mode: str, adjacent: str, part: Part,
          phase: dict[str, str], tiling: Tiles | None) -> None:
    taps = f.at(a.table, phase["taps_at"], "i64")
    if tiling:
        fill_tiles(f, a, e, f.scratch, part["v"], part, tiling.w, tiling)
    elif mode == "narrow":
        fill_narrow(f, a, e, part["source"], part["v"], part, taps, NARROW_STEPS[adjacent])
    elif mode == "taps":
        fill_taps(f, a, e, f.scratch, part["v"], part, taps, phase["taps"])


def _multiply(f: Function, a: Registers, e: Elements, products: Products, tiling: Tiles | None, part: Part,
              phase: dict[str, str], panel: str, ahead: Ahead) -> None:
    """The results of a panel."""
    v, m, tile = part["v"], part["m"], products.tile
    at = f.add(f.add(f.mul(part["group"], a.u_group), f.mul(panel, a.u_panel)), phase["u_at"])
    u, blocks = f.at(a.packed, at, e.element), f.mul(phase["taps"], a.blocks)
    if products.step:
        taps = f.at(a.table, phase["taps_at"], "i64")
        products.from_image(f, a, part, taps, blocks, (f.scratch, u, m), ahead)
        return
    if not tiling:
        products.from_v(f, a, part["pixels"], blocks, (v, u, m), ahead)
        return
    w = tiling.w
    with f.loop(0, w.elements**2) as i:
        block, (matrix, _) = f.mul(i, a.blocks), weight_of(f, w, i)
        pointers = (f.at(v, f.mul(block, a.v_step), e.element),
                    f.at(u, f.mul(f.mul(matrix, a.blocks), f.mul(a.depth_each, tile.columns)), e.element),
                    f.at(m, f.mul(i, a.m_step), e.element))
        products.from_v(f, a, tiling.count(i), a.blocks, pointers, ahead)
    _untile(f, a, e, tile, m, part["p"], part, tiling)


# --- results ------------------------------------------------------------------------------------------------

def _untile(f: Function, a: Registers, e: Elements, tile: Tile, m: str, p: str, part: Part,
            tiling: Tiles) -> None:
    """P[image][a][w][columns] = A^T M A of all tiles."""
    w = tiling.w
    columns, n = tile.columns, w.elements
    with f.loop(0, part["images"]) as image, f.loop(0, part["grid_a"]) as row:
        pixel = f.add(f.mul(image, part["p_n"]), f.mul(f.mul(row, w.results), part["p_a"]))
        target = f.at(p, f.mul(pixel, columns), e.element)
        lines = tiling.line(m, image, row, columns, e.element)
        with f.loop(0, part["grid_w"]) as column:
            with f.loop(0, tile.vectors) as j:
                lane = f.mul(j, e.lanes)
                shift = f.add(f.mul(column, columns), lane)
                y = f.at(target, f.add(f.mul(column, w.results * columns), lane), e.element)
                places = [f.at(line, f.add(shift, f.mul(a.m_step, k)), e.element)
                          for k, line in enumerate(lines)]
                read = [[f.read(e.kind, place) for place in places[n * r:n * r + n]] for r in range(n)]
                for k, value in enumerate(transform(f, e.kind, w.output, read)):
                    r, c = divmod(k, w.results)
                    at = f.add(f.mul(part["p_a"], r * columns), c * columns)
                    f.write(e.kind, value, f.at(y, at, e.element))


def _place_of(f: Function, a: Registers, part: Part, phase: dict[str, str]) -> str:
    """Where the results of a part begin in the target."""
    return f.add(f.add(f.mul(part["first_image"], a.t_n), phase["target_at"]),
                 f.add(f.mul(part["grid_first"], a.t_a), f.mul(part["group"], a.t_group)))


def _deliver(f: Function, a: Registers, e: Elements, tile: Tile, mode: str, part: Part, phase: dict[str, str],
             panel: str, bias: bool, step: int) -> None:
    """Write a panel of results, [image][a][b][w][columns], to the target, and add the bias."""
    p, group, images = part["p" if winograd_of(mode) else "m"], part["group"], part["images"]
    rows, planes, width = part["lines"], phase["grid_b"], phase["grid_w"]
    place = _place_of(f, a, part, phase)
    merged = f.compare("ne", a.merged, 0)
    run = f.choose(merged, "i64", f.mul(f.mul(rows, planes), width), width)
    rows, planes = f.choose(merged, "i64", 1, rows), f.choose(merged, "i64", 1, planes)
    empty = f.compare("eq", run, 0)
    rows = f.choose(empty, "i64", 0, rows)
    with f.loop(0, tile.vectors) as j:
        lane = f.mul(j, e.lanes)
        out = f.add(f.mul(panel, tile.columns), lane)
        left = f.sub(a.outs, out)
        with f.when(f.compare("sgt", left, 0)):
            added = ""
            if bias:
                from_ = e.at(f, a.bias, f.add(f.mul(group, a.outs), out))
                added = e.read(f, from_, f.first_lanes(left, e.lanes))
            with f.loop(0, images) as image, f.loop(0, rows) as row, f.loop(0, planes) as plane:
                pixel = f.add(f.mul(image, part["p_n"]),
                              f.add(f.mul(row, part["p_a"]), f.mul(plane, part["p_b"])))
                x = f.at(p, f.add(f.mul(pixel, tile.columns), lane), e.element)
                to = f.add(f.add(f.mul(image, a.t_n), f.mul(out, a.t_c)),
                           f.add(f.mul(row, a.t_a), f.mul(plane, a.t_b)))
                y = e.at(f, a.target, f.add(place, to))
                if step == CHANNELS:
                    _in_vectors(f, a, e, tile, x, y, run, left, added)
                elif step:
                    zeros = f.compare("slt", f.add(part["grid_first"], row), a.zero_lines)
                    _transposed(f, a, e, tile, x, y, run, left, added, step, zeros)
                else:
                    _scattered(f, a, e, tile, x, y, run, left, added)


def _in_vectors(f: Function, a: Registers, e: Elements, tile: Tile, x: str, y: str, run: str, left: str,
                bias: str) -> None:
    """A line of pixels whose channels lie side by side in the target."""
    mask = f.first_lanes(left, e.lanes)
    with f.loop(0, run) as w:
        row = f.read(e.kind, f.at(x, f.mul(w, tile.columns), e.element))
        if bias:
            row = arithmetic(f, "fadd", e.kind, row, bias)
        e.write(f, row, e.at(f, y, f.mul(w, a.t_w)), mask)


def _transposed(f: Function, a: Registers, e: Elements, tile: Tile, x: str, y: str, run: str, left: str,
                bias: str, step: int, zeros: str) -> None:
    """A line of pixels that lie ``step`` (1 or 2) elements apart in the target, and maybe ``zeros`` below."""
    n = e.lanes
    with f.loop(0, run, n) as w:
        from_, to = f.at(x, f.mul(w, tile.columns), e.element), e.at(f, y, f.mul(w, step))
        rows = [f.read(e.kind, f.at(from_, i * tile.columns, e.element)) for i in range(n)]
        if bias:
            rows = [arithmetic(f, "fadd", e.kind, row, bias) for row in rows]
        columns = transposed(f, e.kind, rows)
        rest = f.sub(run, w)
        if step == 1:
            _write_line(f, e, columns, to, a.t_c, (rest, left))
        else:
            _write_every_other(f, a, e, columns, to, (rest, left), zeros)


def _write_line(f: Function, e: Elements, columns: list[str], to: str, apart: str,
                counts: tuple[str, str]) -> None:
    n = e.lanes
    rest, left = counts
    whole = f.emit(f"and i1 {f.compare('sge', rest, n)}, {f.compare('sge', left, n)}")
    with f.when(whole):
        for i, column in enumerate(columns):
            e.write(f, column, e.at(f, to, f.mul(apart, i)))
    with f.otherwise(whole):
        mask = f.first_lanes(rest, n)
        square = kept(f, e, columns)
        with f.loop(0, f.least(left, n)) as lane:
            column = f.read(e.kind, f.at(square, f.mul(lane, n), e.element))
            e.write(f, column, e.at(f, to, f.mul(lane, apart)), mask)


def _write_every_other(f: Function, a: Registers, e: Elements, columns: list[str], to: str,
                       counts: tuple[str, str], zeros: str) -> None:
    """Even lanes of two vectors; what lies between belongs to another phase, or else is zero."""
    n = e.lanes
    rest, left = counts
    even = ", ".join(["i1 true", "i1 false"] * (n // 2))
    between, masks = f.compare("ne", a.between, 0), []
    for k in range(2):
        count = f.sub(f.mul(rest, 2), k * n)
        some = f.emit(f"and <{n} x i1> {f.first_lanes(count, n)}, <{even}>")
        masks.append(f.choose(between, f"<{n} x i1>", f.first_lanes(f.sub(count, a.missing), n), some))
    square = kept(f, e, columns)
    with f.loop(0, f.least(left, n)) as i:
        column = f.read(e.kind, f.at(square, f.mul(i, n), e.element))
        line = e.at(f, to, f.mul(i, a.t_c))
        for k in range(2):
            picks = [k * n // 2 + lane // 2 if lane % 2 == 0 else n for lane in range(n)]
            spread = shuffle(f, e.kind, n, column, "zeroinitializer", picks)
            e.write(f, spread, e.at(f, line, k * n), masks[k])
        with f.when(zeros):
            for k in range(2):
                e.write(f, "zeroinitializer", e.at(f, line, f.add(a.zero_line, k * n)), masks[k])


def _scattered(f: Function, a: Registers, e: Elements, tile: Tile, x: str, y: str, run: str, left: str,
               bias: str) -> None:
    n = e.lanes
    count = f.least(left, n)
    with f.loop(0, run) as w:
        from_ = f.at(x, f.mul(w, tile.columns), e.element)
        if bias:
            row = arithmetic(f, "fadd", e.kind, f.read(e.kind, from_), bias)
            f.write(e.kind, row, from_)
        to = e.at(f, y, f.mul(w, a.t_w))
        with f.loop(0, count) as c:
            value = f.read(e.element, f.at(from_, c, e.element), e.width)
            e.write_one(f, value, e.at(f, to, f.mul(c, a.t_c)))
