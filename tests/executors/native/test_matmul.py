"""Matrix products give what the interpreter gives, in any shape, layout and number of threads."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, config

pytest.importorskip("llvmlite")

from flambeau.executors.native.llvm.compiling.machine import machine
from flambeau.executors.native.llvm.emitter import FLOAT32
from flambeau.executors.native.plan import Words
from flambeau.executors.native.products import blocking, choosing, microkernel, skinny
from flambeau.executors.native.products.arguments import Rows
from flambeau.executors.native.products.microkernel import Tile
from flambeau.executors.native.templates.products import matmul
from tests.executors.native.agreement import TEXTS, check, forget, results, value

F = flambeau.nn.functional
TOLERANCES = {flambeau.float32: 2e-4, flambeau.float64: 1e-12, flambeau.bfloat16: 2e-2,
              flambeau.float16: 2e-3}

# (m, n, k): tiny, tails of tiles, few rows, few columns, one of them 1, blocks of the depth, several tasks.
SHAPES = [(1, 1, 1), (7, 1, 33), (1, 100, 65), (2, 77, 200), (3, 50, 17), (4, 130, 64), (6, 31, 300),
          (12, 32, 16), (13, 33, 17), (5, 100, 64), (33, 10, 64), (16, 66, 333), (48, 17, 3), (130, 70, 900),
          (100, 64, 1700)]
LARGE = [(300, 260, 400), (20, 700, 500)]


def matrix(m: int, n: int, dtype: Any = flambeau.float32) -> Tensor:
    """A computed matrix."""
    x = flambeau.randn(m, n).to(dtype)
    flambeau.synchronize()
    return x


LAYOUTS: dict[str, Callable[[int, int, Any], Tensor]] = {
    "rows": matrix,
    "columns": lambda m, n, dtype: matrix(n, m, dtype).t(),
    "apart": lambda m, n, dtype: matrix(2 * m, 3 * n + 1, dtype)[1::2, 1::3],
    "equal": lambda m, n, dtype: matrix(m, 1, dtype).expand(m, n),
}


@pytest.fixture(autouse=True)
def _seeded() -> None:
    flambeau.manual_seed(0)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: tuple[int, int, int], dtype: Any) -> None:
    m, n, k = shape
    check(flambeau.mm, (matrix(m, k, dtype), matrix(k, n, dtype)), "mm", TOLERANCES[dtype])
    check(flambeau.mm, (matrix(m, k, dtype), matrix(n, k, dtype).t()), "mm", TOLERANCES[dtype])


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("shape", [(3, 40, 35), (25, 37, 50), (25, 37, 81)])
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.bfloat16])
def test_layouts(shape: tuple[int, int, int], left: str, right: str, dtype: Any) -> None:
    m, n, k = shape
    a, b = LAYOUTS[left](m, k, dtype), LAYOUTS[right](k, n, dtype)
    check(flambeau.mm, (a, b), "mm", TOLERANCES[dtype])


@pytest.mark.parametrize("shape", LARGE)
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.bfloat16])
def test_large(shape: tuple[int, int, int], dtype: Any) -> None:
    m, n, k = shape
    check(F.linear, (matrix(m, k, dtype), matrix(n, k, dtype), matrix(1, n, dtype)[0]), "linear",
          TOLERANCES[dtype])


@pytest.mark.parametrize("shape", [(300, 260, 400), (100, 90, 3000), (41, 10, 1700), (53, 200, 3),
                                   (40, 1024, 500), (128, 1040, 300)])
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64])
@pytest.mark.parametrize("beta", [0, 0.5])
def test_both_read_in_place(shape: tuple[int, int, int], dtype: Any, beta: float) -> None:
    m, n, k = shape
    a, b, c = matrix(k, m, dtype).t(), matrix(k, n, dtype), matrix(m, n, dtype)
    check(lambda a, b, c: flambeau.addmm(c, a, b, beta=beta), (a, b, c), "addmm",
          10 * TOLERANCES[dtype])


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_few_rows_of_a_large_matrix(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums are kept between blocks of the depth."""
    monkeypatch.setattr(blocking, "PAGES", 0)
    for dtype in (flambeau.float32, flambeau.bfloat16):
        check(flambeau.mm, (matrix(rows, 75, dtype), matrix(75, 333, dtype)), "mm", TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_results_written_past_the_caches(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rows begin at lines, those that are whole tiles; where not, none."""
    monkeypatch.setattr(choosing, "LAST_CACHE", 0)
    for m, n, k in ((100, 192, 40), (37, 64, 3), (30, 75, 20), (64, 128, 1500)):
        x, w, b = matrix(m, k, dtype), matrix(n, k, dtype), matrix(1, n, dtype)[0]
        check(F.linear, (x, w, b), "linear", TOLERANCES[dtype])
        check(F.linear, (x, w), "linear", TOLERANCES[dtype])
    check(flambeau.bmm, (batch(5, 40, 24), batch(5, 24, 64)), "bmm", 1e-4)
    with config.executor("native"):
        a, b, whole = matrix(40, 24), matrix(24, 64), flambeau.zeros(41, 64).reshape(-1)
        target = whole[5:5 + 40 * 64].view(40, 64)      # begins within a line
        flambeau.mm(a, b, out=target)
        assert abs(value(target) - value(a) @ value(b)).max() < 1e-4


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_panels_packed_past_the_caches(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few panels at once, a few steps of the depth at a time."""
    for name in ("LAST_CACHE", "SHARED", "SHARED_WIDE"):
        monkeypatch.setattr(choosing, name, 0)
    monkeypatch.setattr(choosing, "TASK", 1e3)
    found: list[int] = []
    words = blocking._packing_words

    def noted(problem: blocking.Problem, panels: int, past: int) -> Words:
        found.append(past)
        return words(problem, panels, past)

    monkeypatch.setattr(blocking, "_packing_words", noted)
    for m, n, k in ((100, 700, 75), (61, 610, 8), (120, 90, 3), (97, 333, 1030)):
        check(flambeau.mm, (matrix(m, k, dtype), matrix(k, n, dtype)), "mm", TOLERANCES[dtype])
    check(flambeau.bmm, (batch(3, 100, 24), batch(3, 24, 330)), "bmm", 1e-4)
    assert {*found} == {1}
    found.clear()
    check(flambeau.mm, (matrix(60, 40, dtype), matrix(90, 40, dtype).t()), "mm", TOLERANCES[dtype])
    assert found == [0]


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_few_columns(left: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transposed product, which has few rows, is computed."""
    monkeypatch.setattr(blocking, "BROADCASTING", 1e6)
    for m, n, k in ((20, 2, 33), (70, 3, 64), (37, 4, 130), (150, 5, 7), (41, 6, 33), (29, 7, 50),
                    (31, 8, 64), (19, 9, 50), (53, 10, 70), (83, 16, 40)):
        a, summand = LAYOUTS[left](m, k, dtype), matrix(m, n, dtype)
        for b in (matrix(k, n, dtype), matrix(n, k, dtype).t()):
            check(flambeau.mm, (a, b), "mm", TOLERANCES[dtype])
            check(lambda *x: flambeau.addmm(*x, beta=0.5), (summand, a, b), "addmm", TOLERANCES[dtype])
        check(F.linear, (a, matrix(n, k, dtype), matrix(1, n, dtype)[0]), "linear", TOLERANCES[dtype])


def test_few_columns_in_batches_and_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "BROADCASTING", 1e6)
    for case in ("broadcast both", "heads", "columns of one"):
        check(flambeau.matmul, BATCHES[case](), "matmul", 1e-4)
    check(flambeau.bmm, (batch(3, 50, 20), batch(3, 20, 6)), "bmm", 1e-4)
    x, w, b, y = matrix(75, 40), matrix(7, 40), matrix(1, 7)[0], matrix(75, 7)
    for rows in (x, matrix(40, 75).t()):
        want, found = (results(lambda *z: F.linear(*z[:3]).relu() * z[3], (rows, w, b, y), tier)[0][1]
                       for tier in ("interpreter", "native"))
        assert abs(want - found).max() < 1e-4


@pytest.mark.parametrize("left", ["rows", "columns"])
@pytest.mark.parametrize("steps", [300, 20_000])
def test_few_columns_of_a_large_matrix(left: str, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are asked for ahead, and sums kept between blocks of the depth."""
    monkeypatch.setattr(blocking, "PAGES", 1 << 16)
    a, b = LAYOUTS[left](90, steps, flambeau.float64), matrix(steps, 10, flambeau.float64)
    check(flambeau.mm, (a, b), "mm", 1e-10)


def test_linear_folds_its_batch() -> None:
    w, b = matrix(19, 24), matrix(1, 19)[0]
    rows = matrix(30, 24)
    for x in (rows[0], rows.reshape(2, 3, 5, 24), rows.reshape(5, 6, 24).transpose(0, 1)):
        check(F.linear, (x, w, b), "linear", 1e-4)
        check(F.linear, (x, w), "linear", 1e-4)
    check(F.linear, (matrix(5, 24), w, matrix(5, 1)), "linear", 1e-4)


def test_the_longer_axis_is_that_of_rows() -> None:
    w, b = matrix(40, 24), matrix(1, 40)[0]
    for lead in ((50, 3), (3, 50)):
        check(F.linear, (batch(*lead, 24).transpose(0, 1), w, b), "linear", 1e-4)
        axes = [matmul.Axis(lead[1], 24, 0, lead[0] * 40), matmul.Axis(lead[0], lead[1] * 24, 0, 40)]
        others, row, _ = matmul._merged(axes[:1], axes[1], matmul.Axis(40, 0, 24, 1))
        assert (row.extent, [axis.extent for axis in others]) == (50, [3])


def batch(*shape: int) -> Tensor:
    x = flambeau.randn(*shape)
    flambeau.synchronize()
    return x


BATCHES = {
    "plain": lambda: (batch(6, 13, 17), batch(6, 17, 33)),
    "transposed": lambda: (batch(6, 17, 13).transpose(1, 2), batch(6, 33, 17).transpose(1, 2)),
    "broadcast left": lambda: (batch(13, 17), batch(6, 17, 33)),
    "broadcast right": lambda: (batch(2, 6, 13, 17), batch(17, 33)),
    "broadcast both": lambda: (batch(2, 1, 13, 17), batch(3, 17, 5)),
    "heads": lambda: (batch(2, 13, 3, 8).transpose(1, 2), batch(2, 9, 3, 8).permute(0, 2, 3, 1)),
    "rows of one": lambda: (batch(4, 3, 1, 40), batch(4, 3, 40, 21)),
    "columns of one": lambda: (batch(4, 3, 21, 40), batch(4, 3, 40, 1)),
    "four": lambda: (batch(2, 1, 2, 3, 5, 4), batch(1, 3, 1, 3, 4, 6)),
}


@pytest.mark.parametrize("case", [name for name in BATCHES if name != "four"])
def test_batches(case: str) -> None:
    check(flambeau.matmul, BATCHES[case](), "matmul", 1e-4)


def test_batches_of_many_dimensions_are_right() -> None:
    a, b = BATCHES["four"]()
    want, found = (results(flambeau.matmul, (a, b), tier)[0][1] for tier in ("interpreter", "native"))
    assert abs(want - found).max() < 1e-5


@pytest.mark.parametrize("numbers", [(1, 1), (0.5, 2), (0, 3), (1, -1)])
def test_summands(numbers: tuple[float, float]) -> None:
    beta, alpha = numbers
    a, b, batched = matrix(15, 20), matrix(20, 37), (batch(4, 15, 20), batch(4, 20, 37))
    for summand in (matrix(15, 37), matrix(37, 15).t(), matrix(1, 37), matrix(15, 1), a[0, 0]):
        check(lambda *x: flambeau.addmm(*x, beta=beta, alpha=alpha), (summand, a, b), "addmm", 1e-4)
        check(lambda *x: flambeau.baddbmm(*x, beta=beta, alpha=alpha), (summand, *batched), "baddbmm", 1e-4)
    for summand in (matrix(1, 15)[0], matrix(1, 1)[0]):
        check(lambda *x: flambeau.addmv(*x, beta=beta, alpha=alpha), (summand, a, b[:, 0]), "addmv", 1e-4)
    check(lambda *x: flambeau.addr(*x, beta=beta, alpha=alpha), (matrix(15, 37), a[:, 0], b[0]), "addr", 1e-5)


def test_vectors() -> None:
    a, x = matrix(70, 131), matrix(131, 1)[:, 0]
    check(flambeau.mv, (a, x), "mv", 1e-4)
    check(flambeau.mv, (matrix(131, 70).t(), x), "mv", 1e-4)
    check(flambeau.mv, (a, matrix(131, 3)[:, 1]), "mv", 1e-4)
    for n in (1, 7, 33, 5000, 200_001):
        long = matrix(1, n)[0]
        check(flambeau.dot, (long, matrix(1, n)[0]), "dot", 1e-3)
    check(flambeau.dot, (x, matrix(131, 2)[:, 1]), "dot", 1e-4)


def test_what_is_not_a_number_stays() -> None:
    a, b = matrix(14, 20), matrix(20, 35)
    a[3, 4], a[7, 1], b[5, 6] = float("nan"), float("inf"), float("-inf")
    check(flambeau.mm, (a, b), "mm", 1e-4)
    summand = flambeau.full((35,), float("nan"))
    check(lambda s, a, b: flambeau.addmm(s, a, b, beta=0), (summand, a, b), "addmm", 1e-4)


def test_results_can_be_transposed() -> None:
    """Where the target's rows are adjacent the transposed product is computed."""
    a, b = matrix(30, 20), matrix(20, 40)
    target = flambeau.empty(40, 30).t()
    with config.executor("native"):
        flambeau.mm(a, b, out=target)
        expected = value(a) @ value(b)
    assert abs(value(target) - expected).max() < 1e-4


def test_integers_are_interpreted() -> None:
    x = flambeau.arange(12).reshape(3, 4)
    with config.executor("native"):
        assert flambeau.mm(x, x.t()).tolist() == (x.numpy() @ x.numpy().T).tolist()


def test_another_shape_compiles_nothing() -> None:
    def run(m: int, n: int, k: int) -> None:
        with config.executor("native"):
            x = F.linear(matrix(m, k), matrix(n, k), matrix(1, n)[0])
            y = flambeau.mm(matrix(n, m), x)
            flambeau.synchronize()
            del x, y

    with config.executor("native"):
        matrix(1, 9)    # a few numbers are drawn by a kernel of their own
    for shape in ((20, 40, 60), (1, 40, 60), (2, 40, 60), (3, 40, 60), (300, 300, 300)):
        run(*shape)
    before = len(TEXTS)
    for shape in ((21, 43, 67), (1, 77, 33), (2, 33, 200), (4, 9, 30), (290, 310, 500), (64, 64, 2000)):
        run(*shape)
    assert len(TEXTS) == before


@pytest.mark.parametrize("shape", [(250, 310, 900), (100, 300, 200), (3, 900, 500), (50, 1024, 600)])
@pytest.mark.parametrize("transposed", [False, True])
def test_threads_do_not_change_a_bit(shape: tuple[int, int, int], transposed: bool) -> None:
    m, n, k = shape
    a, b = matrix(k, m).t() if transposed else matrix(m, k), matrix(k, n)
    found = []
    for threads in (1, 2, 3):
        before = flambeau.get_num_threads()
        flambeau.set_num_threads(threads)
        try:
            forget()
            found.append(results(flambeau.mm, (a, b), "native")[0][1].tobytes())
        finally:
            flambeau.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_few_rows_compile_nothing_after_other_numbers_of_rows() -> None:
    weight = matrix(24, 256)
    skinny.skinny_kernel.cache_clear()      # type: ignore[attr-defined]
    blocking._rows.clear()
    asked = []
    for rows in (40, 40, 50, 10, 16, 5):
        with config.executor("native"):
            F.linear(matrix(rows, 256), weight).sum().item()
        asked.append(skinny.skinny_kernel.cache_info().misses)      # type: ignore[attr-defined]
    assert asked == [0, 0, 1, 1, 1, 1]


def test_blocks_cover_the_result() -> None:
    tile = microkernel.tile_of()
    for m, n, k in [(1024, 1024, 1024), (64, 5000, 300), (5000, 64, 300), (4096, 4096, 64), (128, 512, 784)]:
        a, b = blocking.Matrix(0, None, k, 1), blocking.Matrix(1, None, n, 1)
        problem = blocking.Problem(m, n, k, (1, 1, 1), a, b, blocking.Target(n, 1), FLOAT32, FLOAT32, FLOAT32)
        blocks = blocking._blocks(problem, tile)
        assert blocks.rows * blocks.row_blocks >= m and blocks.columns * blocks.column_blocks >= n
        assert blocks.rows % 2 == 0 and blocks.columns % tile.columns == 0
        assert blocks.mc % tile.rows == 0
        assert blocks.row_blocks * blocks.column_blocks > 1


@pytest.mark.parametrize("threads", [1, 2])
def test_few_blocks_of_rows_meet_a_large_matrix(threads: int) -> None:
    """For each of them all of B comes from beyond the second cache."""
    tile = microkernel.tile_of()
    for m, n, k in [(2048, 2048, 2048), (4096, 4096, 4096), (4096, 1024, 1024), (512, 4096, 4096)]:
        blocks = blocking._Blocks(*choosing.chosen(m, n, k, 1, k, 1, n, 1, 4, True, True, tile, threads))
        assert blocks.row_blocks * -(-blocks.rows // blocks.mc) * 5 * tile.rows <= m


def test_other_processors() -> None:
    """The same tests with AVX2 code, in a process of its own."""
    if os.environ.get("FLAMBEAU_CPU") or sys.platform == "darwin" or os.uname().machine != "x86_64":
        pytest.skip("runs where this process' code is AVX-512 or AVX2")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__, "-k",
               "shapes and dtype0 or equal-apart and dtype0 or heads or few_columns"]
    subprocess.run(command, check=True, env={**os.environ, "FLAMBEAU_CPU": "haswell"}, capture_output=True)


@pytest.mark.parametrize("wanted", [2, 8, 32, 33, 64])
def test_there_are_as_many_tasks_as_wanted(wanted: int) -> None:
    """If there are so many tiles; and never more than about twice as many."""
    for m, n, costs in itertools.product((4, 12, 50, 300, 2048, 60000), (10, 64, 100, 1000, 4096),
                                         ((6.0, 4.0), (3.0, 0.3))):
        row_tiles, column_tiles = -(-m // 4), -(-n // 32)
        rows, columns = choosing._split(m, n, 1, 4, 32, wanted, costs, 2)
        assert rows <= row_tiles and columns <= column_tiles
        least = min(wanted, row_tiles) if column_tiles == 1 else min(wanted, row_tiles * column_tiles) / 2
        assert least <= rows * columns < 2 * wanted


def test_rows_that_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small results are few tasks, so lines are not read again and again; narrow tiles want them nearby."""
    def blocks(m: int, n: int, vector: int, rows: int) -> tuple[Rows, int]:
        host = machine()._replace(vector=vector)
        monkeypatch.setattr(choosing, "machine", lambda: host)
        found = choosing.chosen(m, n, 1760, 1, 1, m, n, 1, 4, True, True, Tile(rows, 2, vector // 4), 2)
        return found[7], found[4] * found[5]

    for vector, rows in ((64, 12), (32, 6)):
        how, tasks = blocks(128, 128, vector, rows)
        assert how is Rows.AT_ONCE and tasks < 2 * choosing.THREAD_TASKS * 2
    assert blocks(512, 512, 64, 12)[0] is Rows.AT_ONCE
    assert blocks(512, 512, 32, 6)[0] is Rows.PACKED
