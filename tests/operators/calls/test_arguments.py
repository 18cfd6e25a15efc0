"""Arguments as users write them: Python's types as dtypes, and data that is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau as torch

F = torch.nn.functional


def ones() -> Any:
    return torch.ones(2, 2)


TYPED: list[Callable[[Any], Any]] = [
    lambda d: torch.zeros(2, dtype=d), lambda d: torch.tensor([1], dtype=d),
    lambda d: torch.full((1,), 1, dtype=d), lambda d: torch.arange(3, dtype=d),
    lambda d: torch.eye(2, dtype=d), lambda d: torch.as_tensor([1], dtype=d),
    lambda d: torch.asarray([1], dtype=d), lambda d: torch.empty(0, dtype=d), lambda d: ones().to(d),
    lambda d: ones().to(dtype=d), lambda d: ones().to("cpu", d), lambda d: ones().sum(dtype=d),
    lambda d: torch.cumsum(ones(), 0, dtype=d), lambda d: ones().new_zeros(1, dtype=d),
    lambda d: torch.ones_like(ones(), dtype=d), lambda d: torch.scalar_tensor(1, dtype=d),
    lambda d: ones().new_tensor([1], dtype=d), lambda d: ones().view(d),
]


@pytest.mark.parametrize("number", range(len(TYPED)))
def test_a_python_type_is_a_dtype(number: int) -> None:
    assert TYPED[number](float).dtype is torch.float64
    assert TYPED[number](int).dtype is torch.int64


def test_python_types_of_modules_softmax_and_limits() -> None:
    assert torch.nn.Linear(1, 1, dtype=float).weight.dtype is torch.float64
    assert torch.nn.Linear(1, 1).to(float).weight.dtype is torch.float64
    assert F.softmax(ones(), 0, dtype=float).dtype is torch.float64
    assert torch.randn(1, dtype=complex).dtype is torch.complex128
    assert torch.finfo(float).bits == 64 and torch.promote_types(float, torch.int8) is torch.float64


@pytest.mark.parametrize("wrong", [str, np.float32, "float32", 3])
def test_other_types_are_no_dtypes(wrong: Any) -> None:
    name = type(wrong).__name__
    for call in (torch.zeros, torch.ones, torch.empty):
        with pytest.raises(TypeError, match=f"argument 'dtype' must be torch.dtype, not {name}"):
            call(2, dtype=wrong)
    with pytest.raises(TypeError, match=f"argument 'dtype' must be torch.dtype, not {name}"):
        torch.tensor([1], dtype=wrong)


REFUSED: list[tuple[Any, Any, type[Exception], str]] = [
    ([1, "a"], None, TypeError, "invalid data type 'str'"),
    ({1: 2}, None, RuntimeError, "infer dtype of dict"),
    ([None], None, RuntimeError, "infer dtype of NoneType"),
    ([2**63], None, ValueError, "unpacking long long"),
    ([300], torch.uint8, RuntimeError, "type uint8 without overflow"),
    ([3e9], torch.int32, RuntimeError, "int32 without"),
    ([-256], torch.uint8, RuntimeError, "without overflow"),
    ([math.nan], torch.int64, RuntimeError, "without overflow"),
    ([1j], torch.int32, TypeError, "cannot be interpreted"), (np.arange(3)[::-1], None, ValueError, "stride"),
    ([-1], torch.uint64, OverflowError, "negative int to unsigned"),
]


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: str(row[0]))
def test_data_that_is_refused(row: tuple[Any, Any, type[Exception], str]) -> None:
    data, dtype, kind, message = row
    with pytest.raises(kind, match=message):
        torch.tensor(data, dtype=dtype)


# What C++ calls element types, as PyTorch has it.
SPOKEN = {
    torch.bool: "bool", torch.uint8: "unsigned char", torch.int8: "signed char", torch.int16: "short int",
    torch.int32: "int", torch.int64: "long int", torch.uint16: "short unsigned int",
    torch.uint32: "unsigned int", torch.uint64: "long unsigned int", torch.float16: "c10::Half",
    torch.bfloat16: "c10::BFloat16", torch.float64: "double", torch.complex32: "c10::complex<c10::Half>",
    torch.complex64: "c10::complex<float>", torch.float8_e4m3fn: "c10::Float8_e4m3fn",
}


@pytest.mark.parametrize("dtype", SPOKEN, ids=str)
def test_messages_name_types_as_cpp_does(dtype: Any) -> None:
    x, leaf, name = ones().to(dtype), ones().requires_grad_(), re.escape(SPOKEN[dtype])
    with pytest.raises(TypeError, match=rf"got TensorOptions\(dtype={name}, "):
        torch.FloatTensor(x)
    with pytest.raises(RuntimeError, match=f"for `end` but got dtype {name}$"):
        torch.lerp(ones(), x, 0.5)
    with pytest.raises(RuntimeError, match=f"but got: float != {name}$"):
        torch.mm(ones(), x)
    with pytest.raises(RuntimeError, match=f"to have dtype float, but got {name} instead"):
        torch.mm(ones(), ones(), out=x)
    with pytest.raises(RuntimeError, match=f"gradient with dtype '{name}'"):
        leaf.grad = x


@pytest.mark.parametrize(("dtype", "name"), [(torch.float16, "c10::Half"), (torch.float32, "float"),
                                             (torch.int16, "int16_t"), (torch.int32, "int")], ids=str)
def test_complex_numbers_are_refused_by_the_name_of_the_type(dtype: Any, name: str) -> None:
    mask = torch.tensor([True, False])
    for call in (lambda: torch.ones(2, dtype=dtype).masked_fill(mask, 1j),
                 lambda: torch.ones(2, dtype=dtype).fill_(1j), lambda: torch.full((2,), 1j, dtype=dtype)):
        with pytest.raises(RuntimeError, match=f"converted to type {name} without overflow"):
            call()


def test_negative_numbers_wrap_around_in_unsigned_types() -> None:
    assert torch.tensor([-1, -255], dtype=torch.uint8).tolist() == [255, 1]
    assert torch.tensor([2.7], dtype=torch.uint8).tolist() == [2]
    assert torch.tensor(2**63, dtype=torch.uint64).item() == 2**63


def test_remainders_of_zero_have_the_sign_of_the_dividend() -> None:
    for dtype in (torch.float16, torch.float32, torch.float64):
        x = torch.tensor([-0.0, 0.0, -4.0, 4.0, -3.0], dtype=dtype)
        for divisor, last in ((4, 1.0), (-4, -3.0)):
            rest = torch.remainder(x, divisor)
            assert torch.signbit(rest[:4]).tolist() == [True, False, True, False]
            assert rest.tolist() == [0, 0, 0, 0, last]


def test_a_weight_without_dimensions_counts_as_a_number() -> None:
    assert torch.lerp(ones(), 2 * ones(), torch.tensor(0.5, dtype=torch.float64)).dtype is torch.float32
    with pytest.raises(RuntimeError, match="expected dtype float for `weight`"):
        torch.lerp(ones(), ones(), torch.tensor([0.5], dtype=torch.float64))


def test_narrow_integers_are_no_indices() -> None:
    for dtype in (torch.int8, torch.int16):
        with pytest.raises(IndexError, match="must be long, int, byte or bool"):
            ones()[torch.tensor([0, 1], dtype=dtype)]


EXACT: list[tuple[Callable[[Any, Any], Any], str]] = [
    (lambda x, out: torch.mm(x, x, out=out), "to have dtype float, but got double instead"),
    (lambda x, out: torch.tril(x, out=out), "Expected out tensor to have dtype float"),
    (lambda x, out: torch.linalg.inv(x, out=out), "Expected out tensor to have dtype float"),
    (lambda x, out: torch.index_select(x, 0, torch.tensor([0]), out=out), "must have the same scalar type"),
    (lambda x, out: torch.abs(x, out=out), "Found dtype Double but expected Float"),
    (lambda x, out: torch.max(x, 0, out=(out, torch.empty(0).long())), "Expected out tensor to have dtype"),
    (lambda x, out: torch.all(x, 0, out=out), "all only supports bool tensor for result, got: Double"),
]


@pytest.mark.parametrize("number", range(len(EXACT)))
def test_out_of_another_type_is_refused(number: int) -> None:
    call, message = EXACT[number]
    with pytest.raises(RuntimeError, match=message):
        call(torch.eye(2), torch.empty(0, dtype=torch.float64))


def test_an_error_of_one_of_several_out_names_the_function() -> None:
    out = torch.empty(0, requires_grad=True), torch.empty(0, dtype=torch.int64)
    for extreme in (torch.max, torch.min):
        with pytest.raises(RuntimeError, match=rf"^{extreme.__name__}\(\): functions with out=... arguments"):
            extreme(ones(), 0, out=out)


def test_out_that_is_converted_to() -> None:
    for call in (torch.add, torch.maximum, torch.mul):
        assert call(ones(), ones(), out=torch.empty(0, dtype=torch.float64)).dtype is torch.float64
    assert torch.sum(ones(), 0, out=torch.empty(0, dtype=torch.float64)).tolist() == [2, 2]


def test_views_that_became_leaves_are_not_written_to() -> None:
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    for write in (lambda: x.add_(1), lambda: x[0].add_(1), lambda: x.view(-1)[0].fill_(2)):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used"):
            write()
    with torch.no_grad():
        x.add_(1)
    base, weight = torch.zeros(3), torch.ones(2, requires_grad=True)
    part = base[:2]
    part.mul_(weight)
    assert part.add_(1).requires_grad and base[:1].add_(1).tolist() == [2]


AXIS: list[Callable[[dict[str, int]], Any]] = [
    lambda d: torch.stack([ones(), ones()], **d), lambda d: torch.softmax(ones(), **d),
    lambda d: ones().squeeze(**d), lambda d: ones().unsqueeze(**d), lambda d: torch.sort(ones(), **d)[0],
    lambda d: ones().topk(1, **d)[0], lambda d: torch.linalg.norm(ones(), **d),
    lambda d: torch.fft.fft(ones(), **d), lambda d: ones().argsort(**d),
    lambda d: torch.gather(ones(), index=torch.tensor([[0, 1]]), **d),
    lambda d: torch.chunk(ones(), 2, **d)[0], lambda d: torch.diff(ones(), **d),
    lambda d: torch.cumsum(ones(), **d),
]


@pytest.mark.parametrize("number", range(len(AXIS)))
def test_axis_is_dim(number: int) -> None:
    assert torch.equal(AXIS[number]({"axis": 0}), AXIS[number]({"dim": 0}))


def test_functions_written_in_python_take_no_axis() -> None:
    for function in (F.softmax, F.normalize, F.log_softmax):
        with pytest.raises(TypeError, match="axis"):
            function(ones(), axis=0)


M = torch.tensor([[2.0, 0.0], [1.0, 3.0]])
BY_NAME: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
    (lambda: torch.rand(size=(2, 3)).shape, lambda: (2, 3)),
    (lambda: torch.randn(size=[2], dtype=torch.float64).dtype, lambda: torch.float64),
    (lambda: M.new(size=(3,)).shape, lambda: (3,)),
    (lambda: M.clone().resize_(size=(4,)).tolist(), lambda: [2, 0, 1, 3]),
    (lambda: M.swapaxes(axis0=0, axis1=1).tolist(), M.T.tolist),
    (lambda: M.clone().swapaxes_(axis0=0, axis1=1).tolist(), M.T.tolist),
    (lambda: torch.zeros(2, 2).copy_(other=M).tolist(), M.tolist),
    (lambda: torch.heaviside(input=M, values=M).tolist(), lambda: torch.heaviside(M, M).tolist()),
    (lambda: M.clone().heaviside_(values=M).tolist(), lambda: torch.heaviside(M, M).tolist()),
    (lambda: F.one_hot(input=torch.tensor([1]), num_classes=2).tolist(), lambda: [[0, 1]]),
    (lambda: torch.cholesky_solve(input=M, input2=M).tolist(), lambda: torch.cholesky_solve(M, M).tolist()),
    (lambda: torch.sum(a=M, axis=0).tolist(), lambda: [3, 3]),
    (lambda: torch.add(x1=M, x2=M).tolist(), lambda: (2 * M).tolist()),
    (lambda: torch.matmul(M, x2=M).tolist(), lambda: (M @ M).tolist()),
    (lambda: torch.linalg.norm(x=M).item(), lambda: torch.linalg.norm(M).item()),
    (lambda: torch.linalg.eigvals(input=M).tolist(), lambda: torch.linalg.eigvals(M).tolist()),
    (lambda: torch.linalg.matrix_rank(input=M).item(), lambda: 2),
    (lambda: torch.special.airy_ai(x=M).tolist(), lambda: torch.special.airy_ai(M).tolist()),
]


@pytest.mark.parametrize("row", range(len(BY_NAME)))
def test_operands_by_the_names_that_pytorchs_functions_know(row: int) -> None:
    named, expected = BY_NAME[row]
    assert named() == expected()


def test_without_gradients_recorded_a_leaf_is_an_array_too() -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert x.numpy().tolist() == x.view(-1).cpu().numpy().tolist() == [1, 1]
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        x.numpy()


def test_calls_of_forms_that_were_right_are_still_judged_by_their_values() -> None:
    x = torch.arange(6.0)
    for _ in range(2):
        assert x.topk(2).indices.tolist() == [5, 4] and x.topk(k=3).values.tolist() == [5, 4, 3]
        assert torch.randint(2, 3, (2,)).tolist() == [2, 2] and torch.randint(2, 3, [2]).tolist() == [2, 2]
    for wrong in (lambda: x.topk(2.0), lambda: x.topk(k="3"), lambda: torch.randint(2, 3, (2.5,)),
                  lambda: torch.randint(2, 3, ("2",)), lambda: x.topk(torch.tensor(2.0)),
                  lambda: x.topk(2, 0, 1), lambda: x.topk(2, largest=None)):
        with pytest.raises(TypeError):
            wrong()
    for wrong in (lambda: x.topk(1 << 63), lambda: torch.randint(2, 3, (1 << 64,))):
        with pytest.raises((ValueError, RuntimeError, TypeError)):
            wrong()


def test_what_messages_do_not_tell_of_is_taken(torch: Any) -> None:
    """Arguments are compared with signatures read off PyTorch's messages: those do not name every keyword."""
    x, triangle = torch.ones(3, 1), torch.eye(3)
    out = torch.empty(3, 1)
    torch.linalg.solve_triangular(triangle, x, upper=True, left=True, unitriangular=False, out=out)
    assert out.tolist() == x.tolist()
    assert torch.norm(torch.ones(2, 2), "fro").item() == torch.ones(2, 2).norm("fro").item() == 2
    assert torch.nonzero_static(torch.tensor([0, 1]), size=2, fill_value=-1).tolist() == [[1], [-1]]


def test_complex_tensors_without_imaginary_part_are_numbers() -> None:
    assert float(torch.tensor(2.5 + 0j)) == 2.5 and int(torch.tensor(2.5 - 0j)) == 2


def test_the_bytes_seen_as_another_type_have_no_history() -> None:
    for x in (torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True) * 2, torch.ones(2)):
        for dtype in (torch.int32, torch.float32, torch.bfloat16):
            seen = x.view(dtype)
            assert not seen.requires_grad and seen._base is None and seen.data_ptr() == x.data_ptr()


def test_what_has_one_element_is_contracted_in_the_common_type() -> None:
    x, y = torch.full((3, 1), 0.5).bfloat16(), torch.ones(3, 1)
    assert torch.einsum("bi,bi->b", x, y).dtype is torch.float32
    with pytest.raises(RuntimeError, match="expected scalar type BFloat16 but found Float"):
        torch.einsum("bi,bi->b", x.expand(3, 2), y.expand(3, 2))


def test_a_checkpoint_whose_inputs_were_written_to_is_not_computed_again() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    out = torch.utils.checkpoint.checkpoint(lambda x, y: (x * y).sin(), x, y, use_reentrant=False)
    y.mul_(2)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[2\]\] is at version 1; expected"):
        out.sum().backward()


@pytest.mark.parametrize("arguments, message", [
    ((torch.ones(2, 3), None, None), "running_mean must be defined in evaluation mode"),
    ((torch.ones(2, 3), torch.ones(3), None, torch.ones(2)),
     "running_var must be defined in evaluation mode"),
    ((torch.ones(1, 3), torch.ones(2), None, None, None, True), "Expected more than 1 value per channel"),
    ((torch.ones(2, 3), torch.ones(1, 3), torch.ones(3), torch.ones(2)),
     "weight should contain 3 elements not 2"),
    ((torch.ones(2, 3), torch.ones(1, 3), torch.ones(3)), "TensorAccessor expected 1 dims but tensor has 2"),
])
def test_batch_norm_tells_of_what_pytorch_finds_first(arguments: Any, message: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match=message):
        torch.nn.functional.batch_norm(*arguments)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_batch_norm_of_nothing_looks_at_no_other_argument(shape: tuple[int, ...]) -> None:
    for training in (True, False):
        found = torch.nn.functional.batch_norm(torch.ones(shape), None, None, torch.ones(2), None, training)
        assert found.shape == shape
