"""The disk cache where things go wrong: processes that are killed while they write, full and closed disks."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flambeau.executors.native.llvm.compiling import disk
from tests.executors.native.test_code import _SCRIPT, _run


def _in_a_child(work: Callable[[], object]) -> int:
    """The id of a process that does something and ends."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def _payload(k: int) -> bytes:
    return bytes([k % 251]) * (200_000 + 1000 * (k % 7))


def _write_for_ever() -> None:
    k = 0
    while True:
        disk.store(f"{k % 40:064x}", _payload(k % 40))
        k += 1


def test_writers_that_are_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process leaves whole entries or none for readers, and its litter goes in the end."""
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path))
    chance = random.Random(0)
    for _ in range(25):
        child = _in_a_child(_write_for_ever)
        time.sleep(chance.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert all(disk.load(f"{k:064x}") in (None, _payload(k)) for k in range(40))
    for k in range(40):     # the next process is not disturbed
        disk.store(f"{k:064x}", _payload(k))
        assert disk.load(f"{k:064x}") == _payload(k)
    fresh = tmp_path / "00" / ".being-written"
    for path in (fresh, tmp_path / "00" / ".left-over"):
        path.write_bytes(b"half")
    for path in set(tmp_path.glob("*/.*")) - {fresh}:
        os.utime(path, (time.time() - 2 * disk._STALE,) * 2)
    disk.sweep()
    assert list(tmp_path.glob("*/.*")) == [fresh]
    assert all(disk.load(f"{k:064x}") == _payload(k) for k in range(40))


def test_when_the_folder_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by the first entry, which somebody waits for; by many, and at the end, but not time and again."""
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path))
    sweeps: list[int] = []
    monkeypatch.setattr(disk, "sweep", lambda: sweeps.append(disk._writes))
    monkeypatch.setattr(disk, "_writes", 0)
    for k in range(3 * disk._SWEEP_EVERY):
        disk.store(f"{k:064x}", b"small")
    assert sweeps == [disk._SWEEP_EVERY]
    os.utime(tmp_path / ".swept", (time.time() - 2 * disk._REST,) * 2)
    disk._tidy()
    disk._tidy()
    assert len(sweeps) == 2
    monkeypatch.undo()
    old = tmp_path / "cache" / "00" / ".left-over"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"half")
    os.utime(old, (time.time() - 2 * disk._STALE,) * 2)
    _run(tmp_path / "cache")
    assert not old.exists()


def test_a_process_that_is_killed_while_it_compiles(tmp_path: Path) -> None:
    want, compiled = _run(tmp_path / "whole")
    for wait in (0.9, 1.1, 1.3):
        environment = {**os.environ, "FLAMBEAU_TIER": "native", "FLAMBEAU_CACHE_DIR": str(tmp_path / "cut")}
        child = subprocess.Popen([sys.executable, "-c", _SCRIPT], env=environment, stdout=subprocess.DEVNULL)
        time.sleep(wait)
        child.kill()
        child.wait()
    assert _run(tmp_path / "cut")[0] == want
    assert _run(tmp_path / "cut") == (want, 0) and compiled > 0


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot become as long as it should is not kept, and nothing of it stays."""
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path))

    def write_with_little_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)       # then writing fails with an error
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        disk.store("ab" * 32, _payload(1))
        disk.store("cd" * 32, b"small")
    child = _in_a_child(write_with_little_room)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert disk.load("ab" * 32) is None and disk.load("cd" * 32) == b"small"
    assert [path.name for path in tmp_path.glob("*/*")] == ["cd" * 32]
    disk.store("ab" * 32, _payload(1))
    assert disk.load("ab" * 32) == _payload(1)


def test_a_program_where_nothing_can_be_written(tmp_path: Path) -> None:
    want, compiled = _run(tmp_path / "open")
    blocked = tmp_path / "file"
    blocked.write_text("")
    for folder in (blocked, Path("/proc/self/cache")):
        assert _run(folder) == (want, compiled)
