"""Gradients of attention that are written side by side, against the interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau

pytest.importorskip("llvmlite")

from flambeau.executors.native.programs import known
from tests.executors.native.agreement import TEXTS, check_threads, results

attention = flambeau.nn.functional.scaled_dot_product_attention
HEADS, DEPTH = 3, 16


def heads(x: Any) -> Any:
    """(B, L, E) as (B, heads, L, E / heads)."""
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)


def gradient(split: Callable[[Any], Any], **options: Any) -> Callable[..., Any]:
    """The gradient of what a projection made: ``split`` makes queries, keys and values of it."""
    def run(x: Any, g: Any) -> Any:
        x = x.detach().requires_grad_()
        y = attention(*split(x * 2.0), **options)
        flambeau.autograd.backward(y, g.unflatten(1, y.shape[1:]))
        return x.grad
    return run


def with_query(x: Any, g: Any) -> Any:
    """Somebody else reads one of the gradients."""
    x = x.detach().requires_grad_()
    q, k, v = (heads(part) for part in (x * 2.0).chunk(3, -1))
    y = attention(q, k, v)
    found = flambeau.autograd.grad(y, (x, q), g.unflatten(1, y.shape[1:]))
    return found


# the function, and whether the gradients are written side by side
CASES: dict[str, tuple[Callable[..., Any], bool]] = {
    "batch first": (gradient(lambda x: map(heads, x.chunk(3, -1))), True),
    "split": (gradient(lambda x: map(heads, x.split(x.shape[-1] // 3, 2)), is_causal=True), True),
    "length first": (gradient(lambda x: (heads(part.transpose(0, 1)) for part in x.chunk(3, -1))), True),
    "another order": (gradient(lambda x: map(heads, reversed(x.chunk(3, -1)))), True),
    "along the length": (gradient(lambda x: map(heads, x.chunk(3, 1))), True),
    "heads first": (gradient(lambda x: (heads(part.transpose(0, 2)) for part in x.chunk(3, 0))), False),
    "somebody reads one": (with_query, False),
}
SHAPES = [(2, 3, 48), (4, 39, 48), (3, 102, 96), (6, 7, 60)]


def operands(name: str, shape: tuple[int, ...]) -> tuple[flambeau.Tensor, ...]:
    batch, length, width = shape
    generator = flambeau.Generator().manual_seed(sum(shape))
    sizes = {"along the length": (batch, 3 * length, width),
             "heads first": (3 * width, length, batch)}.get(name, (batch, length, 3 * width))
    batch, length = (length, batch) if name in ("length first",) else (batch, length)
    found = flambeau.randn(*sizes, generator=generator), \
        flambeau.randn(batch, length * width, generator=generator)
    flambeau.synchronize()
    return found


def is_joined() -> bool:
    """Whether the latest program computes gradients of attention and their ``cat`` as one stage."""
    assert known._latest is not None and known._latest.family.pattern is not None
    pattern = known._latest.family.pattern
    names = [[pattern.signatures[k].operator.name for k in members] for members in pattern.stages]
    return any(own[0].startswith("scaled") and own[-1] == "cat" for own in names)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_the_interpreter(name: str, shape: tuple[int, ...]) -> None:
    function, expected = CASES[name]
    given = operands(name, shape)
    want = results(function, given, "interpreter")
    known.clear()
    found = results(function, given, "native")
    assert is_joined() == expected
    for (strides, x), (other, y) in zip(found, want, strict=True):
        assert strides == other and x.dtype == y.dtype
        np.testing.assert_allclose(x, y, 2e-4, 2e-4)


@pytest.mark.parametrize("dtype", [flambeau.float64, flambeau.bfloat16])
def test_other_types(dtype: flambeau.dtype) -> None:
    given = [x.to(dtype) for x in operands("batch first", (4, 39, 48))]
    function, tolerance = CASES["batch first"][0], 1e-12 if dtype is flambeau.float64 else 0.1
    known.clear()
    for (_, x), (_, y) in zip(results(function, given, "native"), results(function, given, "interpreter")):
        np.testing.assert_allclose(x, y, tolerance, tolerance)


def test_other_shapes_compile_nothing_and_threads_change_nothing() -> None:
    function = CASES["length first"][0]
    known.clear()
    for shape in SHAPES:
        results(function, operands("length first", shape), "native")
    before = len(TEXTS)
    given = operands("length first", (9, 71, 96))
    results(function, given, "native")
    assert len(TEXTS) == before and is_joined()
    check_threads(function, given)


def test_programs_without_attention_do_not_read_its_template() -> None:
    code = ("import sys, flambeau, flambeau.executors.native.programs.patterns.planning; "
            "print('flambeau.executors.native.templates.sequences.attention' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
