"""Blocks and tasks of general matrix products: functions of numbers alone."""

from __future__ import annotations

import functools
import math
from typing import Any

from ....config import settings
from ..llvm.compiling.machine import LAST_CACHE, LINE, machine
from ..quantity import whole
from .arguments import Rows, Source
from .microkernel import Tile

DEPTH = 1024            # of a block: a panel of B takes an eighth of the second cache, one of A a twentieth
TASK = 2e6              # floating operations worth a task: 20 microseconds
FEW_TASKS = 4           # more than these only where tasks are larger
THREAD_TASKS = 4        # for each thread at most; who computes what never changes a bit
FINE_THREAD_TASKS = 16  # the same where no task packs B: threads are seldom equally fast, and in the end the
                        # faster one waits for a part of a task
SHARED = 1e8            # floating operations from which on B is packed by a call of its own,
SHARED_WIDE = 2.5e8     # or where B is larger than A: a call that computes little is mostly packing
PACKING = 10.0, 4.0     # what packing an element of A or of B costs, in multiply-adds of a vector
IN_PLACE = 3.0          # what reading an element where it lies does, once,
READING = 0.3, 1.5      # and what reading a packed element of B from the second or the third cache does
IN_PLACE_BLOCK = 1 << 19    # bytes of A and B read where they lie again and again: half of the second cache
WAY = 1 << 12           # bytes after which addresses fall into the same set of the first cache
LINES_APART = 128       # bytes from there on at least
SMALL_RESULT = 1 << 17  # elements
NARROW_WAY = 1536       # bytes between steps of A at most, to be read where they lie by tiles of few rows
IN_PLACE_ROWS = 384     # of which a task has so many rows and columns at most, more or less
IN_PLACE_RESULT = 1 << 20   # elements of a result of which tasks are such
PAGES = 8 << 20         # bytes between the first and the last row of B that one can step through at will
TILES = 5               # panels of A packed at once: while the first is used, four can be read ahead,
MORE_TILES = 8          # and more while it meets so many panels of B that these pass through the second cache
DIRECT_ROWS = 24        # up to so many rows, packing B costs more than reading it where it lies
CROWDED_ROWS = 128      # and up to so many, adjacent ones, even where rows of B drive each other out

# Looking up a member of an enumeration takes as long as several comparisons.
_OWN, _DIRECT, _SHARED = Source
_PACKED, _IN_BLOCKS, _AT_ONCE = Rows


@whole
@functools.lru_cache(1 << 12)     # graphs of new shapes ask again for lengths that came before (Note: kin)
def chosen(m: int, n: int, k: int, items: int, a_row: int, a_column: int, b_row: int, b_column: int,
           size_in_memory: int, plain: bool, holds_sums: bool, tile: Tile, threads: int) -> tuple[Any, ...]:
    """The blocks of a product. ``plain``: elements lie in memory in the type that is computed with.

    ``holds_sums``: so does the result.
    """
    size, lanes, width = tile.itemsize, tile.lanes, tile.columns
    in_place = _PACKED
    if plain:
        in_place = _rows_in_place(m, n, a_row, a_column, b_column == 1 and holds_sums, size_in_memory)
    kc = k
    if holds_sums:
        deepest = DEPTH * 4 // size
        if in_place is _AT_ONCE:
            deepest = min(deepest, IN_PLACE_BLOCK // size // (min(m, IN_PLACE_ROWS) + min(n, IN_PLACE_ROWS)))
        kc = share(k, -(-k // deepest), lanes)
    flops = 2.0 * items * m * n * k
    direct = plain and b_column == 1 and _columns_in_place(m, n, k, b_row, in_place, size_in_memory)
    shared = not direct and in_place is not _AT_ONCE and items < 4 \
        and flops >= (SHARED if m >= n else SHARED_WIDE)
    worth = flops / TASK if threads > 1 or flops >= SHARED else 1.0
    # Tasks of rows read at once read whole lines: of small ones most is what other tasks read, too.
    whole_lines = in_place is _AT_ONCE and (m * n <= SMALL_RESULT or falls_together(b_row, size_in_memory))
    fine = shared or (direct and not whole_lines)
    most = (FINE_THREAD_TASKS if fine else THREAD_TASKS) * threads
    wanted = min(most, max(min(FEW_TASKS, int(worth)), int(worth / 2)))
    wanted = -(-wanted // items) or 1
    unit = 4 if tile.rows % 4 == 0 else 2   # tiles of fewer rows cost little more than they compute
    row_blocks = column_blocks = 1
    if wanted > 1:
        far = n * kc * size > machine().second_cache
        costs = PACKING[0] if in_place is _PACKED else IN_PLACE, \
            IN_PLACE if direct else READING[far] if shared else PACKING[1]
        row_blocks, column_blocks = _split(m, n, items, unit, width, wanted, costs, threads)
    rows, columns = share(m, row_blocks, unit), share(n, column_blocks, width)
    row_blocks, column_blocks = -(-m // rows), -(-n // columns)
    how = _DIRECT if direct else _SHARED if shared and row_blocks > 1 else _OWN
    # A block of A fills three eighths of the second cache: B's panels and the result pass through it too.
    second_cache, deep = machine().second_cache, -(-kc // lanes) * lanes * size
    most = TILES if min(columns, n) * deep < second_cache // 2 else MORE_TILES
    most = min(most, second_cache * 3 // 8 // deep // tile.rows)
    mc = tile.rows
    if most > 1 and in_place is not _AT_ONCE:
        mc = share(min(rows, m), -(-rows // (most * tile.rows)), tile.rows)
    return mc, kc, rows, columns, row_blocks, column_blocks, how, in_place


def _rows_in_place(m: int, n: int, row: int, column: int, at_once: bool, size: int) -> Rows:
    """Whether A is better read where it lies than packed.

    Rows that are adjacent are, if B is too (``at_once``) and the blocks that tasks read together fit the
    cache. Tiles of few rows read a line several times, so lines must stay in the first cache meanwhile: far
    apart they do not. Other rows are read where they lie unless they drive each other out of it.
    """
    if m <= DIRECT_ROWS:
        return _PACKED
    if row == 1 and at_once:
        near = machine().vector == 64 or abs(column) * size <= NARROW_WAY
        return _AT_ONCE if near and m * n <= IN_PLACE_RESULT else _PACKED
    return _IN_BLOCKS if column == 1 and not falls_together(row, size) else _PACKED


def _columns_in_place(m: int, n: int, k: int, row: int, rows: Rows, size: int) -> bool:
    """Whether B, whose columns are adjacent, is read where it lies: tasks find it in the second cache."""
    if m <= DIRECT_ROWS:
        return k * abs(row) * size <= PAGES
    if rows is _AT_ONCE:
        return m <= CROWDED_ROWS or not falls_together(row, size)
    return rows is _IN_BLOCKS and k * n * size <= IN_PLACE_BLOCK


@whole
def product_goes_past(rows: int, columns: int, stride: int, depth: int, kc: int, size: int) -> int:
    """Whether a result is written past the caches, in whole lines: none would be there when it is read."""
    return int(rows * columns * size > LAST_CACHE and kc >= depth and stride * size % LINE == 0)


@whole
def packs_past(room: int, column: int) -> int:
    """Whether panels of adjacent columns are written past the caches: few would be there when read."""
    return int(room > LAST_CACHE and column == 1)


def falls_together(stride: int, size: int) -> bool:
    """Whether elements so far apart fall into the same places of the caches, and drive each other out."""
    return stride * size % WAY < LINES_APART


def get_threads() -> int:
    return settings.threads


def share(extent: int, blocks: int, unit: int) -> int:
    """Elements of a block, whole tiles."""
    tiles = -(-extent // unit)
    return -(-tiles // blocks) * unit


@functools.lru_cache(1 << 10)
def _row_blocks(wanted: int, most: int) -> list[int]:
    """Numbers of blocks of rows that make about ``wanted`` tasks with some number of blocks of columns."""
    few = range(1, math.isqrt(wanted) + 1)
    return sorted({min(rows, most) for x in few for rows in (x, -(-wanted // x))})


def _split(m: int, n: int, items: int, unit: int, width: int, wanted: int, costs: tuple[float, float],
           threads: int) -> tuple[int, int]:
    """Blocks of rows and of columns: ``wanted`` or more where there are so many tiles, at the least cost.

    A is packed, or read, for each block of columns, B for each block of rows. The last block of either may be
    almost empty, and a thread may be idle while others compute the last tasks.
    """
    row_tiles, column_tiles = -(-m // unit), -(-n // width)
    for_a, for_b, all_tiles = costs[0] / n, costs[1] / m, row_tiles * column_tiles
    best, lowest = (1, 1), float("inf")
    for rows in _row_blocks(wanted, min(wanted, row_tiles)):
        columns = -(-wanted // rows)
        if columns > column_tiles:
            if rows < row_tiles and rows * column_tiles < wanted:
                continue    # too few tasks, and more rows could make others
            columns = column_tiles
        cost = 1 + columns * for_a + rows * for_b
        if cost * all_tiles >= lowest:   # were all blocks full, and no thread idle
            continue
        tasks = rows * columns * items
        cost *= -(-row_tiles // rows) * rows * -(-column_tiles // columns) * columns
        if tasks % threads:
            cost *= -(-tasks // threads) * threads / tasks
        if cost < lowest:
            best, lowest = (rows, columns), cost
    return best
