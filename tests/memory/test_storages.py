"""Storages made by hand."""

from __future__ import annotations

from types import ModuleType

import pytest


def test_typed_storages_hold_what_they_are_given(torch: ModuleType) -> None:
    assert torch.TypedStorage(5, dtype=torch.float32).size() == 5
    assert torch.TypedStorage([1, 2, 3], dtype=torch.int64).tolist() == [1, 2, 3]
    assert torch.TypedStorage(3, device="cpu").dtype is torch.float32
    assert torch.FloatStorage([1.5, 2.0]).tolist() == [1.5, 2.0]
    shared = torch.ones(2)
    torch.TypedStorage(wrap_storage=shared.untyped_storage(), dtype=torch.float32)[0] = 7
    assert shared.tolist() == [7, 1]


def test_typed_storages_refuse_the_rest(torch: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="Too many positional arguments"):
        torch.TypedStorage(1, 2)
    with pytest.raises(TypeError, match="invalid data type 'str'"):
        torch.TypedStorage("x")


def test_no_worker_is_a_thread(torch: ModuleType) -> None:
    assert torch.random.thread_safe_generator() is None
