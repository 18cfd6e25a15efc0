"""Pointwise operators: dtypes, errors and names of gradient functions as PyTorch 2.13 has them."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

import flambeau as torch

F = torch.nn.functional
T = torch.tensor

# expression, expected values, expected dtype (what PyTorch 2.13 gives)
VALUES: list[tuple[str, Any, Any]] = [
    ("T([1], dtype=torch.uint8) + 300", [45], torch.uint8),
    ("T([44], dtype=torch.uint8) == 300", [True], torch.bool),
    ("T([True]) * 2.5", [2.5], torch.float32),
    ("5 // T([2, -2])", [2, -3], torch.int64),
    ("5.5 % T([2, -2])", [1.5, -0.5], torch.float32),
    ("torch.tensor([5., -5, 0]) // 0", [math.inf, -math.inf, math.nan], torch.float32),
    ("torch.div(T([5, -5]), 2, rounding_mode='trunc')", [2, -2], torch.int64),
    ("T([2, 1, -1]) ** T([-1, -2, -3])", [0, 1, -1], torch.int64),
    ("T([True]) ** 2", [1], torch.int64),
    ("2 ** T([2, -1])", [4, 0], torch.int64),
    ("torch.float_power(T([2]), 2)", [4.0], torch.float64),
    ("torch.sign(T([math.nan, -0.0, -2]))", [0.0, 0.0, -1.0], torch.float32),
    ("torch.clamp(T([1, 2, 3]), 1.5)", [1.5, 2.0, 3.0], torch.float32),
    ("torch.clamp(T([1., math.nan]), 2, 1)", [1.0, math.nan], torch.float32),
    ("torch.xlogy(T([0, 1]), T([0, 2]))", [0.0, math.log(2)], torch.float32),
    ("torch.where(T([True, False]), T([1.], dtype=torch.float16), 2.)", [1.0, 2.0], torch.float16),
    ("T([1, -2]) << 64", [0, 0], torch.int64),
    ("T([1, -2]) >> 70", [0, -1], torch.int64),
    ("torch.round(T([25., 35.]), decimals=-1)", [20.0, 40.0], torch.float32),
    ("T([1.5, -1.5, math.nan, 300.]).to(torch.uint8)", [1, 255, 0, 44], torch.uint8),
    ("T([1 + 2**-11 + 2**-40, 2049.0000001, 65519.9999999], dtype=torch.float64).half()",
     [1.0, 2048.0, math.inf], torch.float16),
    ("T([2049, 65519, 65520, -3]).half()", [2048.0, 65504.0, math.inf, -3.0], torch.float16),
    ("T([257, 2**40 + 1]).bfloat16()", [256.0, 2.0**40], torch.bfloat16),
    ("torch.special.gammainc(T([20., 3.]), T([30., 0.]))", [0.97812646, 0.0], torch.float32),
    ("torch.special.gammaincc(T([20., 3.]), T([30., 0.]))", [0.021873468, 1.0], torch.float32),
    ("torch.special.zeta(T([2., 3.]), T([1., 2.]))", [1.644934, 0.2020569], torch.float32),
    ("F.threshold(T([1, -2]), 1, 5)", [5, 5], torch.int64),
    ("torch.angle(T([1., -1, math.nan]))", [0.0, math.pi, math.nan], torch.float32),
    ("torch.logit(T([0., 1, 2]))", [-math.inf, math.inf, math.nan], torch.float32),
    ("torch.add(1, 2)", 3, torch.int64),
]


# 16-bit operands, of which ``b`` and ``h`` are -0.1 and 1.3, and what is rounded to their type before.
ROUNDED: list[tuple[str, Any]] = [
    ("b + 0.1", [0.0, 1.3984375]),
    ("h - 1.3", [-1.3994140625, 0.0]),
    ("0.1 + h", [0.0, 1.3994140625]),
    ("1.3 - b", [1.3984375, 0.0]),
    ("b + T(0.1)", [0.0, 1.3984375]),
    ("b + T([257, 513])", [256.0, 512.0]),
    ("b * T([257, 513])", [-25.625, 664.0]),
    ("b * 1.3", [-0.1298828125, 1.6875]),
    ("b / 0.3", [-0.333984375, 4.3125]),
    ("T(1.3) / b", [-12.9375, 1.0]),
    ("torch.add(b.repeat(32), b.repeat(32), alpha=1.3)[:2]", [-0.2294921875, 2.984375]),
    ("b % 0.3", [0.201171875, 0.09375]),
    ("torch.fmod(h, 1.3)", [-0.0999755859375, 0.0]),
    ("h == 1.3", [False, True]),
    ("b > -0.1", [False, True]),
    ("b.clone().sub_(1.3)", [-1.3984375, 0.0]),
    ("b.abs() ** 1.3", [0.050537109375, 1.3984375]),
    ("F.hardshrink(b, 0.1)", [0.0, 1.296875]),
]


@pytest.mark.parametrize("tier", ["interpreter", "native"])
@pytest.mark.parametrize(("expression", "expected"), ROUNDED, ids=[row[0] for row in ROUNDED])
def test_sixteen_bits_are_common_to_all_operands(expression: str, expected: Any, tier: str) -> None:
    """As numbers, integers and tensors without dimensions are, though it is computed in float32."""
    b, h = T([-0.1, 1.3]).bfloat16(), T([-0.1, 1.3]).half()
    torch.synchronize()
    with torch.config.executor(tier):
        assert eval(expression, {**globals(), "b": b, "h": h}).tolist() == expected


@pytest.mark.parametrize(("expression", "expected", "dtype"), VALUES, ids=[row[0] for row in VALUES])
def test_values(expression: str, expected: Any, dtype: Any) -> None:
    found = eval(expression)
    assert found.dtype is dtype
    np.testing.assert_allclose(np.array(found.tolist()), np.array(expected), rtol=1e-6)


DIVISIONS = ["x // 0", "x % 0", "x.fmod(0)", "x.remainder_(0)", "x.floor_divide_(0)", "x.__ifloordiv__(0)",
             "x.__imod__(0)", "x.div(0, rounding_mode='trunc')", "torch.div(x, 0, rounding_mode='floor')"]


@pytest.mark.parametrize("call", DIVISIONS)
def test_division_by_the_number_zero_raises_at_once(call: str) -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        eval(call, {"torch": torch, "x": torch.arange(3)})     # nobody looks
    eval(call, {"torch": torch, "x": torch.arange(3.0)})
    eval(call, {"torch": torch, "x": torch.arange(0)})


ERRORS: list[tuple[str, type[Exception], str]] = [
    ("1 - T([True])", RuntimeError, "with a bool tensor is not supported"),
    ("T([5]) // 0", RuntimeError, "ZeroDivisionError"),
    ("T([2]) ** -1", RuntimeError, "Integers to negative integer powers are not allowed."),
    ("T([2]).char() ** 128", RuntimeError, "value cannot be converted to type int8_t without overflow"),
    ("T([2.0]).half() ** 65505", RuntimeError, "cannot be converted to type c10::Half without overflow"),
    ("True ** T([True])", NotImplementedError, "\"pow\" not implemented for 'Bool'"),
    ("abs(T([True]))", NotImplementedError, "\"abs_cpu\" not implemented for 'Bool'"),
    ("T([1]) + 'a'", TypeError, "unsupported operand type(s) for +: 'Tensor' and 'str'"),
    (
        "torch.add(T([1]), None)",
        TypeError,
        "add(): argument 'other' (position 2) must be Tensor, not NoneType",
    ),
    ("T([1j]) < 1", NotImplementedError, "\"lt_cpu\" not implemented for 'ComplexFloat'"),
    ("torch.ones(2) + torch.ones(3)", RuntimeError, "must match the size of tensor b (3)"),
    ("F.gelu(T([1]))", NotImplementedError, "\"GeluKernelImpl\" not implemented for 'Long'"),
    ("F.elu(T([1]))", NotImplementedError, "\"elu_cpu\" not implemented for 'Long'"),
    (
        "F.softmax(T([1]), 0)",
        NotImplementedError,
        "\"softmax_lastdim_kernel_impl\" not implemented for 'Long'",
    ),
    ("T([1]).cuda()", AssertionError, "Torch not compiled with CUDA enabled"),
    ("T([1]).__iadd__(1.5)", RuntimeError, "result type Float can't be cast to the desired output type Long"),
    ("~T([1.])", TypeError, "only implemented on integer and Boolean-type tensors"),
    ("torch.relu(1)", TypeError, "must be Tensor"),
]


@pytest.mark.parametrize(("expression", "error", "message"), ERRORS, ids=[row[0] for row in ERRORS])
def test_errors(expression: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        result = eval(expression)
        result.tolist()  # division by zero depends on the data
    assert message in str(caught.value)


NAMES = {
    "x ** 2": "PowBackward0", "x ** x": "PowBackward1", "2 ** x": "PowBackward2", "2 / x": "MulBackward0",
    "2 - x": "RsubBackward1", "x / 2": "DivBackward0", "x % 2": "RemainderBackward0",
    "x.double()": "ToCopyBackward0",
    "x.clamp(0)": "ClampBackward1", "x.clamp_min(0)": "ClampMinBackward0", "F.relu6(x)": "HardtanhBackward0",
    "F.selu(x)": "EluBackward0", "F.softmin(x, 0)": "SoftmaxBackward0",
    "F.log_softmax(x, 0)": "LogSoftmaxBackward0",
    "F.logsigmoid(x)": "LogSigmoidBackward0", "F.prelu(x, T([.2]))": "PreluKernelBackward0",
    "torch.special.xlog1py(x, x)": "SpecialXlog1PyBackward0", "torch.lerp(x, x, .5)": "LerpBackward0",
}


@pytest.mark.parametrize("expression", NAMES)
def test_names_of_gradient_functions(expression: str) -> None:
    x = T([0.5, 1.5], requires_grad=True)
    assert eval(expression, {**globals(), "x": x}).grad_fn.name() == NAMES[expression]


@pytest.mark.parametrize("method", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"])
def test_augmented_assignment_keeps_the_tensor(method: str) -> None:
    x = T([5.0, 7.0])
    kept, function = x, getattr(operator, method)
    x = function(x, 2)
    assert x is kept
    np.testing.assert_allclose(x.numpy(), function(np.array([5.0, 7.0]), 2))


def test_comparison_with_foreign_objects() -> None:
    assert (T([1]) == "a") is False
    assert (T([1]) != None) is True  # noqa: E711
    with pytest.raises(TypeError):
        T([1]) < None


@pytest.mark.parametrize("shape", [(3,), (4, 5), (700, 5), (40, 1000), (3, 4, 70)])
@pytest.mark.parametrize("dim", [0, -1])
def test_softmax_in_all_its_layouts(shape: tuple[int, ...], dim: int) -> None:
    a = np.random.RandomState(0).randn(*shape).astype(np.float32) * 5
    e = np.exp(a.astype(np.float64) - a.max(dim, keepdims=True))
    expected = e / e.sum(dim, keepdims=True)
    x = T(a, requires_grad=True)
    np.testing.assert_allclose(torch.softmax(x, dim).detach().numpy(), expected, rtol=2e-6, atol=1e-12)
    logarithm = torch.log_softmax(x, dim).detach().numpy()
    np.testing.assert_allclose(logarithm, np.log(expected), rtol=2e-6, atol=5e-6)
    weight = np.random.RandomState(1).randn(*shape).astype(np.float32)
    (torch.softmax(x, dim) * T(weight)).sum().backward()
    slope = expected * (weight - (weight * expected).sum(dim, keepdims=True))
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("size", [10, 5000])
def test_where_keeps_special_values(size: int) -> None:
    r = np.random.RandomState(0)
    a, b = r.randn(size).astype(np.float32), r.randn(size).astype(np.float32)
    a[0], b[1], a[2] = np.nan, np.inf, -0.0
    c = r.rand(size) > 0.5
    for first, second in ((a, b), (a, 0.0), (0.0, b), (a, 2.5), (-1.5, b)):
        got = torch.where(T(c), *(T(v) if isinstance(v, np.ndarray) else v for v in (first, second))).numpy()
        expected = np.where(c, first, second).astype(np.float32)
        assert np.array_equal(got, expected, equal_nan=True)


def test_special_functions_reach_double_precision() -> None:
    x = T([-3.5, -0.5, 1e-8, 0.3, 2.0, 6.0, 20.0], dtype=torch.float64)
    for name in ("erf", "erfc", "lgamma"):
        expected = [getattr(math, name)(v) for v in x.tolist()]
        np.testing.assert_allclose(getattr(torch, name)(x).tolist(), expected, rtol=1e-13)
    p = T([1e-9, 0.2, 0.5, 0.99], dtype=torch.float64)
    np.testing.assert_allclose(torch.erf(torch.erfinv(p)).tolist(), p.tolist(), rtol=1e-14)
    np.testing.assert_allclose(torch.special.ndtr(torch.special.ndtri(p)).tolist(), p.tolist(), rtol=1e-13)


def test_rrelu_in_training() -> None:
    """Drawn without looking; of 16-bit elements the slopes are longer than what they multiply."""
    from flambeau.engine import looks

    torch.manual_seed(3)
    x = (torch.arange(8.) - 5).mul(0.37).bfloat16().requires_grad_()
    before = len(looks)
    y = torch.nn.functional.rrelu(x, 0.1, 0.9, True)
    (y * 3).sum().backward()
    assert len(looks) == before
    assert y.tolist() == [-0.2353515625, -0.486328125, -0.796875, -0.1767578125, -0.259765625, 0.0,
                          0.369140625, 0.73828125]
    assert x.grad is not None
    assert x.grad.tolist() == [0.380859375, 0.9921875, 2.15625, 0.71875, 2.109375, 1.7578125, 3.0, 3.0]


@pytest.mark.parametrize("tier", ["interpreter", "native"])
@pytest.mark.parametrize("size", [1, 3, 20000])
def test_what_is_filled_with_negative_zero_keeps_its_sign(size: int, tier: str) -> None:
    with torch.config.executor(tier):
        x = torch.ones(size)
        x[0] = -0.0
        for found in (torch.full((size,), -0.0), torch.ones(size).fill_(-0.0), x, torch.full_like(x, -0j)):
            assert math.copysign(1, found[0].item()) == -1
        assert math.copysign(1, torch.full((size,), 0.0)[0].item()) == 1


def test_the_error_function_of_large_numbers_is_one() -> None:
    x = torch.linspace(1, 1e6, 10001, dtype=torch.float64)
    assert bool((x[10:].erf() == 1).all()) and bool(((-x[10:]).erf() == -1).all())
    assert torch.equal(torch.nn.functional.gelu(x[10:]), x[10:])
    assert torch.tensor([1e150, float("inf")], dtype=torch.float64).erf().tolist() == [1, 1]
