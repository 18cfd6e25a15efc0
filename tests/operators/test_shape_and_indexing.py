"""Views, joining, indexing, creation, printing and copies, compared with PyTorch where there is one."""

from __future__ import annotations

import copy
import pickle
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import flambeau

try:
    import torch as oracle
except ImportError:
    oracle = None  # type: ignore[assignment]

# Expressions over T, the module, and x = arange(24.) as (2, 3, 4), and over np and a, the same in NumPy.
CASES: list[tuple[str, str]] = [
    ("x.view(4, 6)", "a.reshape(4, 6)"),
    ("x.transpose(0, 2).reshape(-1)", "a.transpose(2, 1, 0).reshape(-1)"),
    ("x.permute(2, 0, 1)", "a.transpose(2, 0, 1)"),
    ("x.movedim(0, -1)", "np.moveaxis(a, 0, -1)"),
    ("x.flatten(1)", "a.reshape(2, 12)"),
    ("x.unflatten(2, (2, -1))", "a.reshape(2, 3, 2, 2)"),
    ("x[:, None].squeeze(1)", "a"),
    ("x.diagonal(1, 1, 2)", "a.diagonal(1, 1, 2)"),
    ("x[1].diag()", "a[1].diagonal()"),
    ("x.unfold(2, 3, 1)", "np.lib.stride_tricks.sliding_window_view(a, 3, 2)"),
    ("x.as_strided((2, 2), (1, 5), 3)", "np.array([[3., 8.], [4., 9.]])"),
    ("x.flip(0, 2)", "a[::-1, :, ::-1]"),
    ("x.roll((1, -1), (0, 2))", "np.roll(a, (1, -1), (0, 2))"),
    ("x.rot90(3, (1, 2))", "np.rot90(a, 3, (1, 2))"),
    ("x.repeat(1, 2, 1)", "np.tile(a, (1, 2, 1))"),
    ("x.repeat_interleave(2, 1)", "a.repeat(2, 1)"),
    ("x.tril(1)", "np.tril(a, 1)"),
    ("T.cat([x, x], -1)", "np.concatenate([a, a], -1)"),
    ("T.stack([x, x], 1)", "np.stack([a, a], 1)"),
    ("T.hstack(x.unbind(0))", "np.hstack(list(a))"),
    ("x[1, :, ::2]", "a[1, :, ::2]"),
    ("x[..., -1]", "a[..., -1]"),
    ("x[:, None, ..., 1:, None, -2]", "a[:, None, ..., 1:, None, -2]"),
    ("x[T.tensor(1), :, T.tensor(-1)]", "a[1, :, -1]"),
    ("x[T.tensor(-1)]", "a[-1]"),
    ("x[T.tensor(1, dtype=T.uint8)]", "a[None]"),
    ("x[[0, 1], :, [2, 3]]", "a[[0, 1], :, [2, 3]]"),
    ("x[:, [0, 2], [1, 1]]", "a[:, [0, 2], [1, 1]]"),
    ("x[T.tensor([0, 1]), :, T.tensor([2, 3])]", "a[[0, 1], :, [2, 3]]"),
    ("x[:, T.tensor([0, 2])]", "a[:, [0, 2]]"),
    ("x[T.tensor([0, 1]), T.tensor(1):]", "a[[0, 1], 1:]"),
    ("x[:, :0, 0][T.tensor([1])]", "a[:, :0, 0][[1]]"),
    ("x[x > 5]", "a[a > 5]"),
    ("x[True, ..., False].sum()", "a[:0].sum()"),
    ("x.index_select(2, T.tensor([3, 0]))", "a[:, :, [3, 0]]"),
    ("x.take(T.tensor([-1, 5]))", "a.take([-1, 5])"),
    (
        "x.gather(1, T.tensor([[[0, 2]], [[1, 1]]]))",
        "np.take_along_axis(a[:, :, :2], np.array([[[0, 2]], [[1, 1]]]), 1)",
    ),
    ("x.masked_fill(x > 3, -1.)", "np.where(a > 3, -1, a)"),
    ("x.masked_select(x > 20)", "a[a > 20]"),
    ("x.select_scatter(x[0] * 2, 0, 1)", "np.stack([a[0], a[0] * 2])"),
    ("x.chunk(3, 2)[1]", "a[:, :, 2:]"),
    ("x.tensor_split((1, 3), 2)[1]", "a[:, :, 1:3]"),
]


def _names(module: Any) -> dict[str, Any]:
    return {"T": module, "x": module.arange(24.0).reshape(2, 3, 4)}


@pytest.mark.parametrize(("text", "in_numpy"), CASES)
def test_value_and_gradient(text: str, in_numpy: str) -> None:
    names = _names(flambeau)
    names["x"] = names["x"].clone().requires_grad_()
    result = eval(text, names)
    expected = eval(in_numpy, {"np": np, "a": np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)})
    np.testing.assert_array_equal(result.detach().numpy(), expected)
    (result * result).sum().backward()
    if oracle is None:
        return
    other = _names(oracle)
    other["x"] = other["x"].clone().requires_grad_()
    wanted = eval(text, other)
    assert tuple(result.shape) == tuple(wanted.shape)
    assert (result._base is None) == (wanted._base is None)
    name = type(wanted.grad_fn).__name__.removesuffix("_copy")
    assert type(result.grad_fn).__name__ in (
        name,
        "CloneBackward0",
    )  # a view and its copy are one node in PyTorch
    (wanted * wanted).sum().backward()
    np.testing.assert_array_equal(names["x"].grad.numpy(), other["x"].grad.numpy())


# Statements on x; afterwards x must be the same.
WRITES = [
    "x[0] = 1",
    "x[:, 1] = x[:, 2]",
    "x[x > 3] = 0",
    "x[[0, 1], [1, 2]] = T.tensor([1., 2., 3., 4.])",
    "x[...] = 2",
    "x[:, None, ..., 1:, None] = 2; x[None, ..., -1, :] = T.arange(4.)",
    "x[..., :0].transpose(0, 1)[()] = 3; (x[:0].transpose(0, 1) * 1)[...] = 3",
    "x[1, :, ::2] *= 3",
    "x[T.tensor(1), 2] += x[0, 1]",
    "x[0] = x[0]; x[T.tensor(0)] = 4; x.add_(x._version)",
    "x.transpose(0, 2)[1].add_(5)",
    "x[T.tensor([1, 1])] = 7.",
    "x.index_fill_(2, T.tensor([0]), 9)",
    "x.index_add_(0, T.tensor([1, 1]), x.clone(), alpha=2)",
    "x.copy_((x > 3).index_add_(0, T.tensor([1, 1]), x > 1))",
    "x.view(-1)[3:5].zero_()",
    "x[:, None, 0] = 4",
    "x.scatter_(1, T.zeros(2, 1, 4, dtype=T.int64), 1.)",
    "x.fill_diagonal_(1.) if 0 else x[0].fill_diagonal_(1.)",
    "x.unfold(2, 2, 2)[..., 0] = -1",
    "x.masked_scatter_(x > 20, T.tensor([1., 2., 3.]))",
    "x[0, 0], x[1, 1] = x[1, 1], 3",
    "x.index_put_((T.tensor([0, 0]),), T.ones(2, 3, 4), accumulate=True)",
    "x.put_(T.tensor([-1]), T.tensor([5.]))",
]


@pytest.mark.skipif(oracle is None, reason="compares with PyTorch")
@pytest.mark.parametrize("text", WRITES)
def test_write(text: str) -> None:
    ours, theirs = _names(flambeau), _names(oracle)
    for names in (ours, theirs):
        names["x"] = names["x"].clone()
        exec(text, names)
    assert ours["x"].tolist() == theirs["x"].tolist()
    assert ours["x"]._version == theirs["x"]._version


ERRORS = [
    "x[2]",
    "x[0, 0, 0, 0]",
    "x[::-1]",
    "x['a']",
    "x[1.5]",
    "x[..., 4]",
    "x[..., 4, None]",
    "x[None, ..., 9]",
    "x[..., 0, ..., 0]",
    "x[T.tensor([0, 1]), 9]",
    "x[:, T.tensor([0, 5, 9])]",
    "x[T.tensor([0, 1]), :, T.tensor([0, -9])]",
    "x[T.tensor([0, 1]), :, T.tensor([0, 9]) + 0].sum().item()",
    "x.__setitem__((slice(None), T.tensor([5, -9])), 1.)",
    "x.index_put((T.tensor([0]), T.tensor([2]) + 1), T.ones(1), accumulate=True).sum().item()",
    "x[:, :0][:, T.tensor([0])]",
    "x.to('cpu', non_blocking=1)",
    "x[..., 0:1, ..., None]",
    "x[T.tensor([5])]",
    "x[T.tensor([True])]",
    "x[[0, 1], [0, 1, 2]]",
    "x.view(5)",
    "x.view(-1, -1)",
    "x.permute(0, 0, 1)",
    "x.select(1, 3)",
    "x.narrow(0, 1, 5)",
    "x.expand(1, 3, 5)",
    "x.split([1, 2], 2)",
    "x.unfold(1, 4, 1)",
    "x.as_strided((30,), (1,))",
    "T.cat([])",
    "T.cat([x, x[0]])",
    "T.cat([x, x[:, :2]], 0)",
    "T.stack([x, x[0]])",
    "x.gather(1, T.tensor([[[3]]]))",
    "x.index_select(0, T.tensor([2]))",
    "x.masked_fill(T.ones(4), 1)",
    "T.arange(0, 1, 0)",
    "T.zeros(2, -1)",
    "T.eye(-1)",
    "T.tensor([[1], [2, 3]])",
    "x.numpy(force=1) if 0 else x.item()",
    "len(x[0, 0, 0])",
    "bool(x)",
    "x.__setitem__(0, [1])",
    "x.__setitem__(0, x)",
]


@pytest.mark.skipif(oracle is None, reason="compares with PyTorch")
@pytest.mark.parametrize("text", ERRORS)
def test_error(text: str) -> None:
    found = []
    for module in (flambeau, oracle):
        with pytest.raises(Exception) as caught:
            eval(text, _names(module))
        found.append((caught.type, str(caught.value)))
    assert found[0] == found[1]


SHOWN = [
    "T.tensor(1.)",
    "T.tensor([1., 2.5])",
    "T.tensor([1e8, 1.])",
    "T.tensor([1e-5])",
    "T.tensor([float('nan'), 1])",
    "T.arange(1001)",
    "T.arange(10000.).reshape(100, 100)",
    "T.zeros(2, 0)",
    "T.tensor([1 + 2j])",
    "T.tensor([True])",
    "T.ones(2, dtype=T.float16)",
    "T.ones(2, device='meta')",
    "T.ones(2, requires_grad=True)",
    "T.nn.Parameter(T.ones(2))",
    "T.ones(2, requires_grad=True) * 2",
    "T.zeros(0, dtype=T.int32)",
    "f'{T.tensor(1.5)}'",
    "T.ones(2, 2, 2)",
]


@pytest.mark.skipif(oracle is None, reason="compares with PyTorch")
@pytest.mark.parametrize("text", SHOWN)
def test_repr(text: str) -> None:
    assert repr(eval(text, {"T": flambeau})) == repr(eval(text, {"T": oracle}))


def test_copies_share_storages_as_before() -> None:
    whole = flambeau.arange(4.0)
    pair = (whole, whole[1:])
    for twice in (copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))):
        again, part = twice(pair)
        part[0] = 9
        assert again.tolist() == [0, 9, 2, 3]
        assert whole.tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="deepcopy"):
        copy.deepcopy(flambeau.ones(1, requires_grad=True) * 2)


def test_memory_is_shared_with_numpy() -> None:
    x = flambeau.zeros(3)
    array = x.numpy()
    x[1] = 5
    array[0] = 1
    assert x.tolist() == [1, 5, 0]
    assert flambeau.from_dlpack(array).data_ptr() == array.ctypes.data == x.data_ptr()


def test_pending_index_is_checked_by_the_kernel() -> None:
    index = flambeau.arange(3) + 1
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        flambeau.zeros(3)[index].tolist()


def test_rows_that_repeat_are_summed() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 7, 100)
    weight = flambeau.zeros(7, 5, requires_grad=True)
    grads = rng.standard_normal((100, 5)).astype(np.float32)
    weight[flambeau.from_numpy(rows)].backward(flambeau.from_numpy(grads))
    expected = np.zeros((7, 5))
    np.add.at(expected, rows, grads.astype(np.float64))
    np.testing.assert_allclose(weight.grad.numpy(), expected, rtol=1e-5, atol=1e-5)


def test_conversion_to_real_warns() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        flambeau.zeros(1).copy_(flambeau.ones(1, dtype=flambeau.complex64))
    assert any("discards the imaginary part" in str(w.message) for w in caught)


def test_numbers_written_at_positions_and_rows_read_by_a_vector(torch: ModuleType) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    x[0], x[1, -1], x[1:, :1], x[-1, 1] = 7, 2.5, True, -1
    assert x.tolist() == [[7, 7, 7], [1, -1, 2.5]]
    x[:] = 4
    assert x.tolist() == [[4] * 3] * 2 and x._version == 5
    leaf = torch.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        leaf[0] = 1.0
    y = leaf * 2
    y[1] = 5.0
    y[torch.tensor([0, 0, 1])].sum().backward()
    assert leaf.grad.tolist() == [4, 0, 0]
    for wrong in (torch.tensor([2]), torch.tensor([[-3]])):
        with pytest.raises(IndexError, match="out of bounds for dimension 0 with size 2"):
            x[wrong]
    with pytest.raises(IndexError, match="too many indices for tensor of dimension 0"):
        torch.tensor(1.0)[torch.tensor([0])]


def test_equality_of_values_that_are_there_and_that_are_not(torch: ModuleType) -> None:
    x = torch.arange(6.0).reshape(2, 3).clone()
    nan = torch.tensor([1.0, float("nan")])
    assert torch.equal(x, x.clone()) and torch.equal(x.t(), x.t().contiguous()) and not torch.equal(nan, nan)
    assert not torch.equal(x, x + 0.5) and not torch.equal(x, x.reshape(3, 2)) and torch.equal(x * 1, x + 0)
    assert torch.equal(x[1], x[1:].squeeze(0)) and torch.equal(torch.zeros(0), torch.zeros(0))
