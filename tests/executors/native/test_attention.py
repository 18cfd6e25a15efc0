"""Attention and its gradients give what the interpreter gives."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, config

pytest.importorskip("llvmlite")

from flambeau.executors.native.templates.sequences import attention as template
from tests.executors.native.agreement import TEXTS, check, forget, results

F = flambeau.nn.functional
FORWARD, BACKWARD = "scaled_dot_product_attention", "scaled_dot_product_attention_backward"
# (batch and heads), queries, keys, elements of a key, of a value
SHAPES = [
    ((), 4, 5, 16, 16), ((3,), 1, 1, 1, 1), ((2, 3), 7, 9, 5, 3), ((2, 2), 33, 40, 32, 32),
    ((5, 8), 33, 100, 16, 32), ((2, 2), 64, 200, 64, 48), ((1, 2), 100, 97, 17, 16),
    ((1, 1), 129, 300, 128, 20), ((2, 1, 2), 17, 8, 33, 64), ((1, 8), 1, 64, 32, 32), ((2, 3), 3, 33, 40, 48),
    ((2, 2), 2, 130, 64, 81), ((3, 2), 24, 24, 32, 16), ((2, 2), 13, 77, 32, 32),
    ((2, 2), 21, 130, 34, 48), ((3,), 38, 50, 24, 16),
    ((2,), 57, 57, 32, 32), ((2,), 41, 113, 32, 64), ((3,), 45, 106, 64, 32),
]
MASKS: dict[str, Callable[[tuple[int, ...], int, int], Any]] = {
    "scores": lambda lead, n, s: flambeau.randn(n, s),
    "keys": lambda lead, n, s: flambeau.randn(*lead[:1], *[1] * (len(lead) - 1), 1, s) > 0,
    "queries": lambda lead, n, s: flambeau.randn(n, 1) > -0.5,
    "all": lambda lead, n, s: flambeau.randn(*lead, n, s) > 1.5,
    "transposed": lambda lead, n, s: flambeau.randn(s, n).transpose(0, 1),
}


def operands(lead: tuple[int, ...], n: int, s: int, e: int, v: int) -> list[Tensor]:
    """q, k, v and the gradient of the result."""
    flambeau.manual_seed(n + s)
    return [flambeau.randn(*lead, rows, columns) for rows, columns in ((n, e), (s, e), (s, v), (n, v))]


def gradients(**options: Any) -> Callable[..., Any]:
    """A function of q, k, v and the gradient of the result."""
    def run(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> Any:
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        return flambeau.autograd.grad(F.scaled_dot_product_attention(*leaves, **options), leaves, g)
    return run


def attend(**options: Any) -> Callable[..., Any]:
    return lambda q, k, v, g: F.scaled_dot_product_attention(q, k, v, **options)


def check_both(arrays: list[Tensor], tolerance: float, **options: Any) -> None:
    check(attend(**options), arrays, FORWARD, tolerance)
    check(gradients(**options), arrays, BACKWARD, tolerance)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(shape: Any) -> None:
    lead, n, s = shape[:3]
    arrays = operands(*shape)
    check_both(arrays, 3e-5)
    check_both(arrays, 3e-5, is_causal=True, scale=0.3)
    for mask in MASKS.values():
        check_both(arrays, 3e-5, attn_mask=mask(lead, n, s), scale=-0.2)


@pytest.mark.parametrize(("dtype", "tolerance"), [(flambeau.float64, 1e-12), (flambeau.bfloat16, 1e-2),
                                                  (flambeau.float16, 2e-3)], ids=str)
@pytest.mark.parametrize("shape", [SHAPES[2], SHAPES[4], SHAPES[9]], ids=str)
def test_element_types(shape: Any, dtype: Any, tolerance: float) -> None:
    n, s = shape[1:3]
    arrays = [x.to(dtype) for x in operands(*shape)]
    check_both(arrays, tolerance)
    check_both(arrays, tolerance, is_causal=True)
    check_both(arrays, tolerance, attn_mask=flambeau.randn(n, s).to(dtype))


def test_views() -> None:
    flambeau.manual_seed(0)
    joint = flambeau.randn(3, 50, 3, 8, 32)     # as a projection to q, k and v gives it
    g = flambeau.randn(3, 50, 8, 32).transpose(1, 2)
    check_both([*(joint[:, :, i].transpose(1, 2) for i in range(3)), g], 3e-5, is_causal=True)
    for apart in (300, 2048):                   # rows that are 64 KiB apart are copied
        far = flambeau.randn(70, 4, 2, apart)
        check_both([far[..., 32 * i:32 * i + 32].permute(1, 2, 0, 3) for i in range(4)], 3e-5)
    columns = flambeau.randn(2, 3, 24, 40).mT   # columns that are not adjacent
    check_both([columns, columns.flip(-1), columns, columns], 3e-5)
    same = flambeau.randn(1, 1, 20, 16).expand(2, 3, 20, 16)
    check_both([same, same, same, same], 3e-5)
    cache = flambeau.randn(2, 1, 8, 128, 32)
    q = flambeau.randn(1, 8, 1, 32)
    check(attend(), [q, cache[0, :, :, :77], cache[1, :, :, 3:80], q], FORWARD, 3e-5)


@pytest.mark.parametrize("keys", [1, 2, 3, 7, 24, 33, 127, 128, 129])
@pytest.mark.parametrize("queries", [9, 12, 17, 23, 24, 52])
def test_a_second_vector_of_queries_that_is_half_full(queries: int, keys: int) -> None:
    for depth, width in ((32, 32), (8, 40)):
        arrays = operands((2, 3), queries, keys, depth, width)
        check_both(arrays, 3e-5)
        q, k, v = arrays[:3]
        q[0, 0, 1], k[0, 1, keys // 2], k[1, 1, keys - 1] = math.nan, math.inf, -math.inf
        check(attend(), [q, k, v, arrays[3]], FORWARD, 3e-5)


@pytest.mark.parametrize("queries", [2, 20])
def test_rows_without_keys_and_values_that_are_not_finite(queries: int) -> None:
    flambeau.manual_seed(0)
    q, k, v, g = (flambeau.randn(2, 2, n, 16) for n in (queries, 120, 120, queries))
    none = flambeau.ones(queries, 120, dtype=flambeau.bool)
    none[1] = False             # no key at all: zeros
    none[0, :110] = False       # none in the first block of keys
    check_both([q, k, v, g], 3e-5, attn_mask=none)
    low = flambeau.full((queries, 120), flambeau.finfo(flambeau.float32).min)
    low[0, :3] = -math.inf
    low[1, 7] = math.inf        # infinity over infinity
    check(attend(attn_mask=low), [q, k, v, g], FORWARD, 3e-5)
    q[0, 0, 1, 3] = math.nan
    k[1, 0, 5, 2] = math.nan
    check(attend(), [q, k, v, g], FORWARD, 3e-5)


def test_another_shape_compiles_nothing() -> None:
    def run(shape: Any) -> set[str]:
        for options in ({}, {"is_causal": True}, {"attn_mask": MASKS["scores"](*shape[:3])}):
            for function in (attend(**options), gradients(**options)):
                results(function, operands(*shape), "native")
        return {text for text in TEXTS if "@attention" in text}

    run(((1, 2), 9, 10, 16, 16))    # whole rows of vectors
    known = run(((1, 2), 1, 10, 7, 7))
    for shape in SHAPES:
        assert run(shape) == known


@pytest.mark.parametrize("shape", [((4, 8), 70, 100, 32, 32), ((1, 2), 200, 64, 24, 16)], ids=str)
def test_the_same_bits_for_any_number_of_threads(shape: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from flambeau.config import settings
    monkeypatch.setattr(template, "_SMALL", 0.0)
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr(settings, "threads", count)
        forget()
        found.append([x.tobytes() for function in (attend(is_causal=True), gradients())
                      for _, x in results(function, operands(*shape), "native")])
    assert found[0] == found[1] == found[2]


def test_another_cpu() -> None:
    """The same on a CPU with AVX2, which is chosen for a whole process."""
    program = """
import flambeau as torch
F = torch.nn.functional
torch.manual_seed(0)
for shape in ((2, 3, 40, 24), (1, 2, 130, 32), (1, 4, 3, 20), (2, 16, 40, 32)):
    for options in ({}, {"is_causal": True}):
        x = [torch.randn(*shape) for _ in range(4)]
        found = []
        for tier in ("native", "interpreter"):
            with torch.config.executor(tier):
                leaves = [t.detach().requires_grad_() for t in x[:3]]
                y = F.scaled_dot_product_attention(*leaves, **options)
                found.append([t.detach().numpy() for t in (y, *torch.autograd.grad(y, leaves, x[3]))])
        for a, b in zip(*found):
            assert abs(a - b).max() < 1e-5
"""
    environment = {**os.environ, "FLAMBEAU_CPU": "haswell"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


@pytest.mark.parametrize("shape", [SHAPES[3], SHAPES[5], SHAPES[6], SHAPES[9]], ids=str)
def test_dropout(shape: Any) -> None:
    def seeded(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arrays: Tensor) -> Any:
            flambeau.manual_seed(5)
            return function(*arrays)
        return run

    arrays = operands(*shape)
    for options in ({}, {"is_causal": True}, {"attn_mask": MASKS["scores"](*shape[:3])}):
        options |= {"dropout_p": 0.3}
        check(seeded(attend(**options)), arrays, FORWARD + "_dropout", 3e-5)
        check(seeded(gradients(**options)), arrays, FORWARD + "_dropout_backward", 3e-5)


@pytest.mark.parametrize("lead", [(2, 6), (6,), (2, 1, 6)], ids=str)
@pytest.mark.parametrize(("queries", "keys"), [(1, 20), (40, 33), (70, 120)])
def test_grouped_heads(lead: tuple[int, ...], queries: int, keys: int) -> None:
    flambeau.manual_seed(0)
    q, g = (flambeau.randn(*lead, queries, 16) for _ in range(2))
    k, v = (flambeau.randn(*lead[:-1], 2, keys, 16) for _ in range(2))
    check_both([q, k, v, g], 3e-5, enable_gqa=True)
    check_both([q, k, v, g], 3e-5, enable_gqa=True, is_causal=True)
    with config.executor("native"):
        grouped = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        repeated = F.scaled_dot_product_attention(q, k.repeat_interleave(3, -3), v.repeat_interleave(3, -3))
        assert flambeau.equal(grouped, repeated)


@pytest.mark.parametrize(("queries", "keys"), [(70, 70), (70, 40), (40, 100), (200, 131)])
@pytest.mark.parametrize("group", [1, 2])
def test_one_task_for_all_blocks_of_a_head(queries: int, keys: int, group: int) -> None:
    """Its last block adds to the gradients of keys and values on the way to the results."""
    flambeau.manual_seed(0)
    q, g = (flambeau.randn(2, queries, 16 * group, 32).transpose(1, 2) for _ in range(2))
    k, v = (flambeau.randn(2, keys, 16, 32).transpose(1, 2) for _ in range(2))
    for causal in (False, True):
        check(gradients(is_causal=causal, enable_gqa=group > 1), [q, k, v, g], BACKWARD, 3e-5)


def test_memory_layout() -> None:
    """Results lie in memory as the query does, gradients as (N, L, H, E): PyTorch's layouts."""
    joint = flambeau.randn(2, 6, 3 * 32, requires_grad=True)
    heads = [x.view(2, 6, 4, 8).transpose(1, 2) for x in joint.split(32, 2)]
    plain = [flambeau.randn(2, 4, 6, 8, requires_grad=True) for _ in range(3)]
    for tier in ("interpreter", "native"):
        with config.executor(tier):
            assert F.scaled_dot_product_attention(*heads).stride() == (192, 8, 32, 1)
            assert F.scaled_dot_product_attention(*heads, dropout_p=0.5).stride() == (192, 48, 8, 1)
            y = F.scaled_dot_product_attention(*plain)
            assert y.stride() == (192, 48, 8, 1)
            for g in flambeau.autograd.grad(y.sum(), plain):
                assert g.stride() == (192, 8, 32, 1)
            assert F.scaled_dot_product_attention(*[x.flatten(0, 1) for x in plain]).stride() == (48, 8, 1)


def test_masks_that_do_not_fit() -> None:
    q, k = flambeau.randn(2, 4, 6, 8), flambeau.randn(2, 4, 7, 8)
    for shape, message in (((5, 7), "size of tensor a .6. must match the size of tensor b .5. at"),
                           ((2, 3, 6, 7), "tensor a .4. must match"), ((1, 2, 4, 6, 7), "broadcast shape")):
        with pytest.raises(RuntimeError, match=message):
            F.scaled_dot_product_attention(q, k, k, flambeau.ones(*shape))


@pytest.mark.parametrize("batch_first", [True, False])
def test_module_copies_nothing(batch_first: bool) -> None:
    """Whichever dimension comes first, no rows are copied into another order, forwards or backwards."""
    layer = flambeau.nn.MultiheadAttention(32, 4, batch_first=batch_first)
    x = flambeau.randn(3, 20, 32, requires_grad=True)
    with config.executor("native"):
        (x + layer(x, x, x, need_weights=False)[0]).square().sum().backward()
        with config.kernel_times():
            flambeau.synchronize()
        kernels = flambeau.explain(1, kernels=True)
    assert "scaled_dot_product_attention_backward" in kernels and "unsafe_view" not in kernels


@pytest.mark.parametrize("keys", [1, 77, 128, 129, 200, 257, 1000])
def test_keys_are_shared_out_evenly(keys: int) -> None:
    size = template._keys_of_block(keys, False)
    blocks = -(-keys // size)
    assert size <= template.KEYS and blocks == -(-keys // template.KEYS)
    assert (blocks - 1) * size < keys <= blocks * size
