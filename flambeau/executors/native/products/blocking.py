"""Plans of general matrix products: which blocks, which tasks, who packs what."""

from __future__ import annotations

from typing import NamedTuple

from ..llvm.compiling.code import compile_soon
from ..llvm.compiling.machine import machine
from ..llvm.emitter import Dtype
from ..plan import Call, Plan, Words
from ..quantity import least, whole
from .arguments import Kind, Rows, Source
from .beforehand import packing_kernel
from .choosing import (
    PAGES,
    TASK,
    THREAD_TASKS,
    chosen,
    falls_together,
    get_threads,
    packs_past,
    product_goes_past,
    share,
)
from .dot import CHUNK, dot_kernels
from .epilogue import ITEM, Arguments
from .following import Follower
from .gemm import product_kernel
from .microkernel import Tile
from .skinny import ROWS_AHEAD, WIDTHS, skinny_kernel, width_of
from .tiny import SCALARS, Across, rows_at_once, tiny_kernel

PACKED = 1 << 14        # elements of B that a task packs beforehand, at least: 2 microseconds
PANELS = 8              # of a large B side by side, where there are enough for all threads
READ = 1 << 18          # bytes of B worth a task where there are few rows
INNER_ROWS = 16         # up to so many rows, B is read where it lies: adjacent along the depth
INNER_DEPTH = 192       # of at least this size
OUTER_ROWS = 4          # or along the columns
PAGE_COLUMNS = 1024     # where B is wide, a task has whole pages
TINY = 64               # rows, columns and depth of tiny matrices, at most, of which there are
MANY = 32               # so many at least;
TURNED_ROWS = 4         # rows for which a copy of B pays;
FEW_COLUMNS = 4         # from so many columns on a vector of them pays,
FEW_STEPS = 192         # and from so many multiply-adds on one of the depth
SCALAR = 16             # how much longer an operation takes that is not one of a whole vector
STORING = 8             # what an element of a result of few columns costs beside its sum, in multiply-adds
COPYING = 2             # of a vector, and what copying one that is multiplied with many does;
BROADCASTING = 0.25     # how much more a multiply-add costs that reads an element for a single vector

# Looking up a member of an enumeration takes as long as several comparisons.
_DIRECT, _SHARED = Source.DIRECT, Source.SHARED


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


_NO_BLOCKS = _Blocks(0, 0, 0, 0, 1, 1, _DIRECT)


def product_plan(problem: Problem) -> Plan:
    """The plan of a product."""
    m, n, k, _, a, b, _, source, target, compute, epilogue, follower, _ = problem
    items, flops = problem.items, problem.flops
    single = m == 1 and n == 1 and items == 1      # m == n would ask for more than is needed (Note: formulas)
    if single and epilogue is None and follower is None and a.column == b.row == 1:
        return _dot_plan(problem)
    kind = Kind(source, target, compute, None if epilogue is None else epilogue.code)
    if items >= MANY and m <= TINY and n <= TINY and k <= TINY and epilogue is None \
            and (row := _tiny_row(problem, kind)) is not None:
        return _tiny_plan(problem, kind, row)
    _compile_beside(problem, kind)
    if m <= INNER_ROWS and m <= _few_rows(problem):
        return _skinny_plan(problem, kind, 4 if m > 2 else 2 if m == 2 else 1)
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
    room = panels_packed * width * depth * size
    past = packs_past(room, b.column)
    packing = Call(packing_kernel(source, compute, kind.pairs), _packing_words(problem, panels, past),
                   panels_packed, _packing_grain(panels_packed, width * k, past))
    return Plan([packing, product], workspace=room, flops=flops, traffic=traffic)


@whole
def _packing_grain(panels: int, size: int, past: int) -> int:
    """How many panels are packed at once."""
    return max(1, PACKED // size, min(PANELS, panels // (THREAD_TASKS * get_threads())) if past else 1)


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


def _tiny_row(problem: Problem, kind: Kind) -> int | Across | None:
    """What a row of a tiny result is; None where another kernel is better."""
    m, n, lanes = problem.m, problem.n, kind.tile.lanes
    turned = bool(problem.b.column != 1)
    if n < FEW_COLUMNS or problem.c.column != 1 or (turned and m < TURNED_ROWS):
        return _exactly(n) if m * n <= SCALARS and m * n * problem.k <= FEW_STEPS else None
    while lanes >= 2 * n:
        lanes //= 2
    vectors = next(count for count in range(1, TINY + 1) if n <= count * lanes)
    return Across(lanes, vectors, bool(vectors == 1 and n == lanes), turned)


def _exactly(extent: int) -> int:
    """A small extent that is in the code (Note: formulas)."""
    return next(n for n in range(1, SCALARS + 1) if n == extent)


def _tiny_plan(problem: Problem, kind: Kind, row: int | Across) -> Plan:
    """Many items of few elements each."""
    words = _words(problem, _NO_BLOCKS, 0)
    items, flops = problem.items, problem.flops
    if isinstance(row, Across):
        rows, slower, depth = rows_at_once(problem.m, row.vectors), SCALAR / row.lanes, 0
        if row.turned:
            depth = -(-problem.k // row.lanes) * row.lanes
        scratch = depth * row.vectors * row.lanes * problem.compute.itemsize
    else:
        rows, slower, scratch = _exactly(problem.m), SCALAR, 0
    call = Call(tiny_kernel(kind, rows, row), words, items, _grain(items, flops * slower), scratch)
    return Plan([call], flops=flops, traffic=problem.traffic)


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
    return step != 1 and (problem.b.row == 1 or falls_together(step, kind.source.itemsize))


def _columns_at_once(n: int, lanes: int) -> int:
    """How many of so few columns are computed at once; sums of their lanes fill a vector at most."""
    if n <= 2:
        return 2
    best = most = min(max(WIDTHS[machine().registers]), lanes)
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
    columns = _skinny_columns(problem.n, work, width)
    depth, sums = problem.k, 0
    copied = problem.m * problem.k if _copies_rows(problem, kind) else 0
    if not inner and _is_wide(problem):
        columns = share(problem.n, max(get_threads(), -(-problem.n // max(columns, PAGE_COLUMNS))), width)
        depth, sums = ROWS_AHEAD, -(-problem.m // rows) * rows * columns
    blocks = _Blocks(copied, depth, problem.m, columns, 1, -(-problem.n // columns), Source.DIRECT)
    tasks = problem.items * blocks.column_blocks
    grain = _skinny_grain(tasks, work * problem.items)
    words = _words(problem, blocks, 0)
    kernel = skinny_kernel(kind, rows, inner, turned)
    call = Call(kernel, words, tasks, grain, (copied + sums) * size)
    return Plan([call], flops=problem.flops, traffic=problem.traffic)


@whole
def _skinny_columns(n: int, work: float, width: int) -> int:
    """The columns of a task, as many tasks as there is work for."""
    return share(n, max(1, min(THREAD_TASKS * get_threads(), int(work))), width)


@whole
def _skinny_grain(tasks: int, work: float) -> int:
    """How many tasks are taken at once."""
    return min(tasks, max(1, int(tasks / work)))


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
        words.constant(product_goes_past(problem.items * m, n, c.row, k, blocks.kc, problem.target.itemsize))
    if problem.epilogue is not None:
        problem.epilogue.fill(words)
    if follower is not None:
        follower.fill(words)
    return words


def _packing_words(problem: Problem, panels: int, past: int) -> Words:
    words = Words()
    b = problem.b
    words.input(b.position, b.geometry)
    words.workspace()
    words.constant(problem.n, problem.k, b.row, b.column, panels)
    words.constant(*problem.batch, *b.item, past)
    return words


def _blocks(problem: Problem, tile: Tile) -> _Blocks:
    m, n, k, _, a, b, _, source, target, compute, *_ = problem
    return _Blocks(*chosen(m, n, k, problem.items, a.row, a.column, b.row, b.column, source.itemsize,
                          source == compute, target == compute, tile, get_threads()))
