"""Machine code: kept on disk, and loaded into memory."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.executors.native.llvm import disk, image
from flambeau.executors.native.llvm.compiler import linked, object_of
from flambeau.executors.native.llvm.machine import machine

_SCRIPT = """
import flambeau
from flambeau.executors.native.llvm import code
x = flambeau.arange(50.0)
print((flambeau.tanh(x) * 2 + x).sum().item(), code.compiled)
"""


def _run(cache: Path, script: str = _SCRIPT, **more: str) -> tuple[float, int]:
    environment = {**os.environ, "FLAMBEAU_TIER": "native", "FLAMBEAU_CACHE_DIR": str(cache), **more}
    output = subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True,
                            text=True).stdout.split()
    return float(output[0]), int(output[1])


def test_the_disk_cache(tmp_path: Path) -> None:
    want, compiled = _run(tmp_path)
    assert compiled > 0 and _run(tmp_path) == (want, 0)
    files = sorted(tmp_path.glob("*/*"))
    for k, path in enumerate(files):    # damaged in several ways
        content = path.read_bytes()
        path.write_bytes([content[:-3], b"", content[:70] + b"x" + content[71:]][k % 3])
    assert _run(tmp_path) == (want, compiled)
    assert _run(tmp_path) == (want, 0)
    assert _run(tmp_path, FLAMBEAU_CPU="x86-64-v3")[1] == compiled if "x86" in os.uname().machine else True
    assert _run(tmp_path / "none", FLAMBEAU_CACHE_MB="0") == (want, compiled)
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64",
                    reason="LLVM's own linker loads other objects")
def test_what_lies_on_disk_is_loaded_without_llvm(tmp_path: Path) -> None:
    script = "import sys\n" + _SCRIPT.replace("code.compiled", "int('llvmlite' in sys.modules)")
    assert _run(tmp_path, script)[1] == 1
    assert _run(tmp_path, script)[1] == 0


def test_objects_of_other_machines_are_left_to_llvm() -> None:
    host = machine()
    content = object_of("define i64 @f(i64 %x) { %y = add i64 %x, 2 ret i64 %y }", host.name, host.features)
    for load in (image.load, lambda content: linked(content, ["f"], host.name, host.features)):
        found = load(content)
        if found is not None:   # None: LLVM's own linker loads this machine's objects
            assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(found[0]["f"])(40) == 42
    assert image.load(b"") is None
    assert image.load(b"\xcf\xfa\xed\xfe" + content[4:]) is None      # Mach-O
    assert image.load(content[:18] + b"\xb7\x00" + content[20:]) is None     # AArch64


def test_a_function_that_is_nowhere_is_left_to_llvm() -> None:
    host = machine()
    text = "declare void @no_such_function() define void @f() { call void @no_such_function() ret void }"
    assert image.load(object_of(text, host.name, host.features)) is None


def test_a_cache_that_cannot_be_written_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(blocked))
    disk.store("ab" * 32, b"object")
    assert disk.load("ab" * 32) is None


def test_the_cache_stays_within_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("FLAMBEAU_CACHE_MB", "1")
    for k in range(40):
        disk.store(f"{k:064x}", bytes(100_000))
    disk.sweep()
    assert sum(p.stat().st_size for p in tmp_path.glob("*/*")) <= 1 << 20
    assert disk.load(f"{39:064x}") == bytes(100_000)
