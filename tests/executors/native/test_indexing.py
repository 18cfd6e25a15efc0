"""Reads and writes by index give what the interpreter gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, config

pytest.importorskip("llvmlite")

from flambeau.executors.native.movement import spaces
from tests.executors.native.agreement import check, check_threads, compiled, forget

SHAPES = [(1,), (9,), (17, 33), (40, 64), (3, 5, 7), (6, 1, 16)]
DTYPES = [flambeau.float32, flambeau.int64, flambeau.bfloat16, flambeau.bool]


def numbers(*shape: int, dtype: Any = flambeau.float32) -> Tensor:
    """Small whole numbers, whose sums are exact in any order."""
    count = flambeau.Size(shape).numel()
    x = (flambeau.arange(count) * 7 % 61 - (0 if dtype is flambeau.uint8 else 30)).to(dtype).reshape(shape)
    flambeau.synchronize()
    return x


def positions(low: int, high: int, *shape: int, dtype: Any = flambeau.int64) -> Tensor:
    """Indices, some of them repeated."""
    flambeau.manual_seed(3)
    index = flambeau.randint(low, high, shape, dtype=dtype)
    flambeau.synchronize()
    return index


def reversed_dims(x: Tensor) -> Tensor:
    return x.permute(*reversed(range(x.ndim)))


def gradient(function: Callable[..., Tensor]) -> Callable[..., Any]:
    """The function's gradient by its first operand."""
    def differentiated(x: Tensor, *rest: Any) -> Any:
        leaf = x.detach().requires_grad_()
        y = function(leaf, *rest)
        weights = (flambeau.arange(y.numel()) % 5).to(y.dtype).reshape(y.shape)
        return flambeau.autograd.grad(y, leaf, weights)
    return differentiated


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_along_a_dimension(shape: tuple[int, ...]) -> None:
    for dtype in DTYPES:
        x = numbers(*shape, dtype=dtype)
        for d, n in enumerate(shape):
            fewer = [max(m - 1, 1) for m in shape]
            fewer[d] = 5
            index = positions(0, n, *fewer, dtype=flambeau.int32 if d else flambeau.int64)
            src = numbers(*[m + 1 for m in fewer], dtype=dtype)
            check(lambda x, i, d=d: flambeau.gather(x, d, i), [x, index], "gather")
            check(lambda x, i, d=d: flambeau.gather(reversed_dims(x), x.ndim - 1 - d, reversed_dims(i)),
                  [x, index], "gather")
            check(lambda x, i, s, d=d: (x & x).scatter(d, i, s) if x.dtype is flambeau.bool
                  else (x + 0).scatter(d, i, s), [x, index, src], "scatter")
            check(lambda x, i, d=d: (x * 1).scatter(d, i, 1), [x, index], "scatter")
            if dtype in DTYPES[:2]:
                check(lambda x, i, s, d=d: (x * 1).scatter_add(d, i, s), [x, index, src], "scatter_add")
                check(lambda x, i, s, d=d: x.scatter(d, i, s, reduce="multiply"), [x, index, src], "scatter")
                narrow = flambeau.bfloat16 if d else flambeau.float16
                for reduce in ("sum", "prod", "amax", "amin"):
                    for of in ([x, index, src], [x.to(narrow), index, src.to(narrow)]):
                        check(lambda x, i, s, d=d, r=reduce: [x.scatter_reduce(d, i, s, r, include_self=own)
                                                              for own in (True, False)], of,
                              "scatter_reduce", 1e-6)
            if dtype is flambeau.float32:
                check(gradient(lambda x, i, d=d: x.gather(d, i)), [x, index], "gather_backward")
                check(gradient(lambda x, d=d: x.max(d).values), [x], "value_selecting_reduction")


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.bfloat16], ids=str)
def test_means_of_what_is_scattered(dtype: Any) -> None:
    """By an index, by one that is expanded to all of a dimension, and to a part of it."""
    for shape, fewer, d in (((6, 7), (9, 7), 0), ((6, 7), (6, 20), 1), ((3, 4, 5), (3, 9, 5), 1),
                            ((8,), (30,), 0)):
        x, src = numbers(*shape).to(dtype), numbers(*fewer).to(dtype)
        one = positions(0, shape[d], *[n if k == d else 1 for k, n in enumerate(fewer)])
        for index in (positions(0, shape[d], *fewer), one.expand(fewer),
                      one.expand([n if k == d else max(n - 1, 1) for k, n in enumerate(fewer)])):
            for own in (True, False):
                check(lambda x, i, s, d=d, own=own: x.scatter_reduce(d, i, s, "mean", include_self=own),
                      [x, index, src], "scatter_means", 1e-6)
    check_threads(lambda x, i, s: x.scatter_reduce(0, i, s, "mean"),
                  [numbers(200, 64), positions(0, 200, 9000, 1).expand(9000, 64), numbers(9000, 64)])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_vectors_along_a_dimension(shape: tuple[int, ...]) -> None:
    for dtype in DTYPES:
        x = numbers(*shape, dtype=dtype)
        for d, n in enumerate(shape):
            index = positions(0, n, 6)
            source = numbers(*shape[:d], 6, *shape[d + 1:], dtype=dtype)
            check(lambda x, i, d=d: x.index_select(d, i), [x, index], "index_select")
            check(lambda x, i, d=d: reversed_dims(x).index_select(x.ndim - 1 - d, i), [x, index[::2]],
                  "index_select")
            check(lambda x, i, s, d=d: x.index_copy(d, i, s), [x, index, source], "index_copy")
            check(lambda x, i, d=d: x.index_fill(d, i - 1, 1), [x, index], "index_fill")
            if dtype in DTYPES[:2]:
                check(lambda x, i, s, d=d: (x * 2).index_add(d, i, s, alpha=3), [x, index, source],
                      "index_add")
            if dtype is flambeau.float32:
                check(gradient(lambda x, i, d=d: x.index_select(d, i)), [x, index], "index_select_backward")


SUBSCRIPTS: list[Callable[[Tensor, Tensor], Any]] = [
    lambda x, i: x[i % x.shape[0]],
    lambda x, i: x[-1 - i % x.shape[0]],
    lambda x, i: x[..., i % x.shape[-1]],
    lambda x, i: x[:, i % x.shape[1]] if x.ndim > 1 else None,
    lambda x, i: x[i % x.shape[0], i % x.shape[1]] if x.ndim > 1 else None,
    lambda x, i: x[i % x.shape[0], :, i % x.shape[2]] if x.ndim > 2 else None,
    lambda x, i: x[(i % x.shape[0])[:, None], i % x.shape[1]] if x.ndim > 1 else None,
    lambda x, i: x.t()[i % x.shape[1]] if x.ndim == 2 else None,
    lambda x, i: x[:, i % x.shape[1], (i % x.shape[2])[:, None]] if x.ndim > 2 else None,
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_subscripts(shape: tuple[int, ...]) -> None:
    index = positions(0, 1000, 8)
    for read in SUBSCRIPTS:
        for dtype in DTYPES[:3]:
            x = numbers(*shape, dtype=dtype)
            if read(x, index) is None:
                continue
            check(read, [x, index], "index")
            if dtype is flambeau.float32:
                check(gradient(read), [x, index], "index_backward")


KEYS: list[Callable[[Tensor, Tensor], Any]] = [
    lambda x, i: (i % x.shape[0],),
    lambda x, i: (i % x.shape[0], -1 - i % x.shape[1]) if x.ndim > 1 else (),
    lambda x, i: (None, i % x.shape[1]) if x.ndim > 1 else (),
    lambda x, i: (i % x.shape[0], None, (i % x.shape[2])[:, None]) if x.ndim > 2 else (),
]


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_writes(shape: tuple[int, ...], accumulate: bool) -> None:
    index = positions(0, 1000, 8)
    x = numbers(*shape)
    for key in KEYS:
        if not key(x, index):
            continue
        found = x[tuple([slice(None) if i is None else i for i in key(x, index)])]
        for values in (numbers(*found.shape), numbers(*found.shape[-1:]), numbers(1)):
            check(lambda x, i, v, key=key: written(x * 1, key(x, i), v, accumulate), [x, index, values],
                  "index_put")


def written(x: Tensor, key: Any, values: Tensor, accumulate: bool) -> Tensor:
    """``index_put``, which takes no None; there, whole dimensions are written to by an assignment."""
    if all(k is not None for k in key):
        return x.index_put(key, values, accumulate)
    place = tuple([slice(None) if k is None else k for k in key])
    x[place] = x[place] + values if accumulate else values
    return x


def test_what_is_read_after_a_write_is_what_was_written() -> None:
    """The operand of a write that others read, too, and a result that only a kernel reads."""
    x, index = numbers(9), positions(0, 9, 3)
    check(lambda x, i: (x - x.index_fill(0, i, 50)).sum(), [x, index], "index_fill")
    check(lambda x, i: ((x + 1) - (x + 1).index_copy(0, i, x[:3])).sum() + x.sum(), [x, index], "index_copy")


def test_flattened() -> None:
    x = numbers(7, 9)
    index = positions(-63, 63, 4, 5)
    check(lambda x, i: x.take(i), [x, index], "take")
    check(gradient(lambda x, i: x.take(i)), [x, index], "take_backward")
    for accumulate in (False, True):
        check(lambda x, i, v, a=accumulate: (x * 1).put(i, v, a), [x, index, numbers(4, 5)], "put")


def test_rows_of_a_table() -> None:
    F = flambeau.nn.functional
    table = numbers(20, 9)
    for shape in ((1,), (7,), (3, 5), (64,)):
        index = positions(0, 20, *shape)
        for view in (lambda t: t, lambda t: t.t().contiguous().t(), lambda t: t[:, 2:]):
            check(lambda t, i, view=view: F.embedding(i, view(t)), [table, index], "embedding")
        for padding in (None, 3, int(index.reshape(-1)[0])):
            check(gradient(lambda t, i, p=padding: F.embedding(i, t, p)), [table, index],
                  "embedding_dense_backward")


def test_choices() -> None:
    for shape in SHAPES:
        for dtype in DTYPES:
            x, mask = numbers(*shape, dtype=dtype), numbers(*shape) > 3
            for view in (lambda v: v, reversed_dims, lambda v: v[..., :1], lambda v: v[:1]):
                check(lambda x, m, view=view: flambeau.where(view(m), x, x[:1]) if view(m).ndim == x.ndim
                      and view is not reversed_dims else flambeau.where(view(m), view(x), view(x).flip(0)),
                      [x, mask], "where")
            zero = False if dtype is flambeau.bool else 0
            check(lambda x, m, z=zero: flambeau.where(m, x[-1:], z), [x, mask], "where")
            check(lambda x, m: [x.masked_fill(m, 1), x.masked_fill(m[..., :1], 0)], [x, mask], "masked_fill")
            check(lambda x, m: x.masked_fill(m, x.reshape(-1)[0]), [x, mask], "masked_fill")


@pytest.mark.parametrize("bad", [10, -11, 1 << 40])
def test_bad_indices(bad: int) -> None:
    x = numbers(10, 3)
    calls: list[Callable[[Tensor], Tensor]] = [
        lambda i: x.index_select(0, i), lambda i: x[i], lambda i: x.gather(0, i[:, None]),
        lambda i: (x * 1).scatter(0, i[:, None], 1.0), lambda i: (x * 1).index_add(0, i, numbers(5, 3)),
        lambda i: (x * 1).index_put((i,), numbers(3))]
    for call in calls:
        errors = []
        for tier in ("interpreter", "native"):
            with config.executor(tier):
                index = flambeau.where(flambeau.arange(5) == 3, bad, 2)
                with pytest.raises((IndexError, RuntimeError)) as raised:
                    call(index).numpy()
                errors.append((raised.type, str(raised.value).split("\n")[0]))
        assert errors[0] == errors[1]


def test_tasks_do_not_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spaces, "TASK_BYTES", 64)
    flambeau.manual_seed(1)
    x, index = flambeau.randn(50, 130), positions(0, 50, 40)
    wide = positions(0, 50, 300, 130)
    check(lambda x, i: x.index_select(0, i), [x, index], "index_select")
    check(lambda x, i: x.index_select(1, i), [x, index], "index_select")
    check(lambda x, i: x.gather(0, i), [x, wide], "gather")
    check(lambda x, i: (x * 2).scatter_add(0, i, i.to(x.dtype)), [x, wide], "scatter_add", 1e-5)
    check(lambda x, i: (x * 2).scatter(0, i, flambeau.arange(i.numel()).reshape(i.shape).to(x.dtype)),
          [x, wide], "scatter")
    check(lambda x, i: (x * 2).scatter(1, i.t(), flambeau.arange(i.numel()).reshape(i.t().shape).to(x.dtype)),
          [x.t().contiguous().t()[:, :50], wide[:, :40]], "scatter")
    check(lambda x, i: x.repeat(9, 1)[:300].new_zeros(50, 130).index_add(0, i[:, 0], x.repeat(9, 1)[:300]),
          [x, wide], "index_add", 1e-5)
    forget()


def test_other_shapes_compile_nothing() -> None:
    def work(n: int, m: int) -> Any:
        x, i = numbers(n, m), positions(0, n, 7)
        return [x[i], x.index_select(1, i % m), x.gather(0, i[:, None]), (x * 1).index_add(0, i, x[i]),
                (x * 1).scatter(0, i[:, None], 3)]
    with config.executor("native"):
        kept = work(20, 30)
        flambeau.synchronize()
        before = compiled()
        for n, m in ((33, 17), (100, 90)):
            kept = work(n, m)
            flambeau.synchronize()
        assert kept and compiled() == before


ADDED: list[tuple[str, Any]] = [
    ("embedding_dense_backward", lambda w, i: flambeau.nn.functional.embedding(i, w, padding_idx=3)),
    ("index_select_backward", lambda w, i: w.index_select(0, i.reshape(-1))),
    ("index_select_backward", lambda w, i: w.T.index_select(1, i.reshape(-1))),
    ("gather_backward", lambda w, i: w.gather(0, i[:, :8])),
    ("index_backward", lambda w, i: w[i]), ("index_backward", lambda w, i: w[:, i % 8]),
    ("take_backward", lambda w, i: w.take(i - 5)),
]


@pytest.mark.parametrize("dtype", [flambeau.bfloat16, flambeau.float16], ids=str)
@pytest.mark.parametrize(("name", "function"), ADDED)
def test_sums_of_short_types(name: str, function: Any, dtype: Any) -> None:
    """In single precision, rounded once; those of embeddings at each step."""
    flambeau.manual_seed(0)
    index = flambeau.randint(0, 40, (300, 9))
    grad = flambeau.randn(function(flambeau.zeros(40, 8), index).shape).to(dtype)

    def run(w: Tensor) -> Any:
        leaf = w.detach().requires_grad_()
        return flambeau.autograd.grad(function(leaf, index), leaf, grad)

    loose = name.startswith("embedding") and dtype is flambeau.float16
    check(run, [flambeau.randn(40, 8).to(dtype)], name, 5e-2 if loose else 0.0)


SUMMED: list[tuple[str, Any]] = [
    ("index_add", lambda x, i, v: x.index_add(0, i, v)),
    ("index_add", lambda x, i, v: x.index_add(0, i, v, alpha=0.3)),
    ("index_add", lambda x, i, v: x.index_add(1, i % 33, v.T)),
    ("index_put", lambda x, i, v: x.index_put((i,), v, accumulate=True)),
    ("index_put", lambda x, i, v: x.index_put((i, i % 33), v[:, 0], accumulate=True)),
    ("scatter_add", lambda x, i, v: x.scatter_add(0, i.unsqueeze(1).expand(40, 33), v[:40])),
    ("put", lambda x, i, v: x.contiguous().put(i, v[:, 0], accumulate=True)),
    ("index_add", lambda x, i, v: x.clone().index_add_(0, i, v).index_add_(0, i, v)),
]


@pytest.mark.parametrize("dtype", [flambeau.bfloat16, flambeau.float16], ids=str)
@pytest.mark.parametrize("number", range(len(SUMMED)))
def test_short_types_are_added_in_single_precision(number: int, dtype: Any) -> None:
    name, function = SUMMED[number]
    flambeau.manual_seed(0)
    index = flambeau.randint(0, 40, (40,))
    values = flambeau.randn(40, 40).to(dtype)[:, :33] if number != 2 else flambeau.randn(40, 40).to(dtype)
    whole = flambeau.randn(40, 33).to(dtype)
    for x in (whole, flambeau.randn(33, 40).to(dtype).T, flambeau.randn(80, 66).to(dtype)[::2, ::2]):
        check(function, [x, index, values], name, 1e-2)


@pytest.mark.parametrize("dtype", [flambeau.uint8, flambeau.int8, flambeau.int16], ids=str)
def test_short_integers_are_added(dtype: Any) -> None:
    index, values = positions(0, 40, 40), numbers(40, 33, dtype=dtype)
    x = numbers(40, 33, dtype=dtype)
    check(lambda x, i, v: x.index_add(0, i, v, alpha=3), [x, index, values], "index_add")
    check(lambda x, i, v: x.index_put((i,), v, accumulate=True), [x, index, values], "index_put")
    there = index.unsqueeze(1).expand(40, 33)
    check(lambda x, i, v: x.scatter_add(0, i, v), [x, there, values], "scatter_add")
    check(lambda x, i, v: x.scatter_reduce(0, i, v, "amin"), [x, there, values], "scatter_reduce")


@pytest.mark.parametrize("dtype", [flambeau.int64, flambeau.int32], ids=str)
@pytest.mark.parametrize("width", [20, 130])
def test_rows_of_a_large_table(width: int, dtype: Any) -> None:
    """Rows that are asked for ahead, also behind the last index: those of all, of a part, of one."""
    table = numbers(20_000, width)
    for index in (positions(0, 20_000, 5, 41, dtype=dtype), positions(-20_000, 0, 300, dtype=dtype)[::7],
                  positions(0, 20_000, 1, dtype=dtype).expand(30)):
        values = numbers(*index.shape, width)
        check(lambda t, i: t[i], [table, index], "index")
        check(lambda t, i, v: t.index_put((i,), v, accumulate=True), [table, index, values], "index_put")
        if index.min() >= 0:
            check(lambda t, i: flambeau.nn.functional.embedding(i, t), [table, index], "embedding")
