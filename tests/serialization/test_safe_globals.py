"""What `load` may make: classes that the user allows, text of other encodings."""

from __future__ import annotations

import io
import pickle
from typing import Any

import pytest

import flambeau as torch
from flambeau import nn, serialization

from . import hostile_files as files


def saved(obj: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(obj, file, **options)
    file.seek(0)
    return file


class Plain:
    def __init__(self, value: int) -> None:
        self.value = value


class Slotted:
    __slots__ = ("a",)


class Stateful:
    def __getstate__(self) -> Any:
        return {"x": 1}

    def __setstate__(self, state: Any) -> None:
        self.restored = state


def test_allowed_classes() -> None:
    slotted = Slotted()
    slotted.a = torch.ones(1)  # type: ignore[attr-defined]
    file = saved([Plain(3), slotted, Stateful()])
    names = serialization.get_unsafe_globals_in_checkpoint(file)
    assert [name.rsplit(".", 1)[1] for name in names] == ["Plain", "Slotted", "Stateful"]
    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        torch.load(file)
    with serialization.safe_globals([Plain, Slotted, Stateful]):
        file.seek(0)
        plain, slots, stateful = torch.load(file)
        file.seek(0)
        assert serialization.get_unsafe_globals_in_checkpoint(file) == []
    assert plain.value == 3 and slots.a.tolist() == [1.0] and stateful.restored == {"x": 1}
    assert serialization.get_safe_globals() == []


def test_the_list_of_safe_globals() -> None:
    try:
        serialization.add_safe_globals([Plain, (Plain, "old.module.Name")])
        assert set(serialization.get_safe_globals()) == {Plain, (Plain, "old.module.Name")}
        renamed = b"\x80\x02cold.module\nName\n)\x81}X\x05\0\0\0valueK\x04sb."
        assert torch.load(io.BytesIO(files.archive(renamed))).value == 4
    finally:
        serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []
    with pytest.raises(TypeError, match="not iterable"):
        serialization.add_safe_globals(3)  # type: ignore[arg-type]


def test_whole_module_by_allowed_classes() -> None:
    file = saved(nn.Linear(2, 2))
    with serialization.safe_globals([nn.Linear, set]):
        assert isinstance(torch.load(file), nn.Linear)


def test_encoding() -> None:
    data = files.archive(b"\x80\x02U\x03\xe9bc.")
    with pytest.raises(UnicodeDecodeError):
        torch.load(io.BytesIO(data))
    assert torch.load(io.BytesIO(data), encoding="latin1") == "ébc"
    assert torch.load(io.BytesIO(data), encoding="bytes") == b"\xe9bc"
