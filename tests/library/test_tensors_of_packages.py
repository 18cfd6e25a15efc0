"""What packages ask of tensors beyond the public names: their dict, storage, type and device."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path
from typing import Any

import pytest

import flambeau as torch


def test_a_tensors_dict_has_what_users_set_and_takes_what_they_write() -> None:
    p: Any = torch.nn.Parameter(torch.ones(2))
    p.tag = 1
    assert vars(p) == {"tag": 1}
    p.__dict__["more"] = 2
    p.__dict__.update(last=3)
    assert (p.more, p.last, p.__dict__.pop("tag"), hasattr(p, "tag")) == (2, 3, 1, False)
    assert (vars(pickle.loads(pickle.dumps(p))), vars(copy.deepcopy(p))) == ({"more": 2, "last": 3}, {})
    assert type(p)(p.to("meta"), **{**vars(torch.ones(1)), "requires_grad": False}).device.type == "meta"


def test_records_of_a_checkpoint_are_read_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    torch.save({"a": torch.arange(3.0)}, path)
    for source in (str(path), io.BytesIO(path.read_bytes())):
        reader = torch.PyTorchFileReader(source)
        assert reader.has_record("data.pkl") and not reader.has_record("x")
        assert "data/0" in reader.get_all_records() and reader.get_record_size("data/0") == 12
        storage = reader.get_storage_from_record("data/0", 12, torch.UntypedStorage)
        assert (tuple(storage.shape), storage.dtype) == ((0,), torch.uint8)
        assert storage.untyped_storage().nbytes() == 12
        with pytest.raises(RuntimeError, match="does not match expected size"):
            reader.get_storage_from_record("data/0", 12, torch.float32)
    with pytest.raises(RuntimeError, match="open file failed because of errno 2"):
        torch.PyTorchFileReader(str(tmp_path / "none"))


def test_quantized_types_are_names_without_tensors() -> None:
    assert (repr(torch.quint4x2), torch.qint32.itemsize, torch.qint8.is_floating_point) == (
        "torch.quint4x2", 4, False)
    assert pickle.loads(pickle.dumps(torch.quint8)) is torch.quint8
    with pytest.raises(NotImplementedError, match=r"no tensors of torch\.qint8"):
        torch.zeros(2, dtype=torch.qint8)
    with pytest.raises(NotImplementedError, match=r"no tensors of torch\.qint8"):
        torch.promote_types(torch.qint8, torch.float32)


def test_arguments_of_to_are_parsed() -> None:
    parse = torch._C._nn._parse_to
    assert parse(torch.float16) == (None, torch.float16, False, None)
    assert parse(torch.ones(1), True) == (torch.device("cpu"), torch.float32, True, None)


def test_swapped_tensors_swap_their_attributes() -> None:
    a, b = torch.zeros(2), torch.ones(3)
    a.tag = 1
    torch.utils.swap_tensors(a, b)
    assert (a.tolist(), b.tolist(), b.tag, vars(a)) == ([1.0, 1, 1], [0.0, 0], 1, {})


def test_a_class_with_another_base_replaces_its_attributes_alone() -> None:
    class Described:
        def describe(self, other: Any) -> None:
            self.__dict__ = dict(other.__dict__)

    class Known(Described, torch.Tensor):
        pass
    a, b = torch.ones(4).as_subclass(Known), torch.zeros(2, 2).as_subclass(Known)
    a.unit, b.other = "m", 1
    b.describe(a)
    assert (b.tolist(), vars(b)) == ([[0.0, 0], [0, 0]], {"unit": "m"})


def test_the_device_of_new_tensors_is_a_mode_and_a_decorator() -> None:
    from flambeau.utils._device import DeviceContext, device_decorator, set_device

    with DeviceContext("meta"):
        assert torch.ones(1).is_meta and not torch.ones(1, device="cpu").is_meta
    assert set_device("meta")(lambda: torch.ones(1))().is_meta
    assert device_decorator(lambda: torch.device("meta"), lambda: torch.ones(1))().is_meta


def test_detach_gives_a_plain_tensor_where_overriding_is_off() -> None:
    class Own(torch.Tensor):
        pass
    x = torch.ones(2).as_subclass(Own)
    assert type(x.detach()) is Own
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x.detach()) is torch.Tensor


def test_storages_are_instances_of_their_base() -> None:
    assert isinstance(torch.ones(1).untyped_storage(), torch.StorageBase)
    with pytest.raises(RuntimeError, match="Cannot directly construct StorageBase"):
        torch.StorageBase()


def test_a_device_by_its_keyword() -> None:
    named: Any = torch.device
    assert named(device="cuda:1") == torch.device("cuda", 1)
    assert named(device=torch.device("cpu")).type == "cpu"
    for wrong in ({"device": "cpu", "index": 1}, {"kind": "cpu"}):
        with pytest.raises(TypeError, match="received an invalid combination of arguments"):
            named(**wrong)


@pytest.mark.parametrize(("device", "options", "found"), [
    ("cuda:1", {}, 1), (3, {}, 3), ("cuda", {"optional": True}, None), (None, {"optional": True}, None),
    ("cpu", {"allow_cpu": True}, -1), ("cpu", {}, "Expected a non cpu device, but got: cpu"),
    ("cuda", {}, "with a specified index or an integer, but got:cuda"),
    (None, {}, "with a specified index or an integer, but got:None"),
])
def test_numbers_of_devices(device: Any, options: dict[str, bool], found: Any) -> None:
    from flambeau._utils import _get_device_index
    if isinstance(found, str):
        with pytest.raises(ValueError, match=found):
            _get_device_index(device, **options)
    else:
        assert _get_device_index(device, **options) == found


def test_tensors_are_taken_by_type_and_size() -> None:
    from flambeau._utils import _element_size, _take_tensors
    tensors = [torch.ones(4), torch.ones(3), torch.ones(2).double(), torch.ones(1)]
    assert [[x.numel() for x in taken] for taken in _take_tensors(tensors, 20)] == [[4], [3, 1], [2]]
    assert _element_size(torch.int16) == 2
    groups = torch.optim.Optimizer._group_tensors_by_device_and_dtype([tensors], with_indices=True)
    assert {key[1]: positions for key, (_, positions) in groups.items()} == {
        torch.float32: [0, 1, 3], torch.float64: [2]}
