"""Settings of saving and loading: checksums, files without data, hooks that are not saved."""

from __future__ import annotations

import io
import mmap
import warnings
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def test_file_without_data(torch: ModuleType, tmp_path: Path) -> None:
    """There is room for every tensor, and loading without data reads none."""
    values = {"a": torch.arange(3.0) + 1, "b": torch.ones(2, 2, dtype=torch.int64)}
    with torch.serialization.skip_data():
        torch.save(values, tmp_path / "empty.pt")
        with pytest.raises(RuntimeError, match="Cannot use skip_data=True"):
            torch.save(values, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    back = torch.load(tmp_path / "empty.pt")
    assert [(k, v.shape, v.dtype, v.sum().item()) for k, v in back.items()] == [
        ("a", (3,), torch.float32, 0),
        ("b", (2, 2), torch.int64, 0),
    ]
    torch.save(values, tmp_path / "full.pt")
    with torch.serialization.skip_data():
        assert torch.load(tmp_path / "full.pt")["a"].shape == (3,)
    assert torch.load(tmp_path / "full.pt")["a"].tolist() == [1, 2, 3]


@pytest.mark.oracle
def test_checksums_can_be_left_out(torch: ModuleType, oracle: ModuleType, tmp_path: Path) -> None:
    """Neither framework asks for them; others do."""
    assert torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(False)
    try:
        torch.save({"a": torch.ones(40), "b": [1, torch.zeros(3)]}, tmp_path / "x.pt")
        file = io.BytesIO()
        torch.save(torch.ones(2), file)
    finally:
        torch.serialization.set_crc32_options(True)
    assert zipfile.ZipFile(tmp_path / "x.pt").testzip() is not None
    for framework in (torch, oracle):
        for mapped in (False, True):
            back = framework.load(tmp_path / "x.pt", mmap=mapped)
            assert back["a"].sum().item() == 40 and back["b"][1].tolist() == [0, 0, 0]
        file.seek(0)
        assert framework.load(file).tolist() == [1, 1]


@pytest.mark.parametrize("marked", [False, True])
def test_hooks_that_are_not_saved(torch: ModuleType, marked: bool) -> None:
    def hook(grad: Any) -> Any:
        return grad

    x = torch.ones(2, requires_grad=True)
    x.register_hook(torch.utils.hooks.unserializable_hook(hook) if marked else hook)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.save(x, io.BytesIO())
    expected = f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can "
    assert [str(w.message).startswith(expected) for w in caught] == ([] if marked else [True])


def test_writes_to_mapped_files(torch: Any, tmp_path: Path) -> None:
    """Writes stay in memory with MAP_PRIVATE, and go to the file with MAP_SHARED."""
    options, path = torch.serialization.set_default_mmap_options, tmp_path / "x.pt"
    torch.save(torch.ones(3), path)
    assert torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    torch.load(path, mmap=True)[0] = 5
    assert torch.load(path).tolist() == [1, 1, 1]
    with options(mmap.MAP_SHARED):
        torch.load(path, mmap=True).mul_(5)
    assert torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert torch.load(path).tolist() == [5, 5, 5]
    with pytest.raises(ValueError, match="but got 7"):
        options(7)


def test_a_file_object_is_readable_by_its_name_at_once(torch: ModuleType, tmp_path: Path) -> None:
    for new in (True, False):
        with open(tmp_path / "kept.pt", "wb") as file:
            torch.save(torch.ones(2), file, _use_new_zipfile_serialization=new)
            assert torch.load(tmp_path / "kept.pt").tolist() == [1, 1]
