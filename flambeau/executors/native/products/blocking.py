"""Plans of general matrix products: which blocks, which tasks, who packs what."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....config import settings
from ..llvm.code import compile_soon
from ..llvm.emitter import Dtype
from ..llvm.machine import machine
from ..plan import Call, Plan, Words
from ..quantity import least, whole
from .ahead import LINE
from .arguments import Kind, Rows, Source
from .beforehand import packing_kernel
from .dot import CHUNK, dot_kernels
from .epilogue import ITEM, Arguments
from .following import Follower
from .gemm import product_kernel
from .microkernel import Tile
from .skinny import skinny_kernel, width_of

DEPTH = 1024            # of a block: a panel of B takes an eighth of the second cache, one of A a twentieth
TASK = 2e6              # floating operations worth a task: 20 microseconds
FEW_TASKS = 4           # more than these only where tasks are larger
THREAD_TASKS = 4        # for each thread at most; who computes what never changes a bit
SHARED = 1e8            # floating operations from which on B is packed by a call of its own,
SHARED_WIDE = 2.5e8     # or where B is larger than A: a call that computes little is mostly packing
PACKING = 6.0, 4.0      # what packing an element of A or of B costs, in multiply-adds of a vector
IN_PLACE = 3.0          # what reading an element where it lies does, once
IN_PLACE_BLOCK = 1 << 19    # bytes of A and B read where they lie again and again: half of the second cache
WAY = 1 << 12           # bytes after which addresses fall into the same set of the first cache
LINES_APART = 128       # bytes from there on at least
IN_PLACE_ROWS = 384     # of which a task has so many rows and columns at most, more or less
IN_PLACE_RESULT = 1 << 20   # elements of a result of which tasks are such
PACKED = 1 << 14        # elements of B that a task packs beforehand, at least: 2 microseconds
READING = 0.3           # and what reading a packed element of B from the third cache does
READ = 1 << 18          # bytes of B worth a task where there are few rows
INNER_ROWS = 16         # up to so many rows, B is read where it lies: adjacent along the depth
INNER_DEPTH = 192       # of at least this size
OUTER_ROWS = 4          # or along the columns
PAGES = 8 << 20         # bytes between the first and the last row of B that one can step through at will
PAGE_COLUMNS = 1024     # beyond, a task has whole pages
TILES = 5               # panels of A packed at once: while the first is used, four can be read ahead
STEPS = 16              # and uses so many rows of B at a time
LAST_CACHE = 1 << 25    # bytes of a result that no cache holds until it is read
STORING = 8             # what an element of a result of few columns costs beside its sum, in multiply-adds
COPYING = 2             # of a vector, and what copying one that is multiplied with many does;
BROADCASTING = 0.25     # how much more a multiply-add costs that reads an element for a single vector
DIRECT_ROWS = 24        # up to so many rows, packing B costs more than reading it where it lies


# Looking up a member of an enumeration takes as long as several comparisons.
_OWN, _DIRECT, _SHARED = Source
_PACKED, _IN_BLOCKS, _AT_ONCE = Rows


class Matrix(NamedTuple):
    """An operand: its place among the node's operands, and strides in elements."""

    position: int
    geometry: object
    row: int
    column: int
    item: tuple[int, ...] = (0,) * ITEM

    def transposed(self) -> Matrix:
        return self._replace(row=self.column, column=self.row)


class Target(NamedTuple):
    """The strides of the result."""

    row: int
    column: int
    item: tuple[int, ...] = (0,) * ITEM


class Problem(NamedTuple):
    """C = A B for each item of a batch, (m, k) by (k, n), and what follows."""

    m: int
    n: int
    k: int
    batch: tuple[int, ...]
    a: Matrix
    b: Matrix
    c: Target
    source: Dtype
    target: Dtype
    compute: Dtype
    epilogue: Arguments | None = None
    follower: Follower | None = None
    output: tuple[int, int] = (0, 0)    # result and member that C is the value of

    def turned(self) -> Problem:
        """The transposed product; epilogue and follower stay those of this one."""
        c = Target(self.c.column, self.c.row, self.c.item)
        return self._replace(m=self.n, n=self.m, a=self.b.transposed(), b=self.a.transposed(), c=c)

    @property
    def items(self) -> int:
        a, b, c = self.batch
        return a * b * c

    @property
    def flops(self) -> float:
        m, n, k, (a, b, c), *_ = self
        return 2.0 * (a * b * c) * m * n * k

    @property
    def traffic(self) -> float:
        size = self.source.itemsize
        read = (self.m + self.n) * self.k * size + self.m * self.n * self.target.itemsize
        return 1.0 * self.items * read


# The number of rows in the first product of a kind with a matrix B.
_rows: dict[tuple[Kind, int, int, bool], int] = {}
_MOST_REMEMBERED = 4096


class _Blocks(NamedTuple):
    """The arguments that blocking decides."""

    mc: int
    kc: int
    rows: int
    columns: int
    row_blocks: int
    column_blocks: int
    source: Source
    in_place: Rows = Rows.PACKED


def product_plan(problem: Problem) -> Plan:
    """The plan of a product."""
    m, n, k, _, a, b, _, source, target, compute, epilogue, follower, _ = problem
    items, flops = problem.items, problem.flops
    if m == n == items == 1 and epilogue is None and follower is None and a.column == b.row == 1:
        return _dot_plan(problem)
    kind = Kind(source, target, compute, None if epilogue is None else epilogue.code)
    _compile_beside(problem, kind)
    if m <= INNER_ROWS and m <= _few_rows(problem):
        return _skinny_plan(problem, kind, 4 if m > 2 else m)
    if n <= INNER_ROWS and n < m and _is_better_turned(problem, kind):
        return _skinny_plan(problem.turned(), kind, _columns_at_once(n, kind.tile.lanes), True)
    tile = kind.tile
    blocks = _blocks(problem, tile)
    mc, kc, _, columns, row_blocks, column_blocks, how, _ = blocks
    size, lanes, width = tile.itemsize, tile.lanes, tile.columns
    depth, panels = -(-k // lanes) * lanes, -(-n // width)
    shared = how is _SHARED
    if not shared:  # panels in the scratch: those of A and, where the task packs them, of B
        mc += width if how is _DIRECT else -(-least(columns, n) // width) * width
    scratch = mc * least(depth, -(-kc // lanes) * lanes) * size
    words = _words(problem, blocks, panels * width * depth)
    tasks = items * row_blocks * column_blocks
    product = Call(product_kernel(kind), words, tasks, _grain(tasks, flops), scratch + 64 * lanes)
    traffic = problem.traffic
    if not shared:
        return Plan([product], flops=flops, traffic=traffic)
    panels_packed = _packed_items(problem) * panels
    packing = Call(packing_kernel(source, compute, kind.pairs), _packing_words(problem, panels),
                   panels_packed, max(1, PACKED // (width * k)))
    return Plan([packing, product], workspace=panels_packed * width * depth * size, flops=flops,
                traffic=traffic)


@whole
def _grain(tasks: int, flops: float) -> int:
    """How many tasks are worth handing out at once."""
    return min(max(1, int(TASK * tasks / flops)), tasks)


def _dot_plan(problem: Problem) -> Plan:
    """The product of two vectors."""
    kernels = dot_kernels(problem.source, problem.target, problem.compute)
    chunks = -(-problem.k // CHUNK)
    first, second = Words(), Words()
    first.input(problem.a.position, problem.a.geometry)
    first.input(problem.b.position, problem.b.geometry)
    first.workspace()
    first.constant(problem.k)
    second.output(*problem.output)
    second.workspace()
    second.constant(chunks)
    calls = [Call(kernels["chunks"], first, chunks, 2 if chunks > 2 else chunks),
             Call(kernels["total"], second, 1)]
    return Plan(calls, workspace=chunks * problem.compute.itemsize, flops=problem.flops,
                traffic=problem.traffic)


def _few_rows(problem: Problem) -> int:
    """Up to how many rows B should be read where it lies."""
    if problem.b.row == 1:
        # Adding up lanes in the end costs as much as several steps.
        return INNER_ROWS if problem.k >= INNER_DEPTH else OUTER_ROWS
    if problem.b.column == 1:
        return INNER_ROWS if _is_wide(problem) else OUTER_ROWS
    return 0


def _compile_beside(problem: Problem, kind: Kind) -> None:
    """Once the number of rows has changed, have the kernels of few and of many compiled together.

    So sequences of ever other lengths compile nothing when at last a short one comes.
    """
    if problem.m.__class__ is not int:
        return  # nothing is decided here (Note: formulas)
    inner = problem.b.row == 1
    key = kind, problem.n, problem.k, inner
    if _few_rows(problem) < INNER_ROWS or _rows.setdefault(key, problem.m) == problem.m:
        return
    if len(_rows) > _MOST_REMEMBERED:
        _rows.clear()
    compile_soon(product_kernel(kind), skinny_kernel(kind, 4, inner, False))


def _is_wide(problem: Problem) -> bool:
    """Whether rows of B lie in so many pages that processors do not know the addresses of all."""
    return bool(problem.k * abs(problem.b.row) * problem.source.itemsize > PAGES)


def _is_better_turned(problem: Problem, kind: Kind) -> bool:
    """Whether the transposed product, which has few rows, costs less."""
    m, n, k, a, lanes = problem.m, problem.n, problem.k, problem.a, kind.tile.lanes
    if problem.c.column != 1 or kind.pairs or not (a.column == 1 or a.row == 1):
        return False
    rows, inner = _columns_at_once(n, lanes), a.column == 1
    copied = _copies_rows(problem.turned(), kind)
    return bool(_saves_turned(m, n, k, rows, 1 if inner else width_of(kind, rows, False), lanes, copied))


@whole
def _saves_turned(m: int, n: int, k: int, rows: int, width: int, lanes: int, copied: bool) -> bool:
    """A tile of few columns wastes lanes. Turned, groups of rows, and of columns, may not be full."""
    wide = lanes if width > 1 and m <= lanes else -(-m // width) * width
    turned = wide * -(-n // rows) * rows * k / lanes + STORING * m * n + (COPYING * n * k if copied else 0)
    return turned < m * k * (-(-n // lanes) + BROADCASTING)


def _copies_rows(problem: Problem, kind: Kind) -> bool:
    """Whether the few rows of A are copied before they are read."""
    step = problem.a.column
    if kind.source != kind.compute:
        return True
    return step != 1 and (problem.b.row == 1 or _falls_together(step, kind.source.itemsize))


def _columns_at_once(n: int, lanes: int) -> int:
    """How many of so few columns are computed at once; sums of their lanes fill a vector at most."""
    if n <= 2:
        return 2
    best = most = min(5, lanes)
    for rows in range(most - 1, 2, -1):
        if -(-n // rows) * rows < -(-n // best) * best:
            best = rows
    return best


def _skinny_plan(problem: Problem, kind: Kind, rows: int, turned: bool = False) -> Plan:
    """B is read once, where it lies."""
    inner = problem.b.row == 1
    size = problem.compute.itemsize
    width = width_of(kind, rows, inner)
    work = max(problem.n * problem.k * problem.source.itemsize / READ, problem.flops / problem.items / TASK)
    columns = _share(problem.n, max(1, min(THREAD_TASKS * _threads(), int(work))), width)
    depth, sums = problem.k, 0
    copied = problem.m * problem.k if _copies_rows(problem, kind) else 0
    if not inner and _is_wide(problem):
        columns = _share(problem.n, max(_threads(), -(-problem.n // max(columns, PAGE_COLUMNS))), width)
        depth, sums = STEPS, -(-problem.m // rows) * rows * columns
    blocks = _Blocks(copied, depth, problem.m, columns, 1, -(-problem.n // columns), Source.DIRECT)
    tasks = problem.items * blocks.column_blocks
    grain = max(1, int(tasks / (work * problem.items)))
    words = _words(problem, blocks, 0)
    kernel = skinny_kernel(kind, rows, inner, turned)
    call = Call(kernel, words, tasks, min(grain, tasks), (copied + sums) * size)
    return Plan([call], flops=problem.flops, traffic=problem.traffic)


def _packed_items(problem: Problem) -> int:
    """How many items of B differ."""
    return problem.items if any(problem.b.item) else 1


def _words(problem: Problem, blocks: _Blocks, packed_size: int) -> Words:
    words = Words()
    m, n, k, batch, a, b, c, *_ = problem
    words.input(a.position, a.geometry)
    item = b.item
    if blocks.source is _SHARED:
        words.workspace()
        if any(item):
            item = batch[1] * batch[2] * packed_size, batch[2] * packed_size, packed_size
    else:
        words.input(b.position, b.geometry)
    words.output(*problem.output)
    follower = problem.follower
    words.constant(m, n, k, a.row, a.column, b.row, b.column, c.row, c.column, *blocks,
                   *batch, *a.item, *item, *c.item)
    if follower is None:
        words.constant(0)
    else:
        words.function(follower.address)
    if follower is not None or c.column != 1:
        words.constant(0)
    else:
        words.constant(_goes_past(problem.items * m, n, c.row, k, blocks.kc, problem.target.itemsize))
    if problem.epilogue is not None:
        problem.epilogue.fill(words)
    if follower is not None:
        follower.fill(words)
    return words


def _packing_words(problem: Problem, panels: int) -> Words:
    words = Words()
    b = problem.b
    words.input(b.position, b.geometry)
    words.workspace()
    words.constant(problem.n, problem.k, b.row, b.column, panels)
    words.constant(*problem.batch, *b.item)
    return words


# --- choosing -----------------------------------------------------------------------------------------------


def _blocks(problem: Problem, tile: Tile) -> _Blocks:
    m, n, k, _, a, b, _, source, target, compute, *_ = problem
    return _Blocks(*_chosen(m, n, k, problem.items, a.row, a.column, b.row, b.column, source.itemsize,
                            source == compute, target == compute, tile, _threads()))


@whole
def _chosen(m: int, n: int, k: int, items: int, a_row: int, a_column: int, b_row: int, b_column: int,
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
        kc = _share(k, -(-k // deepest), lanes)
    flops = 2.0 * items * m * n * k
    worth = flops / TASK if threads > 1 or flops >= SHARED else 1.0
    wanted = min(THREAD_TASKS * threads, max(min(FEW_TASKS, int(worth)), int(worth / 2)))
    wanted = -(-wanted // items) or 1
    direct = plain and b_column == 1 and _columns_in_place(m, n, k, b_row, in_place, size_in_memory)
    shared = not direct and in_place is not _AT_ONCE and items < 4 and wanted > 1 \
        and flops >= (SHARED if m >= n else SHARED_WIDE)
    unit = 4 if tile.rows % 4 == 0 else 2   # tiles of fewer rows cost little more than they compute
    row_blocks = column_blocks = 1
    if wanted > 1:
        costs = PACKING[0] if in_place is _PACKED else IN_PLACE, \
            IN_PLACE if direct else READING if shared else PACKING[1]
        row_blocks, column_blocks = _split(m, n, items, unit, width, wanted, costs, threads)
    rows, columns = _share(m, row_blocks, unit), _share(n, column_blocks, width)
    row_blocks, column_blocks = -(-m // rows), -(-n // columns)
    how = _DIRECT if direct else _SHARED if shared and row_blocks > 1 else _OWN
    # A block of A fills a quarter of the second cache: B's panels and the result pass through it too.
    most = min(TILES, machine().second_cache // 4 // (-(-kc // lanes) * lanes * size) // tile.rows)
    mc = tile.rows
    if most > 1 and in_place is not _AT_ONCE:
        mc = _share(min(rows, m), -(-rows // (most * tile.rows)), tile.rows)
    return mc, kc, rows, columns, row_blocks, column_blocks, how, in_place


def _rows_in_place(m: int, n: int, row: int, column: int, at_once: bool, size: int) -> Rows:
    """Whether A is better read where it lies than packed.

    Rows that are adjacent are, if B is too (``at_once``) and the blocks that tasks read together fit the
    cache. Others are, unless they are so far apart that they drive each other out of the first cache.
    """
    if m <= DIRECT_ROWS:
        return _PACKED
    if row == 1 and at_once:
        return _AT_ONCE if m * n <= IN_PLACE_RESULT else _PACKED
    return _IN_BLOCKS if column == 1 and not _falls_together(row, size) else _PACKED


def _columns_in_place(m: int, n: int, k: int, row: int, rows: Rows, size: int) -> bool:
    """Whether B, whose columns are adjacent, is read where it lies: tasks find it in the second cache."""
    if m <= DIRECT_ROWS:
        return k * abs(row) * size <= PAGES
    if rows is _AT_ONCE:
        return not _falls_together(row, size)
    return rows is _IN_BLOCKS and k * n * size <= IN_PLACE_BLOCK


@whole
def _goes_past(rows: int, columns: int, stride: int, depth: int, kc: int, size: int) -> int:
    """Whether a result is written past the caches, in whole lines: none would be there when it is read."""
    return int(rows * columns * size > LAST_CACHE and kc >= depth and stride * size % LINE == 0)


def _falls_together(stride: int, size: int) -> bool:
    """Whether elements so far apart fall into the same places of the caches, and drive each other out."""
    return stride * size % WAY < LINES_APART


def _threads() -> int:
    return settings.threads


def _share(extent: int, blocks: int, unit: int) -> int:
    """Elements of a block, whole tiles."""
    tiles = -(-extent // unit)
    return -(-tiles // blocks) * unit


def _split(m: int, n: int, items: int, unit: int, width: int, wanted: int, costs: tuple[float, float],
           threads: int) -> tuple[int, int]:
    """Blocks of rows and of columns: ``wanted`` or more where there are so many tiles, at the least cost.

    A is packed, or read, for each block of columns, B for each block of rows. The last block of either may be
    almost empty, and a thread may be idle while others compute the last tasks.
    """
    row_tiles, column_tiles = -(-m // unit), -(-n // width)
    for_a, for_b, all_tiles = costs[0] / n, costs[1] / m, row_tiles * column_tiles
    best, lowest = (1, 1), float("inf")
    for rows in range(1, min(wanted, row_tiles) + 1):
        columns = -(-wanted // rows)
        if columns > column_tiles:
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
