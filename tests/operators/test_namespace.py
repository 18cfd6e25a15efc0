"""Names of the ``torch`` namespace that are no operators: storages, streams, files, flags."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_storages_by_dtype(torch: ModuleType) -> None:
    made = torch.FloatStorage([1, 2.5])
    assert made.tolist() == [1.0, 2.5] and made.dtype is torch.float32
    assert len(torch.LongStorage(3)) == 3 and len(torch.BoolStorage()) == 0
    assert isinstance(torch.ones(1).storage(), torch.FloatStorage)
    assert not isinstance(torch.ones(1).storage(), torch.IntStorage)
    assert torch.ones(1).storage_type() is torch.FloatStorage
    assert torch.HalfStorage.dtype is torch.float16
    assert torch.FloatStorage.from_buffer(b"\x00\x00\x80?", "little").tolist() == [1.0]
    with pytest.raises(RuntimeError, match="Too many positional arguments"):
        torch.IntStorage(3, 4)


def test_files_are_mapped(torch: ModuleType, tmp_path: Path) -> None:
    path = str(tmp_path / "numbers")
    with pytest.raises(RuntimeError, match="in read-only mode: No such file"):
        torch.from_file(path, size=2)
    shared = torch.from_file(path, shared=True, size=4, dtype=torch.int32)
    shared.copy_(torch.arange(4))
    assert torch.from_file(path, size=3, dtype=torch.int32).tolist() == [0, 1, 2]
    private = torch.from_file(path, size=4, dtype=torch.int32)
    private.zero_()
    assert shared.tolist() == [0, 1, 2, 3]


def test_devices_modules_and_streams(torch: ModuleType) -> None:
    assert torch.get_device_module("cpu") is torch.cpu is torch.get_device_module()
    with pytest.raises(RuntimeError, match="Device 'meta' does not have a corresponding module"):
        torch.get_device_module("meta")
    stream, event = torch.Stream("cpu"), torch.Event()
    stream.wait_event(event)
    with pytest.raises(RuntimeError, match="cpu backend doesn't support events"):
        event.record(stream)
    assert stream.query() and event.query() and stream.device == torch.device("cpu")
    assert torch.cpu.current_device() == "cpu" and torch.cpu.device_count() == 1 and torch.cpu.is_available()
    with torch.cpu.stream(None):
        torch.cpu.synchronize()


def test_flags_types_and_what_is_never_there(torch: ModuleType) -> None:
    torch.set_warn_always(True)
    assert torch.is_warn_always_enabled()
    torch.set_warn_always(False)
    assert not isinstance(3, torch.SymInt) and not torch.is_vulkan_available()
    assert issubclass(torch.OutOfMemoryError, RuntimeError) and torch.Tag.core.name == "core"
    assert torch.torch is torch and torch.legacy_contiguous_format is torch.contiguous_format
    assert torch.wait(torch.fork(lambda x: x + 1, 1)) == 2
    x = torch.ones(2)
    assert not (x.is_ipu or x.is_maia or x.is_mtia)
    assert x.grad_dtype is torch.float32
    with pytest.raises(AssertionError, match="Torch not compiled with XPU enabled"):
        x.xpu()
    with pytest.raises(NotImplementedError, match="aten::record_stream"):
        x.record_stream(torch.Stream("cpu"))
    assert not torch.nn.functional.has_torch_function((x,))
    with pytest.raises(AssertionError, match="padding must"):
        torch.nn.functional.assert_int_or_pair("x", "padding", "{} must")


def test_lobpcg(torch: ModuleType) -> None:
    torch.manual_seed(0)
    a = torch.randn(24, 24, dtype=torch.float64)
    a = (a @ a.T + torch.eye(24)).requires_grad_()
    values, vectors = torch.lobpcg(a, k=2, tol=1e-13, niter=300)
    every, all_vectors = torch.linalg.eigh(a)
    torch.testing.assert_close(values, every.flip(0)[:2])
    weights = torch.randn(24, 2, dtype=torch.float64)
    (ours,) = torch.autograd.grad((vectors.square() * weights).sum() + values.sum(), a)
    (dense,) = torch.autograd.grad(
        (all_vectors.flip(1)[:, :2].square() * weights).sum() + every.flip(0)[:2].sum(), a)
    torch.testing.assert_close(ours, (dense + dense.T) / 2)
    smallest, _ = torch.lobpcg(a.detach(), k=1, largest=False, niter=200)
    torch.testing.assert_close(smallest, every[:1].detach(), rtol=1e-5, atol=1e-5)
    b = torch.diag(torch.arange(1.0, 25, dtype=torch.float64))
    values, vectors = torch.lobpcg(a.detach(), k=2, B=b)
    torch.testing.assert_close(a.detach() @ vectors, b @ vectors * values, rtol=1e-4, atol=1e-4)
    values, _ = torch.lobpcg(torch.diag(torch.arange(1.0, 41)).to_sparse(), k=2)
    torch.testing.assert_close(values, torch.tensor([40.0, 39.0]), rtol=1e-4, atol=1e-4)


def test_slice_inverse(torch: ModuleType) -> None:
    whole = torch.arange(12).reshape(3, 4)
    assert torch.equal(whole[1:2].slice_inverse(whole, 0, 1, 2, 1), whole)
