"""Native tests start without programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.executors.native.agreement import TEXTS

_notes: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def _no_programs() -> Iterator[None]:
    pytest.importorskip("llvmlite")
    from flambeau.executors.native.programs import known as programs

    programs.clear()
    yield
    programs.clear()


@pytest.fixture(autouse=True)
def _every_text_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """No notes are read, texts are recorded, and arguments spelled the same have written the same."""
    pytest.importorskip("llvmlite")
    from flambeau.executors.native.llvm.compiling import code, notes

    make = code._made

    def made(text: str, *more: Any) -> dict[str, int]:
        TEXTS.add(text)
        return make(text, *more)

    def keep(key: str, note: Any) -> None:
        assert _notes.setdefault(key, note) == note

    monkeypatch.setattr(code, "_made", made)
    monkeypatch.setattr(notes, "find", lambda key: None)
    monkeypatch.setattr(notes, "keep", keep)
