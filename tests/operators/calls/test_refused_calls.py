"""Calls that PyTorch refuses: operands that overlap with what is written, and what else does not fit."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch

F = torch.nn.functional
_OVERLAPS = "some elements of the input tensor and the written-to tensor refer to a single memory location"


def matrix() -> torch.Tensor:
    return torch.arange(9.0).reshape(3, 3)


PARTLY_WRITTEN = [
    "torch.add(x.t(), 1, out=x)", "torch.clamp(x.t(), 0, 1, out=x)", "torch.pow(x.t(), 2, out=x)",
    "torch.eq(x.t(), 1, out=x)", "torch.lerp(x.t(), x, 0.5, out=x)", "torch.addcmul(x.t(), x, x, out=x)",
    "torch.round(x.t(), out=x)", "torch.maximum(x.t(), x, out=x)", "torch.atan2(x.t(), x, out=x)",
    "torch.nan_to_num(x.t(), out=x)", "torch.logit(x.t(), out=x)", "torch.cumsum(x.t(), 0, out=x)",
    "torch.cumprod(x.t(), 0, out=x)", "torch.logcumsumexp(x.t(), 0, out=x)", "torch.fmod(x.t(), 2.0, out=x)",
    "torch.where(x > 0, x.t(), x, out=x)", "torch.stack([x[1], x[0]], out=x[:2])",
    "torch.vstack([x[1:], x[:1]], out=x)", "torch.max(x, 0, out=(x[0], i.clone()))",
    "torch.addmm(x.t(), x, x, out=x)", "torch.linalg.cross(x.t(), x, out=x)",
    "torch.take_along_dim(x.t(), torch.zeros(3, 3).long(), 0, out=x)",
    "torch.index_add(x, 0, i, x.t(), out=x)", "torch.scatter(x, 0, torch.zeros(3, 3).long(), x.t(), out=x)",
    "torch.add(x[:2], x[1:], out=x[1:])",
    "b[1:].masked_fill_(b[:-1], False)", "i.index_fill_(0, i, 5)", "i.__setitem__(i, i + 5)",
    "i.index_put_((i,), i + 5)",
]


@pytest.mark.parametrize("expression", PARTLY_WRITTEN)
def test_what_is_read_is_not_written(expression: str) -> None:
    names = {"x": matrix(), "i": torch.tensor([2, 1, 0]), "b": torch.tensor([True, False, True])}
    before = {name: value.tolist() for name, value in names.items()}
    with pytest.raises(RuntimeError, match=_OVERLAPS):
        eval(expression, {"torch": torch, **names})
    assert {name: value.tolist() for name, value in names.items()} == before


def test_an_operand_itself_may_be_written() -> None:
    x = matrix()
    torch.add(x, 1, out=x)
    torch.cumsum(x, 0, out=x)
    torch.where(x > 3, x, -x, out=x)
    torch.mul(x[:1], 2, out=x[1:2])
    assert x.tolist() == [[-1, -2, -3], [-2, -4, -6], [12, 15, 18]]
    mask = torch.tensor([True, False])
    mask.masked_fill_(mask, False)
    assert mask.tolist() == [False, False]


# --- divisors -----------------------------------------------------------------------------------------------

DIVISIONS = ["x // y", "x % y", "torch.fmod(x, y)", "torch.remainder(5, y)", "torch.floor_divide(x, y)",
             "torch.div(x, y, rounding_mode='floor')", "torch.div(5, y, rounding_mode='trunc')",
             "x.__ifloordiv__(y)", "x.__imod__(y)", "7 // y", "7 % y"]


@pytest.mark.parametrize("expression", DIVISIONS)
def test_a_known_divisor_of_zero_is_refused_where_it_is_recorded(expression: str) -> None:
    x, y = torch.tensor([5, 6]), torch.tensor([2, 0])
    with pytest.raises(RuntimeError, match=r"^ZeroDivisionError$"):
        eval(expression, {"torch": torch, "x": x, "y": y})
    assert x.tolist() == [5, 6]


def test_a_pending_divisor_of_zero_is_refused_at_the_look() -> None:
    x, y = torch.tensor([5, 6]), torch.tensor([2, 0])
    found = x // (y + 0)
    with pytest.raises(RuntimeError, match=r"^ZeroDivisionError") as caught:
        found.tolist()
    assert "found = x // (y + 0)" in str(getattr(caught.value, "__notes__", ""))


def test_nothing_is_divided_by_zero() -> None:
    empty, zero = torch.zeros(0, dtype=torch.int64), torch.tensor(0)
    for found in (empty // zero, empty % (zero + 0), torch.fmod(empty, zero), empty // 0):
        assert found.tolist() == []
    with pytest.raises(RuntimeError, match="must match the size"):
        torch.ones(3, dtype=torch.int64) // torch.zeros(2, dtype=torch.int64)
    assert (torch.tensor([1.0]) // zero).tolist() == [float("inf")]


# --- messages -----------------------------------------------------------------------------------------------

MESSAGES = [
    ("F.conv2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 1).double())", RuntimeError,
     "expected scalar type Float but found Double"),
    ("F.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 4, 4).double())", RuntimeError,
     "should be a MKLDNN tensor"),
    ("F.conv1d(torch.ones(1, 2, 2), torch.ones(2, 1, 1).double(), groups=2)", RuntimeError, "MKLDNN tensor"),
    ("F.conv1d(torch.ones(1, 1, 20481), torch.ones(1, 1, 2).double())", RuntimeError, "MKLDNN tensor"),
    ("F.conv2d(torch.ones(2, 1, 2, 2), torch.ones(1, 1, 1, 1).double())", RuntimeError,
     "Input type (torch.FloatTensor) and weight type (torch.DoubleTensor) should be the same or input should "
     "be a MKLDNN tensor and weight is a dense tensor"),
    ("torch.nn.ConvTranspose1d(1, 1, 1).half()(torch.ones(2, 1, 2))", RuntimeError,
     "Input type (torch.FloatTensor) and weight type (torch.HalfTensor) should be the same or input should "
     "be a MKLDNN tensor and weight is a dense tensor"),
    ("F.conv1d(torch.ones(2, 1, 2), torch.ones(1, 1, 1).bool())", RuntimeError, "weight type (CPUBoolType)"),
    ("F.layer_norm(torch.ones(2, 4), 4)", TypeError,
     "layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int"),
    ("F.rms_norm(torch.ones(2, 4), 4)", TypeError,
     "rms_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int"),
    ("F.layer_norm(torch.ones(2, 4), (4,), torch.ones(4), torch.ones(4).double())", RuntimeError,
     "expected scalar type Float but found Double"),
    ("F.group_norm(torch.ones(2, 4), 2, torch.ones(4), torch.ones(4).half())", RuntimeError,
     "expected scalar type Float but found Half"),
    ("torch.index_select(torch.ones(3, 4), 0, torch.tensor([7]))", IndexError, "index out of range in self"),
    ("torch.index_select(torch.ones(3, 4, 5), 1, torch.tensor([7]))", RuntimeError,
     "INDICES element is out of DATA bounds, id=7 axis_dim=4"),
    ("torch.index_select(torch.ones(3, 4), 1, torch.tensor([7]) + 0)", RuntimeError,
     "INDICES element is out of DATA bounds, id=7 axis_dim=4"),
    ("torch.index_select(torch.ones(3, 4, 5), 2, torch.tensor([7]))", IndexError,
     "index out of range in self"),
    ("torch.ones(3, 4).index_add_(0, torch.tensor([3]), torch.ones(1, 4))", RuntimeError,
     "index 3 is out of bounds for dimension 0 with size 3"),
    ("torch.ones(3, 4).index_add_(1, torch.tensor([7]) + 0, torch.ones(3, 1))", RuntimeError,
     "index 7 is out of bounds for dimension 1 with size 4"),
    ("torch.ones(3, 4, 5).index_add_(1, torch.tensor([7]), torch.ones(3, 1, 5))", IndexError,
     "index out of range in self"),
    ("torch.ones(3).index_add_(0, torch.tensor([7]), torch.ones(1))", IndexError,
     "index out of range in self"),
    ("torch.ones(3, 4).index_add_(0, torch.tensor([7]).int(), torch.ones(1, 4))", IndexError,
     "index out of range in self"),
    ("F.grid_sample(torch.ones(1, 1, 2, 2), torch.zeros(1, 2, 2, 2).double(), align_corners=True)",
     RuntimeError,
     "expected scalar type Float but found Double"),
    ("F.grid_sample(torch.ones(1, 1, 2, 2).int(), torch.zeros(1, 2, 2, 2), align_corners=True)",
     NotImplementedError, "\"grid_sampler_2d_cpu_kernel_impl\" not implemented for 'Int'"),
    ("torch.baddbmm(torch.ones(1, 2, 2), torch.ones(1, 2, 2), torch.ones(1, 2, 2).half())", RuntimeError,
     "expected scalar type Float but found Half"),
    ("torch.ones(3).index_fill_(0, torch.tensor([0]).int(), 1)", IndexError,
     "index_fill_(): Expected dtype int64 for index."),
    ("F.softmax(torch.ones(2), 0, bogus=1)", TypeError,
     "softmax() got an unexpected keyword argument 'bogus'"),
    ("torch.eq(torch.ones(2), 1, out=1)", TypeError,
     "eq() received an invalid combination of arguments - got (Tensor, int, out=int), but expected one of:"),
    ("torch.linalg.inv(torch.eye(2), out=1)", TypeError,
     "linalg_inv(): argument 'out' must be Tensor, not int"),
    ("torch.max(torch.ones(2, 2), 1, out=torch.empty(0))", TypeError,
     "max() received an invalid combination of arguments - got (Tensor, int, out=Tensor)"),
    ("torch.squeeze(torch.ones(1, 2), 0, out=torch.empty(0))", TypeError,
     "squeeze() received an invalid combination of arguments - got (Tensor, int, out=Tensor)"),
    ("torch.ones(2, 2).transpose((0, 1), 1)", TypeError,
     "transpose(): argument 'dim0' (position 1) must be int, not tuple"),
    ("torch.transpose(torch.ones(2, 2), 0, None)", TypeError,
     "transpose(): argument 'dim1' (position 3) must be int, not NoneType"),
    ("torch.ones(2).add(None)", TypeError,
     "add(): argument 'other' (position 1) must be Tensor, not NoneType"),
    ("torch.div(torch.ones(2), 'a')", TypeError,
     "div(): argument 'other' (position 2) must be Tensor, not str"),
    ("torch.ones(2, 4).bernoulli_(torch.ones(3))", RuntimeError,
     "The expanded size of the tensor (4) must match the existing size (3) at non-singleton dimension 1."),
    ("torch.ones(2).set_(torch.ones(2).half())", RuntimeError,
     "Could not set tensor of type c10::Half to a tensor of type float"),
    ("torch.ones(2).to(str)", TypeError, "combination of arguments - got (type), but expected one of:"),
    ("torch.ones(2).to(dtype=torch.float, device=[1])", TypeError,
     "combination of arguments - got (device=list, dtype=torch.dtype, ), but expected one of:"),
    ("torch.nn.ConvTranspose1d(1, 1, 3)(torch.ones(1, 1, 4), output_size=(20,))", ValueError,
     "requested an output size of (20,), but valid sizes range from [6] to [6]"),
    ("torch.add(None, torch.ones(2))", TypeError,
     "add(): argument 'input' (position 1) must be Tensor, not NoneType"),
    ("torch.div(None, torch.ones(2), rounding_mode='floor')", TypeError,
     "div() received an invalid combination of arguments - got (NoneType, Tensor, rounding_mode=str)"),
    ("torch.sub(True, torch.ones(2))", RuntimeError, "Subtraction, the `-` operator, with a bool tensor"),
    ("torch.div(5, torch.ones(2), rounding_mode='x')", RuntimeError,
     "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'x'"),
]


@pytest.mark.parametrize(("expression", "kind", "message"), MESSAGES, ids=[row[0] for row in MESSAGES])
def test_messages(expression: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        eval(expression, {"torch": torch, "F": F}).tolist()
    assert message in str(caught.value)


def test_integers_of_other_kinds_are_dimensions() -> None:
    x, one = torch.arange(6.0).reshape(2, 3), np.int64(1)
    assert torch.all(x, one).tolist() == [False, True] and torch.any(x, one).tolist() == [True, True]
    assert torch.movedim(x, one, 0).shape == torch.movedim(x, torch.tensor(1), 0).shape == (3, 2)
    for dim in (one, torch.tensor(1)):
        assert torch.linalg.norm(x, 1, dim).tolist() == [3, 12]
    assert F.pad(x[0], (1, 0), value=torch.tensor(7.0)).tolist() == [7, 0, 1, 2]


def test_a_new_tensor_is_made_in_the_type_of_out() -> None:
    def out(dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(0, dtype=dtype)
    assert torch.full((2,), 1.5, out=out(torch.int32)).tolist() == [1, 1]
    assert torch.linspace(0, 3, 5, out=out(torch.int64)).tolist() == [0, 0, 1, 2, 3]
    assert torch.linspace(0, 1, 4, out=out(torch.float64))[1].item() == 1 / 3
    assert torch.eye(2, out=out(torch.bool)).tolist() == [[True, False], [False, True]]
    assert torch.arange(3, out=out(torch.float16)).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="does not match dtype of out parameter"):
        torch.zeros(2, dtype=torch.float32, out=out(torch.int32))
    with pytest.raises(TypeError, match=r"linspace\(\) received an invalid combination of arguments"):
        torch.linspace(0, 1, 5, out=1)
