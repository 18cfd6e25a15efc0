"""Where checkpoints are written and read: paths, files, mapping, byte orders; what a failure leaves."""

from __future__ import annotations

import io
import os
import pickle
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau import serialization

from . import hostile_files as files


def saved(obj: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(obj, file, **options)
    file.seek(0)
    return file


# --- files --------------------------------------------------------------------------------------------------


def test_path_like_objects(tmp_path: Path) -> None:
    class Own:
        def __fspath__(self) -> str:
            return str(tmp_path / "own.pt")

    for path in (str(tmp_path / "a.pt"), tmp_path / "b", Own()):
        torch.save(torch.ones(2), path)
        assert torch.load(path).tolist() == [1.0, 1.0]
        assert torch.load(path, mmap=True).tolist() == [1.0, 1.0]
    assert sorted(os.listdir(tmp_path)) == ["a.pt", "b", "own.pt"]


def test_open_files(tmp_path: Path) -> None:
    with open(tmp_path / "f", "wb") as file:
        torch.save(torch.ones(2), file)
    with open(tmp_path / "f", "rb") as file:
        assert torch.load(file).tolist() == [1.0, 1.0]


def test_old_format_in_a_row() -> None:
    file = io.BytesIO()
    for number in (1.0, 2.0):
        torch.save(torch.tensor(number), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert [torch.load(file).item(), torch.load(file).item()] == [1.0, 2.0]


def test_files_that_can_only_be_written() -> None:
    class Pipe:
        def __init__(self) -> None:
            self.data = b""

        def write(self, data: Any) -> int:
            self.data += bytes(data)
            return len(data)

    pipe = Pipe()
    torch.save(torch.ones(2), pipe)
    assert torch.load(io.BytesIO(pipe.data)).tolist() == [1.0, 1.0]


def test_records_are_aligned_as_pytorch_aligns_them(tmp_path: Path) -> None:
    torch.save({"a": torch.ones(3), "b": torch.ones(5, dtype=torch.float64)}, tmp_path / "name.tar.pt")
    data = (tmp_path / "name.tar.pt").read_bytes()
    with zipfile.ZipFile(tmp_path / "name.tar.pt") as file:
        assert file.testzip() is None
        names = file.namelist()
        for info in file.infolist():
            start = info.header_offset + 30 + sum(struct.unpack("<HH", data[info.header_offset + 26 :][:4]))
            assert start % 64 == 0 and info.compress_type == zipfile.ZIP_STORED
        assert file.read("name.tar/version") == b"3\n" and file.read("name.tar/byteorder") == b"little"
    assert names == [
        f"name.tar/{name}"
        for name in (
            "data.pkl",
            ".format_version",
            ".storage_alignment",
            "byteorder",
            "data/0",
            "data/1",
            "version",
        )
    ]


class Unpicklable:
    def __reduce__(self) -> Any:
        raise ValueError("not this one")


@pytest.mark.parametrize("existed", [True, False])
@pytest.mark.parametrize("late", [True, False])
def test_a_failure_leaves_the_old_file(
    existed: bool, late: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.pt"
    if existed:
        torch.save(torch.tensor(1.0), path)
    before = path.read_bytes() if existed else None
    if late:
        real, calls = serialization.save.__globals__["value_of"], []

        def full(*arguments: Any) -> Any:
            calls.append(1)
            if len(calls) == 2:
                raise OSError(28, "No space left on device")
            return real(*arguments)

        monkeypatch.setitem(serialization.save.__globals__, "value_of", full)
    with pytest.raises(OSError if late else ValueError):
        torch.save([torch.ones(2), torch.ones(3), None if late else Unpicklable()], path)
    assert os.listdir(tmp_path) == (["file.pt"] if existed else [])
    assert not existed or path.read_bytes() == before


def test_modes_and_links(tmp_path: Path) -> None:
    target, link = tmp_path / "target.pt", tmp_path / "link.pt"
    torch.save(1, target)
    os.chmod(target, 0o640)
    link.symlink_to(target)
    torch.save(2, link)
    assert link.is_symlink() and torch.load(target) == 2
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    torch.save(1, tmp_path / "new.pt")
    assert stat.S_IMODE((tmp_path / "new.pt").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    torch.save(1, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


FILE_MISTAKES: dict[str, tuple[Callable[[Path], Any], type[BaseException], str]] = {
    "no file": (lambda folder: torch.load(folder / "none"), FileNotFoundError, "No such file or directory"),
    "number": (
        lambda folder: torch.load(5),
        AttributeError,
        "'int' object has no attribute 'seek'. You can only torch.load",
    ),
    "None": (lambda folder: torch.load(None), AttributeError, "'NoneType' object has no attribute 'seek'"),
    "text": (lambda folder: torch.load(io.StringIO("abc")), TypeError, "binary mode"),
    "mapping memory": (
        lambda folder: torch.load(saved(1), mmap=True),
        ValueError,
        "f must be a file path in order to use the mmap argument",
    ),
    "mapping the old format": (
        lambda folder: (
            torch.save(1, folder / "f", _use_new_zipfile_serialization=False),
            torch.load(folder / "f", mmap=True),
        ),
        RuntimeError,
        "mmap can only be used with files saved with",
    ),
    "save to a number": (
        lambda folder: torch.save(1, 5),
        AttributeError,
        "expected 'f' to be string, path, or a file-like object with a 'write' attribute",
    ),
    "save to no folder": (
        lambda folder: torch.save(1, folder / "a" / "b"),
        RuntimeError,
        "Parent directory .* does not exist",
    ),
    "save to a folder": (lambda folder: torch.save(1, folder), RuntimeError, "Is a directory"),
    "safe and a pickle module": (
        lambda folder: torch.load(saved(1), pickle_module=pickle, weights_only=True),
        RuntimeError,
        "Can not safely load weights when explicit pickle_module is specified",
    ),
    "option": (lambda folder: torch.load(saved(1), fix=3), TypeError, "unexpected keyword argument 'fix'"),
    "a lambda": (lambda folder: torch.save(lambda: 1, folder / "f"), Exception, "Can't pickle"),
    "endianness": (
        lambda folder: serialization.set_default_load_endianness("big"),
        TypeError,  # type: ignore[arg-type]
        "Invalid argument type in function set_default_load_endianness",
    ),
    "checkpoint": (
        lambda folder: serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"x")),
        ValueError,
        "Expected input to be a checkpoint returned by torch.save",
    ),
}


@pytest.mark.parametrize("name", FILE_MISTAKES)
def test_mistakes(name: str, tmp_path: Path) -> None:
    action, error, message = FILE_MISTAKES[name]
    with pytest.raises(error, match=message):
        action(tmp_path)


# --- mapping ------------------------------------------------------------------------------------------------


def test_mapped_tensors_do_not_write_to_the_file(tmp_path: Path) -> None:
    torch.save(torch.ones(4), tmp_path / "f")
    before = (tmp_path / "f").read_bytes()
    x = torch.load(tmp_path / "f", mmap=True)
    x.mul_(3)
    x.numpy()[0] = 7.0
    assert x.tolist() == [7.0, 3.0, 3.0, 3.0] and (tmp_path / "f").read_bytes() == before
    y = torch.load(tmp_path / "f", mmap=True)
    y.numpy()[:] = 9.0
    assert y.tolist() == [9.0] * 4 and torch.load(tmp_path / "f").tolist() == [1.0] * 4


def test_mapped_tensors_outlive_the_file(tmp_path: Path) -> None:
    torch.save(torch.ones(4), tmp_path / "f")
    x = torch.load(tmp_path / "f", mmap=True)
    torch.save(torch.zeros(4), tmp_path / "f")
    assert x.tolist() == [1.0] * 4


# --- byte orders --------------------------------------------------------------------------------------------

NUMBERS = {
    "f4": "FloatStorage",
    "f8": "DoubleStorage",
    "i8": "LongStorage",
    "i2": "ShortStorage",
    "c8": "ComplexFloatStorage",
    "u1": "ByteStorage",
}


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("mapped", [False, True])
def test_big_endian(kind: str, mapped: bool, tmp_path: Path) -> None:
    data = np.array([1, 2, 3, 200], ">" + kind).tobytes()
    path = tmp_path / "f"
    path.write_bytes(files.archive(files.tensor(kind=NUMBERS[kind]), byteorder="big", _0=data))
    x = torch.load(path, mmap=mapped)
    assert x.tolist() == [1, 2, 3, 200] and x.numpy().dtype.isnative


def test_default_endianness() -> None:
    file = saved(torch.tensor([1.0]), _disable_byteorder_record=True)
    assert torch.load(file).tolist() == [1.0] and serialization.get_default_load_endianness() is None
    try:
        serialization.set_default_load_endianness(serialization.LoadEndianness.BIG)
        file.seek(0)
        assert torch.load(file).tolist() == pytest.approx([4.6006e-41], rel=1e-3)
        file = saved(torch.tensor([1.0]))
        assert torch.load(file).tolist() == [1.0]
    finally:
        serialization.set_default_load_endianness(None)


def test_archives_packed_again_with_compression() -> None:
    again = io.BytesIO()
    with (
        zipfile.ZipFile(saved(torch.zeros(1000))) as old,
        zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    again.seek(0)
    assert torch.load(again).tolist() == [0.0] * 1000
