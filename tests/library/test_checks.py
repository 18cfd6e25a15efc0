"""``torch._check`` and its kin: the errors that packages raise through PyTorch, in its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch
import flambeau.nn.attention.flex_attention
from flambeau import _utils
from flambeau.distributed import fsdp
from flambeau.distributed._composable.fsdp import FSDPModule
from flambeau.distributed._tensor.experimental import implicit_replication
from flambeau.nn.utils._named_member_accessor import set_tensor, swap_submodule, swap_tensor
from flambeau.utils._python_dispatch import is_traceable_wrapper_subclass

YES, NO = torch.tensor([True, True]), torch.tensor([True, False])
_PLAIN = "Expected cond to be True, but got False"

FAILING: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: torch._check(False), RuntimeError, _PLAIN),
    (lambda: torch._check(False, lambda: 3), RuntimeError, "^3$"),
    (lambda: torch._check(False, "text"), TypeError, "message must be a callable"),
    (lambda: torch._check(1), TypeError, "cond must be a bool, but got <class 'int'>"),
    (lambda: torch._check(YES[0]), TypeError, "cond must be a bool, but got a Tensor"),
    (lambda: torch._check_with(ValueError, False, lambda: "m"), ValueError, "^m$"),
    (lambda: torch._check_with(int, False, lambda: "m"), AssertionError, "must be a subclass of Exception"),
    (lambda: torch._check_index(False), IndexError, _PLAIN),
    (lambda: torch._check_value(False), ValueError, _PLAIN),
    (lambda: torch._check_type(False), TypeError, _PLAIN),
    (lambda: torch._check_not_implemented(False), NotImplementedError, _PLAIN),
    (lambda: torch._check_tensor_all(NO), RuntimeError, _PLAIN),
    (lambda: torch._check_tensor_all_with(ValueError, NO, lambda: "m"), ValueError, "^m$"),
    (lambda: torch._check_tensor_all(True), TypeError, "cond must be a tensor, but got <class 'bool'>"),
    (lambda: torch._check_tensor_all(torch.ones(1)), TypeError, "must have dtype torch.bool, but got torch"),
    (lambda: torch._assert_async(torch.tensor(0)), RuntimeError, "single nonzero value, but got zero"),
    (lambda: torch._assert_async(torch.tensor(False), "m"), RuntimeError, "^m$"),
    (lambda: torch._assert_async(YES), RuntimeError, "more than one value is ambiguous"),
]


@pytest.mark.parametrize("row", range(len(FAILING)))
def test_what_does_not_hold_raises(row: int) -> None:
    call, kind, message = FAILING[row]
    with pytest.raises(kind, match=message):
        call()


def test_what_holds_does_not() -> None:
    assert torch._check(True, "not called") is None
    torch._check_tensor_all(YES)
    torch._assert_async(torch.tensor(2.0))


def test_sizes_are_numbers_from_zero() -> None:
    with pytest.warns(FutureWarning, match="_check_is_size will be removed"):
        torch._check_is_size(3, max=3)
    for bad in ({"i": -1}, {"i": 3, "max": 2}):
        with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match=_PLAIN):
            torch._check_is_size(**bad)


def test_tensors_are_swapped_by_name() -> None:
    layer = torch.nn.Linear(1, 1)
    before, new = layer.weight, torch.zeros(1, 1)
    assert swap_tensor(layer, "weight", new) is before and layer.weight is new
    nothing = swap_tensor(layer, "more", new, allow_missing=True)
    assert layer.more is new and swap_tensor(layer, "more", nothing) is new and not hasattr(layer, "more")
    set_tensor(layer, "in_features", new)
    assert layer.in_features is new
    block = torch.nn.Sequential(layer)
    assert swap_submodule(block, "0", torch.nn.ReLU()) is layer and type(block[0]) is torch.nn.ReLU
    for call, kind, message in (
        (lambda: swap_tensor(layer, "none", new), AttributeError, "Linear has no attribute `none`"),
        (lambda: swap_tensor(layer, "bias", 3), TypeError, "3 is not an instance of torch.Tensor"),
        (lambda: swap_tensor(layer, "out_features", new), TypeError, "attribute `out_features`: 1 is not an"),
        (lambda: swap_tensor(layer, "a.b", new), KeyError, "tensor name can"),
        (lambda: swap_submodule(block, "1", layer), KeyError, "submodule 1 does not exist"),
    ):
        with pytest.raises(kind, match=message):
            call()


def test_tensors_in_a_row_and_devices_by_name() -> None:
    parts = [torch.ones(2, 2), torch.zeros(3), torch.ones(2, 3).t()]
    row = _utils._flatten_dense_tensors(parts)
    again = _utils._unflatten_dense_tensors(row, parts)
    assert row.tolist() == [1] * 4 + [0] * 3 + [1] * 6
    assert [x.shape for x in again] == [x.shape for x in parts]
    again[0].fill_(5)
    assert row[:5].tolist() == [5, 5, 5, 5, 0]
    assert _utils._get_device_module("cpu") is torch.cpu and _utils._get_available_device_type() is None
    with pytest.raises(RuntimeError, match="'foo' does not have a corresponding module"):
        _utils._get_device_module("foo")


def test_what_is_shared_out_asks_for_a_process_group() -> None:
    assert fsdp.MixedPrecisionPolicy(torch.float16).reduce_dtype is None and FSDPModule is fsdp.FSDPModule
    assert not isinstance(torch.nn.ReLU(), (FSDPModule, fsdp.FullyShardedDataParallel))
    with pytest.raises(RuntimeError, match="FSDP needs a non-CPU accelerator device"):
        fsdp.FullyShardedDataParallel(torch.nn.ReLU())
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        fsdp.fully_shard(torch.nn.ReLU())
    with implicit_replication():
        assert torch.ones(1).item() == 1


@pytest.mark.filterwarnings("ignore:torch.sparse.SparseTensor")
def test_older_names_of_sparse_tensors() -> None:
    indices = torch.tensor([[0, 1], [1, 0]])
    x = torch.sparse.FloatTensor(indices, torch.ones(2), torch.Size([2, 3]))
    assert x.to_dense().tolist() == [[0, 1, 0], [1, 0, 0]]
    assert isinstance(x, torch.sparse.FloatTensor) and not isinstance(x, torch.sparse.DoubleTensor)
    assert not isinstance(torch.ones(2), torch.sparse.FloatTensor)
    assert torch.sparse.LongTensor(2, 3).shape == (2, 3) and torch.sparse.HalfTensor().shape == (0,)
    assert torch.sparse.DoubleTensor(indices, torch.ones(2)).dtype is torch.float64


def test_names_that_transformers_imports() -> None:
    assert torch.nn.attention.flex_attention._DEFAULT_SPARSE_BLOCK_SIZE == 128


class Packed(torch.Tensor):
    """Says what it is made of."""

    def __tensor_flatten__(self) -> Any:
        return [], None

    @staticmethod
    def __tensor_unflatten__(inner: Any, context: Any, size: Any, stride: Any) -> Any:
        return torch.ones(1)


def test_classes_that_can_be_taken_apart() -> None:
    assert is_traceable_wrapper_subclass(torch.ones(1).as_subclass(Packed))
    assert not is_traceable_wrapper_subclass(torch.ones(1)) and not is_traceable_wrapper_subclass(Packed)
