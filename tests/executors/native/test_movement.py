"""Copies, joins, borders and the like give what the interpreter gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, config

pytest.importorskip("llvmlite")

from flambeau.executors.native.fusion import traits
from flambeau.executors.native.movement import copying, past, spaces
from tests.executors.native.agreement import check, compiled, forget

F = flambeau.nn.functional
DTYPES = [flambeau.float32, flambeau.float64, flambeau.bfloat16, flambeau.uint8, flambeau.complex128]
SHAPES = [(1,), (7,), (17, 33), (64, 48), (3, 5, 7), (2, 16, 3, 17), (130, 70), (4, 1, 65, 9)]


@pytest.fixture(autouse=True)
def _copies_are_not_fused(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Copies alone are otherwise computed as pointwise operators."""
    monkeypatch.setattr(traits, "_POINTWISE", traits._POINTWISE - {"conversion"})
    traits._traits.clear()
    yield
    traits._traits.clear()


def numbers(*shape: int, dtype: Any = flambeau.float32) -> Tensor:
    """Different numbers in each place."""
    count = flambeau.Size(shape).numel()
    x = (flambeau.arange(count) % 251).to(dtype).reshape(shape)
    flambeau.synchronize()
    return x


def reversed_dims(x: Tensor) -> Tensor:
    return x.permute(*reversed(range(x.ndim)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_copies_of_views(shape: tuple[int, ...], dtype: Any) -> None:
    x = numbers(*shape, dtype=dtype)
    def copy(v: Tensor) -> Tensor:
        return v.clone(memory_format=flambeau.contiguous_format)

    views = [reversed_dims, lambda v: v.expand(3, *shape), lambda v: v[..., ::2], lambda v: v[..., 1:],
             lambda v: v.transpose(0, -1), lambda v: v.unsqueeze(-1).expand(*shape, 5),
             lambda v: v.expand(2, *shape).transpose(0, -1)]
    for view in views:
        if view(x).numel() and not view(x).is_contiguous():
            check(lambda v, view=view: copy(view(v)), [x], "clone")
    if len(shape) > 1:
        check(lambda v: reversed_dims(v).reshape(-1), [x], "unsafe_view")


ORDERS: list[tuple[str, Callable[[Tensor], Any]]] = [
    ("flip", lambda x: [x.flip(0), x.flip(-1), x.flip(tuple(range(x.ndim)))]),
    ("roll", lambda x: [x.roll(1), x.roll(-2, 0), x.roll((1, 5, 100), (0, -1, 0))]),
    ("repeat", lambda x: [x.repeat(*[2] * x.ndim), x.repeat(3, *[1] * x.ndim)]),
    ("constant_pad_nd", lambda x: [F.pad(x, (1, 2), value=3), F.pad(x, (0, 1) * x.ndim),
                                   F.pad(x, (-1, 2) + (1, 0) * (x.ndim - 1)) if x.shape[-1] > 1 else []]),
    ("diag_embed", lambda x: [flambeau.diag_embed(x), flambeau.diag_embed(x, 2),
                              flambeau.diag_embed(x, -1, 0)]),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("name", "function"), ORDERS, ids=[name for name, _ in ORDERS])
def test_other_orders(name: str, function: Callable[[Tensor], Any], shape: tuple[int, ...]) -> None:
    for dtype in (flambeau.float32, flambeau.uint8):
        x = numbers(*shape, dtype=dtype)
        check(function, [x], name)
        check(lambda v: function(reversed_dims(v)), [x], name)


@pytest.mark.parametrize("pad", [(1, 2), (2, 0), (-1, 2), (1, 2, 0, 1), (3, 3, 3, 3), (2, 1, -1, 2),
                                 (1, 1, 2, 0, 1, 1), (1, 0, 0, 0, 0, 1), (3, 3, 3, 3, 3, 3)], ids=str)
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_borders(mode: str, pad: tuple[int, ...]) -> None:
    shape = (2, 3, *[5, 9, 40][3 - len(pad) // 2:])
    for dtype in (flambeau.float32, flambeau.float64, flambeau.bfloat16):
        x = numbers(*shape, dtype=dtype)
        check(lambda v: F.pad(v, pad, mode), [x], "border_pad")
        check(lambda v: F.pad(v.transpose(0, 1), pad, mode), [x], "border_pad")
        check(lambda v: F.pad(v[..., ::3].clone()[..., :4], pad, mode), [x], "border_pad")
    leaf = numbers(1, 1, *[4] * (len(pad) // 2), dtype=flambeau.float64).requires_grad_()
    with flambeau.config.executor("interpreter"):
        assert flambeau.autograd.gradcheck(lambda v: F.pad(v, pad, mode), [leaf], fast_mode=True)


@pytest.mark.parametrize("columns", [2, 3, 30, 1000, 1021, 1030, 5000])
def test_runs_that_lie_otherwise_in_their_pages(columns: int) -> None:
    """Sources before and behind the target but for whole pages: which of the ways to copy is taken."""
    x = numbers(40, columns)
    for shift in (1, -1, 3, -3, 17, -17):
        check(lambda v, s=shift: v.roll(s, 1), [x], "roll")


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.uint8], ids=str)
@pytest.mark.parametrize("columns", [1024, 1027, 5003])
def test_copies_that_are_written_past_the_caches(columns: int, dtype: Any,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that begin and end at lines, and anywhere within them."""
    monkeypatch.setattr(past, "LAST_CACHE", 0)
    forget()
    x, y = numbers(7, columns, dtype=dtype), numbers(7, 3, dtype=dtype)
    check(lambda v: v[:, 1:].contiguous(), [x], "clone")
    check(lambda v: v.roll(-5, 1), [x], "roll")
    for parts in ([x, x], [x, y, x], [x[:, :0], y, x, x[:, 1:]], [x[:, 2:], x[:, 2:], x]):
        check(lambda *v: flambeau.cat(v, 1), parts, "cat")
    check(lambda v: [flambeau.cat([v[1:], v]), flambeau.cat([v.flatten(), v[2, 3:]])], [x], "cat")
    check(lambda v: [flambeau.stack([v, v], d) for d in range(3)], [x], "stack")
    forget()


def test_evenly_spaced_numbers() -> None:
    for dtype in (flambeau.float32, flambeau.float64, flambeau.float16, flambeau.bfloat16):
        for n in (2, 3, 10, 101, 3000):
            check(lambda n=n, dtype=dtype: [flambeau.linspace(-1, 2.3, n, dtype=dtype),
                                            flambeau.linspace(5, 1, n, dtype=dtype)], [], "linspace")


@pytest.mark.parametrize("shape", [s for s in SHAPES if len(s) > 1], ids=str)
def test_matrices(shape: tuple[int, ...]) -> None:
    x = numbers(*shape)
    for view in (lambda v: v, reversed_dims):
        for diagonal in (-2, 0, 1):
            check(lambda v, d=diagonal, view=view: view(v).tril(d), [x], "tril")
            check(lambda v, d=diagonal, view=view: view(v).triu(d), [x], "triu")
        for k in (1, 2, 3):
            check(lambda v, k=k, view=view: view(v).rot90(k, (0, 1)), [x], "rot90")


VIEWS: list[Callable[[Tensor], Tensor]] = [
    lambda x: x[0], lambda x: x[-1:], lambda x: x[..., 1:], lambda x: x[..., :1], lambda x: x[..., ::2],
    lambda x: x.select(-1, 0), lambda x: x.transpose(0, -1)[0], lambda x: x[..., x.shape[-1] // 2],
    lambda x: x[1:] if x.ndim == 1 else x.diagonal(), lambda x: x.narrow(0, 0, x.shape[0])[..., -1:]]


@pytest.mark.parametrize("shape", [s for s in SHAPES if s != (1,)], ids=str)
def test_parts(shape: tuple[int, ...]) -> None:
    """Gradients of views; writes into views."""
    for view in VIEWS:
        x = numbers(*shape).requires_grad_()
        part = view(x).detach()
        if not part.numel():
            continue
        check(lambda v, view=view: flambeau.autograd.grad((view(v) * 2).sum(), v), [x], "view_backward")

        def written(v: Tensor, view: Any = view) -> Tensor:
            y = v.detach() + 1
            view(y).copy_(view(v.detach()).flip(0) if view(v).ndim else view(v.detach()) + 5)
            return y
        check(written, [x], "write" if part.numel() < x.numel() else "clone")


@pytest.mark.parametrize("shape", [s for s in SHAPES if len(s) > 1], ids=str)
def test_parts_replaced(shape: tuple[int, ...]) -> None:
    x = numbers(*shape)
    check(lambda v: v.select_scatter(v.select(-1, 0) + 7, -1 % v.ndim, v.shape[-1] - 1), [x],
          "select_scatter")
    check(lambda v: v.slice_scatter(v[:1] + 7, 0, 1, 2), [x], "slice_scatter")
    check(lambda v: reversed_dims(v).diagonal_scatter(reversed_dims(v).diagonal() + 7), [x],
          "diagonal_scatter")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_joins(shape: tuple[int, ...]) -> None:
    for dtype in (flambeau.float32, flambeau.bool):
        x = numbers(*shape, dtype=dtype)
        for dim in range(x.ndim):
            parts = [x, x.narrow(dim, 0, 1), x.narrow(dim, 0, 0), x]
            check(lambda *p, d=dim: flambeau.cat(p, d), parts, "cat")
            check(lambda *p, d=dim: flambeau.cat([p[0], p[0].flip(0), p[0].contiguous()], d), [x], "cat")
        for dim in range(x.ndim + 1):
            check(lambda v, d=dim: flambeau.stack([v, v, v], d), [x], "stack")
            check(lambda v, d=dim: flambeau.stack([reversed_dims(v), reversed_dims(v)], d), [x], "stack")


def test_many_small_parts() -> None:
    check(lambda x: flambeau.stack(list((2 * x).unbind(0))), [numbers(53)], "stack")
    check(lambda x: flambeau.cat(list((2 * x).split(3, 1)), 0), [numbers(5, 600)], "cat")


@pytest.mark.parametrize("dtype", [*DTYPES[:4], flambeau.int64, flambeau.bool, flambeau.complex64], ids=str)
def test_fills(dtype: Any) -> None:
    for count in (1, 7, 1000):
        check(lambda n=count: flambeau.full((n, 3), 1, dtype=dtype), [], "full")
        check(lambda n=count: flambeau.zeros(n, dtype=dtype), [], "full")
        check(lambda n=count: [flambeau.eye(n, dtype=dtype), flambeau.eye(3, n, dtype=dtype)], [], "eye")
        if dtype in (flambeau.float32, flambeau.float64, flambeau.int64):
            check(lambda n=count: flambeau.arange(-3, n, dtype=dtype), [], "arange")
            check(lambda n=count: flambeau.arange(n, -7, -2, dtype=dtype), [], "arange")
    if dtype.is_floating_point:
        for n in (9.3, 33.1, 300):
            check(lambda n=n: flambeau.arange(0.5, n, 0.3, dtype=dtype), [], "arange", 0)
        check(lambda: flambeau.full((3,), float("inf"), dtype=dtype), [], "full")


def test_other_shapes_compile_nothing() -> None:
    def work(n: int, m: int) -> Any:
        x = numbers(n, m)
        return [x.t().contiguous(), x.t().reshape(-1), flambeau.cat([x, x], 1), flambeau.stack([x, x]),
                F.pad(x, (1, 1)), x.tril(), x[:, ::2].contiguous(), x.flip(0)]
    with config.executor("native"):
        kept = [*work(20, 30), *work(33, 17)]
        flambeau.synchronize()
        before = compiled()
        for n, m in ((41, 18), (100, 90), (640, 480)):
            kept = work(n, m)
            flambeau.synchronize()
        assert kept and compiled() == before


def test_large_transpositions(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take the tiles in another order, and write whole cache lines where rows begin at such."""
    monkeypatch.setattr(copying, "FAR", 0)
    for shape in ((300, 270), (5, 40, 33), (320, 273), (64, 4), (3, 48, 70), (2, 256, 512)):
        for dtype in (flambeau.float32, flambeau.float64, flambeau.int16, flambeau.uint8):
            check(lambda v: v.transpose(-1, -2).contiguous(), [numbers(*shape, dtype=dtype)], "clone")


def test_tasks_do_not_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut into as many tasks as possible."""
    monkeypatch.setattr(spaces, "TASK_BYTES", 64)
    x = numbers(70, 90)
    forget()
    for name, function in ORDERS[:4]:
        check(function, [x], name)
        check(lambda v, function=function: function(v.t()), [x], name)
    for copy in (lambda v: v.t().contiguous(), lambda v: v[:, ::2].contiguous(),
                 lambda v: v.t()[::3].contiguous(),
                 lambda v: v.reshape(30, 3, 70).transpose(1, 2).contiguous(),
                 lambda v: v[:, 1:].contiguous()):
        check(copy, [x], "clone")
    for dim in (0, 1):
        check(lambda v, d=dim: flambeau.cat([v, v[:, :].clone()], d), [x], "cat")
        check(lambda v, d=dim: flambeau.stack([v.reshape(-1)] * 3, d), [x], "stack")
    check(lambda: flambeau.arange(10000), [], "arange")
    check(lambda v: v.triu(3), [x], "triu")
    forget()
