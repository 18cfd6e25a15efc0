"""Numbers that do not fit an element type: refused and taken as PyTorch refuses and takes them."""

from __future__ import annotations

import warnings
from enum import IntEnum
from typing import Any

import pytest

import flambeau
from flambeau import nn

# Calls that write a number to the first element of x, the number, and what comes of all of them.
WRITES = ("x.masked_fill(m, {})", "x.scatter(0, i, {})",
          "x.__setitem__(0, {})", "x.__setitem__([0], {})")
WRITTEN = """
float32 | 1e300 | ! value cannot be converted to type float without overflow
float32 | 1+2j | ! value cannot be converted to type float without overflow
float32 | 1+0j | = [1.0, 1.0]
bfloat16 | inf | = [inf, 1.0]
uint8 | -1 | = [255, 1]
uint8 | 300 | ! value cannot be converted to type uint8_t without overflow
int32 | 2**40 | ! value cannot be converted to type int without overflow
int32 | 1.5 | = [1, 1]
int64 | inf | ! value cannot be converted to type int64_t without overflow
bool | 1+2j | = [True, True]
complex64 | 1+2j | = [(1+2j), (1+0j)]
""".strip().splitlines()
# Element type of x, call, and what comes of it: values, or the text of the error.
ROWS = """
float32 | x.fill_(1e300) | ! value cannot be converted to type float without overflow
float32 | x.fill_(1+2j) | ! value cannot be converted to type float without overflow
float32 | x.fill_(1+0j) | = [1.0, 1.0]
float16 | x.fill_(1e300) | ! value cannot be converted to type c10::Half without overflow
float16 | x.fill_(70000.0) | ! value cannot be converted to type c10::Half without overflow
bfloat16 | x.fill_(inf) | = [inf, inf]
uint8 | x.fill_(-1) | = [255, 255]
uint8 | x.fill_(300) | ! value cannot be converted to type uint8_t without overflow
int32 | x.fill_(2**40) | ! value cannot be converted to type int without overflow
int32 | x.fill_(1.5) | = [1, 1]
int64 | x.fill_(inf) | ! value cannot be converted to type int64_t without overflow
bool | x.fill_(1+2j) | = [True, True]
complex64 | x.fill_(1e300) | ! value cannot be converted to type c10::complex<float> without overflow
complex64 | x.fill_(1+2j) | = [(1+2j), (1+2j)]
float32 | torch.full((2,), 1+0j, dtype=x.dtype) | = [1.0, 1.0]
bfloat16 | torch.full((2,), inf, dtype=x.dtype) | = [inf, inf]
uint8 | torch.full((2,), -1, dtype=x.dtype) | = [255, 255]
int32 | torch.full((2,), 1.5, dtype=x.dtype) | = [1, 1]
bool | torch.full((2,), 1+2j, dtype=x.dtype) | = [True, True]
complex64 | torch.full((2,), 1+2j, dtype=x.dtype) | = [(1+2j), (1+2j)]
float32 | x.index_fill(0, i, 1e300) | ! value cannot be converted to type float without overflow
float16 | x.index_fill(0, i, 1e300) | ! value cannot be converted to type c10::Half without overflow
float16 | x.index_fill(0, i, 70000.0) | ! value cannot be converted to type c10::Half without overflow
bfloat16 | x.index_fill(0, i, inf) | = [inf, 1.0]
uint8 | x.index_fill(0, i, -1) | = [255, 1]
uint8 | x.index_fill(0, i, 300) | ! value cannot be converted to type uint8_t without overflow
int32 | x.index_fill(0, i, 2**40) | ! value cannot be converted to type int without overflow
int32 | x.index_fill(0, i, 1.5) | = [1, 1]
int64 | x.index_fill(0, i, inf) | ! value cannot be converted to type int64_t without overflow
complex64 | x.index_fill(0, i, 1+2j) | = [(1+2j), (1+0j)]
float32 | x.clamp(max=1e300) | ! value cannot be converted to type float without overflow
float16 | x.clamp(max=1e300) | ! value cannot be converted to type c10::Half without overflow
float16 | x.clamp(max=70000.0) | ! value cannot be converted to type c10::Half without overflow
bfloat16 | x.clamp(max=inf) | = [1.0, 1.0]
uint8 | x.clamp(max=-1) | = [1, 1]
uint8 | x.clamp(max=300) | ! value cannot be converted to type uint8_t without overflow
int32 | x.clamp(max=2**40) | ! value cannot be converted to type int without overflow
int32 | x.clamp(max=1.5) | = [1.0, 1.0]
int64 | x.clamp(max=inf) | = [1.0, 1.0]
float32 | torch.addcmul(x, x, x, value=1+0j) | = [2.0, 2.0]
float16 | torch.addcmul(x, x, x, value=70000.0) | = [inf, inf]
bfloat16 | torch.addcmul(x, x, x, value=inf) | = [inf, inf]
uint8 | torch.addcmul(x, x, x, value=-1) | = [0, 0]
uint8 | torch.addcmul(x, x, x, value=300) | ! value cannot be converted to type uint8_t without overflow
int32 | torch.addcmul(x, x, x, value=2**40) | ! value cannot be converted to type int without overflow
int32 | torch.addcmul(x, x, x, value=1.5) | = [2, 2]
int64 | torch.addcmul(x, x, x, value=inf) | ! value cannot be converted to type int64_t without overflow
complex64 | torch.addcmul(x, x, x, value=1+2j) | = [(2+2j), (2+2j)]
float32 | torch.lerp(x, x, 1e300) | ! value cannot be converted to type float without overflow
float32 | torch.lerp(x, x, 1+2j) | ! value cannot be converted to type float without overflow
float32 | torch.lerp(x, x, 1+0j) | = [1.0, 1.0]
float16 | torch.lerp(x, x, 1e300) | ! value cannot be converted to type float without overflow
float16 | torch.lerp(x, x, 70000.0) | = [1.0, 1.0]
bfloat16 | torch.lerp(x, x, inf) | = [nan, nan]
complex64 | torch.lerp(x, x, 1+2j) | = [(1+0j), (1+0j)]
float32 | F.leaky_relu(x, 1e300) | ! value cannot be converted to type float without overflow
float32 | F.leaky_relu(x, 1+2j) | ! value cannot be converted to type float without overflow
float32 | F.leaky_relu(x, 1+0j) | = [1.0, 1.0]
float16 | F.leaky_relu(x, 1e300) | ! value cannot be converted to type float without overflow
float16 | F.leaky_relu(x, 70000.0) | = [1.0, 1.0]
bfloat16 | F.leaky_relu(x, inf) | = [1.0, 1.0]
float32 | F.elu(x, 1e300) | ! value cannot be converted to type float without overflow
float32 | F.elu(x, 1+2j) | ! value cannot be converted to type float without overflow
float32 | F.elu(x, 1+0j) | = [1.0, 1.0]
float16 | F.elu(x, 1e300) | ! value cannot be converted to type float without overflow
float16 | F.elu(x, 70000.0) | = [1.0, 1.0]
bfloat16 | F.elu(x, inf) | = [1.0, 1.0]
float32 | F.threshold(x, 1e300, 0) | ! value cannot be converted to type float without overflow
float32 | F.threshold(x, 1+2j, 0) | ! value cannot be converted to type float without overflow
float32 | F.threshold(x, 1+0j, 0) | = [0.0, 0.0]
float16 | F.threshold(x, 1e300, 0) | ! value cannot be converted to type float without overflow
float16 | F.threshold(x, 70000.0, 0) | = [0.0, 0.0]
bfloat16 | F.threshold(x, inf, 0) | = [0.0, 0.0]
uint8 | F.threshold(x, -1, 0) | = [0, 0]
uint8 | F.threshold(x, 300, 0) | ! value cannot be converted to type uint8_t without overflow
int32 | F.threshold(x, 2**40, 0) | ! value cannot be converted to type int without overflow
int32 | F.threshold(x, 1.5, 0) | = [0, 0]
int64 | F.threshold(x, inf, 0) | ! value cannot be converted to type int64_t without overflow
float32 | F.threshold(x, 0, 1e300) | ! value cannot be converted to type float without overflow
float32 | F.threshold(x, 0, 1+2j) | ! value cannot be converted to type float without overflow
float32 | F.threshold(x, 0, 1+0j) | = [1.0, 1.0]
float16 | F.threshold(x, 0, 1e300) | ! value cannot be converted to type c10::Half without overflow
float16 | F.threshold(x, 0, 70000.0) | ! value cannot be converted to type c10::Half without overflow
bfloat16 | F.threshold(x, 0, inf) | = [1.0, 1.0]
uint8 | F.threshold(x, 0, -1) | = [1, 1]
uint8 | F.threshold(x, 0, 300) | ! value cannot be converted to type uint8_t without overflow
int32 | F.threshold(x, 0, 2**40) | ! value cannot be converted to type int without overflow
int32 | F.threshold(x, 0, 1.5) | = [1, 1]
int64 | F.threshold(x, 0, inf) | ! value cannot be converted to type int64_t without overflow
float32 | F.softplus(x, 1e300) | ! value cannot be converted to type float without overflow
float32 | F.softplus(x, 1+2j) | ! value cannot be converted to type float without overflow
float16 | F.softplus(x, 1e300) | ! value cannot be converted to type float without overflow
float16 | F.softplus(x, 70000.0) | = [1.0, 1.0]
bfloat16 | F.softplus(x, inf) | = [1.0, 1.0]
float32 | F.pad(x, (1, 1), value=1e300) | ! value cannot be converted to type float without overflow
float16 | F.pad(x, (1, 1), value=1e300) | ! value cannot be converted to type c10::Half without overflow
bfloat16 | F.pad(x, (1, 1), value=inf) | = [inf, 1.0, 1.0, inf]
uint8 | F.pad(x, (1, 1), value=300) | ! value cannot be converted to type uint8_t without overflow
int32 | F.pad(x, (1, 1), value=2**40) | ! value cannot be converted to type int without overflow
int32 | F.pad(x, (1, 1), value=1.5) | = [1, 1, 1, 1]
int64 | F.pad(x, (1, 1), value=inf) | ! value cannot be converted to type int64_t without overflow
float32 | torch.addmm(x[:, None], x[:, None], x[:1, None], alpha=1+0j) | = [[2.0], [2.0]]
float16 | torch.addmm(x[:, None], x[:, None], x[:1, None], alpha=70000.0) | = [[inf], [inf]]
bfloat16 | torch.addmm(x[:, None], x[:, None], x[:1, None], alpha=inf) | = [[inf], [inf]]
uint8 | torch.addmm(x[:, None], x[:, None], x[:1, None], alpha=-1) | = [[0], [0]]
int32 | torch.addmm(x[:, None], x[:, None], x[:1, None], alpha=1.5) | = [[2], [2]]
complex64 | torch.addmm(x[:, None], x[:, None], x[:1, None], alpha=1+2j) | = [[(2+2j)], [(2+2j)]]
float16 | x.masked_fill(m, 1e300) | ! value cannot be converted to type c10::Half without overflow
float16 | x.scatter(0, i, 1e300) | ! value cannot be converted to type c10::Half without overflow
float16 | x.__setitem__(0, 1e300) | = [inf, 1.0]
float16 | x.__setitem__([0], 1e300) | = [inf, 1.0]
float16 | x.masked_fill(m, 70000.0) | ! value cannot be converted to type c10::Half without overflow
float16 | x.scatter(0, i, 70000.0) | ! value cannot be converted to type c10::Half without overflow
float16 | x.__setitem__(0, 70000.0) | = [inf, 1.0]
float16 | x.__setitem__([0], 70000.0) | = [inf, 1.0]
""".strip().splitlines()


def outcome(torch: Any, dtype: str, code: str) -> str:
    """The values that a call gives, or its error, as the rows say it."""
    x = torch.ones(2, dtype=getattr(torch, dtype))
    names = {"x": x, "m": torch.tensor([True, False]), "i": torch.tensor([0]), "inf": float("inf"),
             "torch": torch, "F": torch.nn.functional}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(code, names)
            return f"= {(x if result is None else result).tolist()!r}"
    except RuntimeError as error:
        return f"! {error}"


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("row", WRITTEN)
def test_a_number_that_is_written(torch: Any, row: str, write: str) -> None:
    dtype, number, expected = row.split(" | ")
    assert outcome(torch, dtype, write.format(number)) == expected


@pytest.mark.parametrize("row", ROWS)
def test_a_number_that_does_not_fit(torch: Any, row: str) -> None:
    dtype, code, expected = row.split(" | ")
    assert outcome(torch, dtype, code) == expected


REFUSED = """
torch.ones(3).as_strided((2, 2), (1, 1), -1) | Tensor: invalid storage offset -1
torch.linalg.cholesky(torch.full((2, 2), nan)) | (the leading minor of order 1 is not positive-definite)
F.huber_loss(k, k) | "huber_cpu" not implemented for 'Int'
F.smooth_l1_loss(k, k) | "smooth_l1_cpu" not implemented for 'Int'
F.mse_loss(k, k) | "mse_cpu" not implemented for 'Int'
F.unfold(k.view(1, 1, 2, 2), 2) | "im2col_out_cpu" not implemented for 'Int'
F.dropout(torch.ones(3, dtype=torch.complex64), 0.5) | "bernoulli_scalar_cpu_" not implemented
torch.ones(3, dtype=torch.complex64).random_(5) | check_random_bounds handles only
torch.searchsorted(torch.tensor(3.), torch.tensor(3.)) | input value can be a scalar only when
torch.isin(torch.tensor([True]), torch.tensor([True])) | Unsupported input type encountered for isin(): Bool
torch.trapezoid(torch.tensor([True])) | received a bool input for `y`, but bool is not supported
torch.trace(torch.tensor([[True]])) | "trace" not implemented for 'Bool'
x.expand(3, 2).__setitem__(0, 1.5) or x.expand(3, 2).__setitem__((..., 0), 1.5) | more than one element of
torch.gcd(torch.ones(2, 3), torch.ones(2, 4)) | must match the size of tensor b (4) at non-singleton
torch.ones(2, 3) & torch.ones(2, 4) | must match the size of tensor b (4) at non-singleton dimension 1
torch.randn(-1, 2) | Trying to create tensor with negative dimension -1: [-1, 2]
torch.ones(3, requires_grad=True).copy_(torch.ones(2)) | a leaf Variable that requires grad is being used
F.cosine_similarity(torch.ones(2, 3), torch.ones(2, 3) * 1j) | expected common dtype to be floating point
torch.tensor(2.5).unflatten(-1, (3, 4)) | unflatten got an unexpected error
x.scatter_(0, i, x) | some elements of the input tensor and the written-to tensor refer to a single memory
x.scatter_add_(0, i, x) | some elements of the input tensor and the written-to tensor refer to a single memory
x.scatter_reduce_(0, i, x, "sum") | some elements of the input tensor and the written-to tensor refer to
x.index_put_((i,), x[:1]) | some elements of the input tensor and the written-to tensor refer to a single
x.index_add_(0, i, x[:1]) | some elements of the input tensor and the written-to tensor refer to a single
x.index_copy_(0, i, x[:1]) | some elements of the input tensor and the written-to tensor refer to a single
x.put_(i, x[:1]) | some elements of the input tensor and the written-to tensor refer to a single memory
""".strip().splitlines()


@pytest.mark.parametrize("row", REFUSED)
def test_what_is_refused(torch: Any, row: str) -> None:
    code, expected = row.split(" | ")
    names = {"torch": torch, "F": torch.nn.functional, "x": torch.ones(2), "i": torch.tensor([0]),
             "k": torch.ones(4, dtype=torch.int32), "nan": float("nan")}
    with pytest.raises((RuntimeError, NotImplementedError)) as caught:
        eval(code, names)
    assert expected in str(caught.value)


def test_values_that_are_repeated_in_memory_are_filled(torch: Any) -> None:
    """Other writes to such tensors are refused: it is not known which of several values was meant."""
    x = torch.zeros(3, 1)
    wide = x.expand(3, 4)
    wide.fill_(2)
    assert x.tolist() == [[2.0]] * 3 and wide.shape == (3, 4)
    torch.nn.init.ones_(wide[:2])
    assert x.tolist() == [[1.0], [1.0], [2.0]]
    wide.zero_()
    assert x.tolist() == [[0.0]] * 3
    with pytest.raises(RuntimeError, match="more than one element"):
        wide.add_(1)


@pytest.mark.parametrize("code, strides", [
    ("2 ** t", (3, 1)), ("torch.pow(1, t)", (3, 1)), ("torch.nonzero(torch.ones(3))", (1, 3)),
    ("torch.argwhere(torch.ones(2, 2))", (1, 4))])
def test_strides(torch: Any, code: str, strides: tuple[int, ...]) -> None:
    assert eval(code, {"torch": torch, "t": torch.ones(3, 2).t()}).stride() == strides


def test_an_integral_of_small_integers_does_not_wrap_around(torch: Any) -> None:
    """It is the sum, in wide integers, less half of both ends."""
    assert torch.trapezoid(torch.tensor([200, 200, 200], dtype=torch.uint8)).item() == 528.0


@pytest.mark.parametrize("loss", ["mse_loss", "l1_loss", "smooth_l1_loss"])
def test_a_target_without_dimensions_counts_as_a_tensor(torch: Any, loss: str) -> None:
    loss = getattr(torch.nn.functional, loss)
    with pytest.warns(UserWarning, match="target size"):
        assert loss(torch.ones(2, 3).bfloat16(), torch.tensor(2.5)).dtype is torch.float32
    with pytest.warns(UserWarning, match="target size"):
        assert loss(torch.ones(2, 3), torch.tensor(2.5)).dtype is torch.float32


def test_each_side_of_a_cosine_has_its_own_precision(torch: Any) -> None:
    low, high = torch.tensor([[1.1, 2.3, 3.7]]).bfloat16(), torch.tensor([[3.0, 4.0, 1.0]])
    assert torch.cosine_similarity(low, high).item() == pytest.approx(0.7073, abs=5e-5)
    assert torch.cosine_similarity(high, high.long()).item() == pytest.approx(1)


class _Pad(IntEnum):
    ZERO = 0
    THREE = 3


class _Real(float):
    pass


@pytest.mark.parametrize("call, wanted", [
    (lambda x, m: flambeau.full((2,), _Pad.THREE), [3, 3]),
    (lambda x, m: flambeau.full((2,), _Real(.5)), [.5, .5]),
    (lambda x, m: x.fill_(_Pad.THREE), [3, 3]),
    (lambda x, m: x.masked_fill(m, _Pad.THREE), [3, 1]),
    (lambda x, m: flambeau.where(m, _Pad.THREE, x), [3, 1]),
    (lambda x, m: x.add(x, alpha=_Pad.THREE), [4, 4]),
    (lambda x, m: x.new_full((2,), _Pad.ZERO), [0, 0]),
    (lambda x, m: x.lerp(x * 3, _Real(.5)), [2, 2]),
    (lambda x, m: nn.functional.leaky_relu(-x, _Real(.5)), [-.5, -.5])])
def test_numbers_of_classes_made_of_pythons_are_numbers(call: Any, wanted: list[float]) -> None:
    found = call(flambeau.ones(2), flambeau.tensor([True, False]))
    assert found.tolist() == wanted
