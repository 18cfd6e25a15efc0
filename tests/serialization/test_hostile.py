"""Hostile and damaged checkpoints: each gives a clear error; none runs code or takes memory in plenty."""

from __future__ import annotations

import io
import pickle
import resource
from pathlib import Path

import pytest

import flambeau

from . import hostile
from . import hostile_files as files

_ROOM = 96 << 20  # bytes that refusing a file may take on top; the largest claim is of terabytes


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("attack", hostile.ATTACKS, ids=lambda attack: attack.name)
def test_refused(attack: hostile.Attack, capfd: pytest.CaptureFixture[str]) -> None:
    data = attack.build()
    before = _peak()
    with pytest.raises(attack.error, match=attack.message):
        flambeau.load(io.BytesIO(data))
    assert _peak() - before < _ROOM
    assert "hacked" not in capfd.readouterr().out


@pytest.mark.parametrize("attack", [*hostile.TENSORS, *hostile.FILES[3:]], ids=lambda attack: attack.name)
def test_refused_when_mapped(attack: hostile.Attack, tmp_path: Path) -> None:
    path = tmp_path / "file.pt"
    path.write_bytes(attack.build())
    with pytest.raises(attack.error, match=attack.message):
        flambeau.load(path, mmap=True)


def test_every_cut_and_flipped_byte() -> None:
    data = files.good()
    for length in range(0, len(data), 7):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            flambeau.load(io.BytesIO(data[:length]))
    for place in range(0, len(data), 3):
        broken = bytearray(data)
        broken[place] ^= 0x5A
        try:
            flambeau.load(io.BytesIO(bytes(broken)))
        except (RuntimeError, EOFError, pickle.UnpicklingError, ValueError):
            pass


def test_honest_files_of_the_same_makers_load() -> None:
    ones = flambeau.ones(4)
    assert flambeau.load(io.BytesIO(files.good())).equal(ones)
    old = files.legacy(files.legacy_tensor(), ("0", 4, files.ONES))
    assert flambeau.load(io.BytesIO(old)).equal(ones)
    loaded = flambeau.load(
        io.BytesIO(files.archive(files.with_state(files.value({"note": 1})), _0=files.ONES))
    )
    assert loaded.equal(ones) and loaded.note == 1


def test_deep_nesting_is_no_error_or_a_clear_one() -> None:
    nested = flambeau.load(io.BytesIO(files.archive(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".")))
    assert len(nested) == 1
    while nested:
        nested = nested[0]


def test_trusting_runs_only_when_asked(capfd: pytest.CaptureFixture[str]) -> None:
    data = files.archive(files.call("builtins.print", "hacked"))
    with pytest.raises(pickle.UnpicklingError):
        flambeau.load(io.BytesIO(data))
    assert capfd.readouterr().out == ""
    flambeau.load(io.BytesIO(data), weights_only=False)
    assert capfd.readouterr().out == "hacked\n"
