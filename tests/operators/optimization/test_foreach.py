"""``torch._foreach_*`` does for each tensor of a list what the single function does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau as torch


def pair() -> list[Any]:
    return [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])]


def lists(results: Any) -> list[Any]:
    return [x.tolist() for x in results]


SCALARS = {"add": [[3, 4], [6, 7]], "sub": [[-1, 0], [0, 1]], "mul": [[2, 4], [9, 12]],
           "pow": [[1, 4], [27, 64]],
           "maximum": [[2, 2], [3, 4]], "minimum": [[1, 2], [3, 3]], "clamp_min": [[2, 2], [3, 4]],
           "clamp_max": [[1, 2], [3, 3]]}


@pytest.mark.parametrize("name", SCALARS)
def test_binary(name: str) -> None:
    each, each_ = getattr(torch, f"_foreach_{name}"), getattr(torch, f"_foreach_{name}_")
    single = getattr(torch, name)
    found = each(pair(), [2.0, 3.0])
    assert isinstance(found, tuple) and lists(found) == SCALARS[name]
    assert lists(each(pair(), pair())) == lists(single(x, x) for x in pair())
    assert lists(each(pair(), 2.0)) == lists(each(pair(), [2.0, 2.0]))
    assert lists(each(pair(), 2.0)) == lists(each(pair(), torch.tensor(2.0)))
    given = pair()
    assert each_(given, [2.0, 3.0]) is given and lists(given) == SCALARS[name]


@pytest.mark.parametrize("name", ["abs", "neg", "sqrt", "rsqrt", "reciprocal", "exp", "log", "sign", "tanh"])
def test_unary(name: str) -> None:
    expected = lists(getattr(torch, name)(x) for x in pair())
    for form in (f"_foreach_{name}", f"_foreach_{name}_"):     # natively perhaps an ulp off
        np.testing.assert_allclose(lists(getattr(torch, form)(pair())), expected, rtol=3e-7)


OTHERS: list[tuple[Any, Any]] = [
    (lambda: torch._foreach_add(pair(), pair(), alpha=2), [[3, 6], [9, 12]]),
    (lambda: torch._foreach_pow(2.0, pair()), [[2, 4], [8, 16]]),
    (lambda: torch._foreach_addcmul(pair(), pair(), pair(), value=0.5), [[1.5, 4], [7.5, 12]]),
    (lambda: torch._foreach_addcmul(pair(), pair(), pair(), [0.5, 2]), [[1.5, 4], [21, 36]]),
    (lambda: torch._foreach_addcdiv(pair(), pair(), pair(), torch.tensor([0.5, 2])), [[1.5, 2.5], [5, 6]]),
    (lambda: torch._foreach_lerp(pair(), [x + 1 for x in pair()], 0.5), [[1.5, 2.5], [3.5, 4.5]]),
    (lambda: torch._foreach_lerp(pair(), [x + 1 for x in pair()], pair()), [[2, 4], [6, 8]]),
    (lambda: torch._foreach_mul(pair(), scalar=2.0), [[2, 4], [6, 8]]),
    (lambda: torch._foreach_mul_(pair(), scalars=[1.0, 2.0]), [[1, 2], [6, 8]]),
    (lambda: torch._foreach_add(pair(), other=pair(), alpha=2), [[3, 6], [9, 12]]),
    (lambda: torch._foreach_pow(pair(), exponent=2), [[1, 4], [9, 16]]),
    (lambda: torch._foreach_lerp(pair(), [x + 1 for x in pair()], weights=pair()), [[2, 4], [6, 8]]),
    (lambda: torch._foreach_norm(pair(), 1), [3, 7]),
    (lambda: torch._foreach_norm(pair(), float("inf")), [2, 4]),
    (lambda: torch._foreach_powsum(pair(), 2), [5, 25]),
    (lambda: torch._foreach_max(pair()), [2, 4]),
    (lambda: torch._foreach_copy_([torch.zeros(2), torch.zeros(2)], pair()), [[1, 2], [3, 4]]),
    (lambda: torch._foreach_zero_(pair()), [[0, 0], [0, 0]]),
]


@pytest.mark.parametrize(("run", "expected"), OTHERS)
def test_others(run: Any, expected: Any) -> None:
    assert lists(run()) == expected


def test_gradients_and_errors() -> None:
    p = torch.ones(2, requires_grad=True)
    torch._foreach_mul([p], 2.0)[0].sum().backward()
    assert p.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="Tensor list must have at least one tensor"):
        torch._foreach_sqrt([])
    with pytest.raises(RuntimeError, match="must have the same number of tensors, got 2 and 1"):
        torch._foreach_add(pair(), pair()[:1])
    with pytest.raises(TypeError, match="must be tuple of Tensors, not Tensor"):
        torch._foreach_sqrt(torch.ones(2))
    with pytest.raises(TypeError, match="_foreach_mul"):
        torch._foreach_mul(pair(), exponent=2)


@pytest.mark.parametrize("call", [
    lambda: torch._foreach_mul_([torch.ones(2, dtype=torch.int64)], 1.5),
    lambda: torch._foreach_add_([torch.ones(2, dtype=torch.int64)], [torch.ones(2)]),
    lambda: torch._foreach_sqrt_([torch.ones(2, dtype=torch.int64)]),
])
def test_results_that_have_no_room(call: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        call()


@pytest.mark.parametrize("call, expected", [
    (lambda a, b: torch._foreach_mul_([a, a], 2), [[4, 8], [3, 4]]),
    (lambda a, b: torch._foreach_add_([a, b], [b, a]), [[4, 6], [7, 10]]),
    (lambda a, b: torch._foreach_neg_([a, b, a]), [[1, 2], [-3, -4]]),
    (lambda a, b: torch._foreach_addcmul_([a, b], [b, a], [b, b]), [[10, 18], [33, 76]]),
    (lambda a, b: torch._foreach_lerp_([a, b], [b, a], 0.5), [[2, 3], [2.5, 3.5]]),
])
def test_tensors_are_written_one_after_the_other(call: Callable[..., Any], expected: Any) -> None:
    given = pair()
    call(*given)
    assert lists(given) == expected
