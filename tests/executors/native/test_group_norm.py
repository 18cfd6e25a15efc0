"""Group norm and its gradients give what the interpreter gives, in planes and channels last."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import TEXTS, check, check_other_processor, check_threads, results

F = flambeau.nn.functional
# Shape and groups: few pixels and many, none, groups of one channel, more channels than go together.
CASES: list[tuple[tuple[int, ...], int]] = [
    ((2, 6, 5, 7), 3), ((3, 64, 8, 9), 4), ((2, 60, 9, 11), 6), ((4, 8), 2), ((2, 4, 133), 1),
    ((1, 160, 4, 4), 32), ((2, 12, 3, 4, 5), 12), ((2, 96, 1, 1), 2),
]
FORMATS = {4: flambeau.channels_last, 5: flambeau.channels_last_3d}


def operand(shape: Any, dtype: Any, last: bool = False) -> Tensor:
    flambeau.manual_seed(sum(shape))
    x = (flambeau.randn(*shape) * 2 + 3).to(dtype)
    return x.contiguous(memory_format=FORMATS[len(shape)]) if last else x


def with_gradients(groups: int, grad: Tensor) -> Any:
    def run(x: Tensor, *parameters: Any) -> Any:
        leaves = [None if p is None else p.detach().requires_grad_() for p in (x, *parameters)]
        y = F.group_norm(leaves[0], groups, *leaves[1:])
        return y, *flambeau.autograd.grad(y, [p for p in leaves if p is not None], grad)
    return run


def check_case(shape: Any, groups: int, dtype: Any, tolerance: float) -> None:
    grad = operand(shape, dtype) - 3
    weight, bias = operand((shape[1],), dtype), operand((shape[1],), flambeau.float32).to(dtype)
    for last in (False, True) if len(shape) > 3 else (False,):
        x = operand(shape, dtype, last)
        for parameters in ((weight, bias), (None, None), (weight, None), (None, bias)):
            check(with_gradients(groups, grad), [x, *parameters], "native_group_norm", tolerance)


@pytest.mark.parametrize(("shape", "groups"), CASES, ids=str)
def test_shapes(shape: Any, groups: int) -> None:
    check_case(shape, groups, flambeau.float32, 2e-4)


@pytest.mark.parametrize(("dtype", "tolerance"), [(flambeau.float64, 1e-11), (flambeau.bfloat16, 0.05),
                                                  (flambeau.float16, 0.02)], ids=str)
@pytest.mark.parametrize(("shape", "groups"), [CASES[0], CASES[2]], ids=str)
def test_element_types(shape: Any, groups: int, dtype: Any, tolerance: float) -> None:
    check_case(shape, groups, dtype, tolerance)
    if dtype is not flambeau.float64:
        x, weight = operand(shape, dtype), operand((shape[1],), flambeau.float32)
        check(lambda x, w: F.group_norm(x, groups, w, w), [x, weight], "native_group_norm", tolerance)


def test_views() -> None:
    x = operand((4, 12, 6, 8), flambeau.float32)
    for part in (x[:, ::2], x[..., ::2], x.mT, x[:2, :6], x[:, :1].expand(4, 6, 6, 8)):
        check(lambda x: F.group_norm(x, 3), [part], "native_group_norm", 1e-5)


def test_second_derivatives() -> None:
    x = operand((2, 4, 3), flambeau.float64).requires_grad_()
    weight = operand((4,), flambeau.float64).requires_grad_()
    assert flambeau.autograd.gradcheck(lambda x, w: F.group_norm(x, 2, w, w), (x, weight))
    assert flambeau.autograd.gradgradcheck(lambda x, w: F.group_norm(x, 2, w, w), (x, weight))


def test_another_shape_compiles_nothing() -> None:
    def run(shape: Any, groups: int) -> set[str]:
        x = operand(shape, flambeau.float32)
        results(with_gradients(groups, x), [x, x.flatten(2)[0, :, 0], None], "native")
        return {text for text in TEXTS if "group_norm" in text}
    known = run((2, 8, 3, 3), 2)
    for shape, groups in CASES[:3]:
        assert run(shape, groups) == known


def test_the_same_bits_for_any_number_of_threads() -> None:
    for last in (False, True):
        x = operand((5, 64, 20, 20), flambeau.float32, last)
        check_threads(with_gradients(16, x), [x, x[0, :, 0, 0], None])


def test_other_processors() -> None:
    check_other_processor(__file__, "test_shapes or test_element_types")
