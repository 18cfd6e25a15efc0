"""Machine code: kept on disk, and loaded into memory."""

from __future__ import annotations

import ctypes
import inspect
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import flambeau
from flambeau import sources
from flambeau.executors.native.llvm.compiling import code, disk, image, notes
from flambeau.executors.native.llvm.compiling.compiler import linked, object_of
from flambeau.executors.native.llvm.compiling.machine import machine
from flambeau.executors.native.products import gemm

_SCRIPT = """
import flambeau
from flambeau.executors.native.llvm.compiling import code
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


_WRITER = """
import sys, flambeau
from flambeau.executors.native.products import gemm
written, text = [], gemm.product_text
gemm.product_text = lambda kind: written.append(kind) or text(kind)
x = flambeau.ones(64, 64)
print((flambeau.tanh(x @ x + 1).sum(0) * 2).sum().item(), len(written))
"""


def test_what_is_noted_is_not_written_again(tmp_path: Path) -> None:
    want, written = _run(tmp_path, _WRITER)
    assert written == 1 and _run(tmp_path, _WRITER) == (want, 0)
    assert _run(tmp_path, _WRITER, FLAMBEAU_CACHE_MB="0") == (want, 1)


def test_all_fixed_code_is_noted() -> None:
    from flambeau.autograd import comparing
    from flambeau.executors.native.programs.runtime import runtime
    from flambeau.tensor.recording.native import record

    for entries in (comparing.entries, runtime.entries, record.entries):
        assert notes.key_of(inspect.unwrap(entries), ()) is not None


def test_notes_do_not_outlive_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("a.py", "inner/b.py"):
        (tmp_path / name).write_text("x = 1")
    monkeypatch.setattr(sources, "__file__", str(tmp_path / "sources.py"))
    monkeypatch.setattr(sources, "_STARTED", time.time() + 60)
    state_of = sources.state_of.__wrapped__
    first = state_of(".")
    assert first is not None and first == state_of(".")
    (tmp_path / "inner" / "b.py").write_text("x = 22")
    assert state_of(".") not in (first, None)
    monkeypatch.setattr(sources, "_STARTED", time.time() - 60)
    assert state_of(".") is None    # changed since the process started
    assert state_of("nowhere") is None


def test_how_arguments_are_spelled() -> None:
    from flambeau.operators.optimization.multi_tensor import apply_rule
    from flambeau.operators.pointwise import arithmetic
    made = [write_key(text) for text in ("a", "a,b")]
    assert None not in made and made[0] != made[1]
    spelled = [notes._spelled(x) for x in (
        1, 1.0, True, "1", None, (1,), ((1,),), ("a", "b"), ("a,b",), np.dtype("f4"), np.dtype("f8"),
        flambeau.float32, arithmetic.ADD, arithmetic.ADD_SCALED, apply_rule, float, int)]
    assert len({*spelled}) == len(spelled) - 1      # a type is the same in NumPy and here
    for other in (object(), [1], lambda: 1, test_how_arguments_are_spelled, np.sum):
        with pytest.raises(notes._Nameless):
            notes._spelled(other)


def write_key(text: str) -> str | None:
    return notes.key_of(gemm.product_text, (text,))


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


def test_other_transformations_make_another_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path))

    def entries() -> int:
        monkeypatch.setattr(code, "_functions", {})     # as another process begins
        found, _ = code.noted(entries, (object(),), "add", lambda: ("define void @f() { ret void }", None))
        found["f"].__index__()
        return sum(path.is_file() for path in tmp_path.rglob("[0-9a-f]*"))

    assert entries() == entries() == 1
    monkeypatch.setattr(code, "_transformations", lambda: "others")
    assert entries() == 2
