"""Modules compiled by processes beside this one: the same objects, whatever happens to the processes."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import flambeau
from flambeau.config import settings
from flambeau.executors.native.llvm.compiling import builders, dumping
from flambeau.executors.native.llvm.compiling.compiler import object_of
from flambeau.executors.native.llvm.compiling.effort import Effort
from flambeau.executors.native.llvm.compiling.machine import machine

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the faults are those of POSIX systems")

_TEXT = """
define i64 @add_{k}(i64 %x) {{
  %y = add i64 %x, {k}
  ret i64 %y
}}
"""


@pytest.fixture(autouse=True)
def _cheap_processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Processes that seem to cost nothing, and three threads to share the work."""
    monkeypatch.setattr(builders, "_START", 0.0)
    monkeypatch.setattr(builders, "_WRITTEN", 0.0)
    monkeypatch.setattr(settings, "threads", 3)
    monkeypatch.setattr(builders, "_batch", None)
    yield
    builders._settle()


def _object(k: int) -> bytes:
    return object_of(_TEXT.format(k=k), machine().name, machine().features)


def _submit(count: int = 7) -> list[builders.Job]:
    return [builders.submit(_TEXT.format(k=k), "add", Effort.ALL) for k in range(count)]


def _processes() -> list[subprocess.Popen[bytes]]:
    assert builders._batch is not None
    return [helper.process for helper in builders._batch.helpers if helper.process is not None]


def _check(jobs: list[builders.Job]) -> None:
    processes = _processes()
    assert [job.result() for job in jobs] == [_object(k) for k in range(len(jobs))]
    assert all(process.returncode is not None for process in processes)


def test_objects_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = _submit()
    assert len(_processes()) == 2
    compiled_here: list[builders.Job] = []
    compile_here = builders.Job.compile
    monkeypatch.setattr(builders.Job, "compile", lambda job: compiled_here.append(job) or compile_here(job))
    _check(jobs)
    assert 0 < len(compiled_here) < 7
    _check(_submit(2))      # another batch


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("which", [slice(0, 1), slice(0, 2)])
def test_processes_that_do_not_answer(number: int, which: slice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builders, "_PATIENCE", 1.0)
    jobs = _submit(3)
    for process in _processes()[which]:
        process.send_signal(number)
    _check(jobs + [builders.submit(_TEXT.format(k=k), "add", Effort.ALL) for k in (3, 4, 5)])


@pytest.mark.parametrize("program", ["exit 3", "echo hello there", "exec sleep 100", "cat", "head -c 9"])
def test_something_that_is_no_python(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{program}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(path))
    monkeypatch.setattr(builders, "_PATIENCE", 1.0)
    _check(_submit())


def _without_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")


def _with_python_in_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/usr/bin/uwsgi")


def _with_python_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python3")


def _frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)


def _with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "threads", 1)


def _dumping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumping, "dump_folder", lambda: Path("somewhere"))


@pytest.mark.parametrize("change", [_without_python, _with_python_in_something, _with_python_gone, _frozen,
                                    _with_one_thread, _dumping])
def test_no_process(change: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        change(patch)
        jobs = _submit()
        assert not _processes()
    _check(jobs)


def test_a_text_that_does_not_compile() -> None:
    jobs = _submit()
    wrong = [builders.submit("define nothing", "wrong", Effort.ALL) for _ in range(3)]
    with pytest.raises(RuntimeError, match="parsing"):
        [job.result() for job in wrong]
    assert [job.result() for job in jobs] == [_object(k) for k in range(len(jobs))]


def test_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(job: builders.Job) -> None:
        raise KeyboardInterrupt

    jobs = _submit()
    processes = _processes()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(builders.Job, "compile", interrupted)
        jobs[3].result()
    assert all(process.returncode is not None for process in processes)
    assert [job.result() for job in jobs] == [_object(k) for k in range(len(jobs))]


def test_a_fork_in_the_middle() -> None:
    jobs = _submit()
    child = os.fork()
    if not child:
        status = 1
        try:
            more = builders.submit(_TEXT.format(k=9), "add", Effort.ALL)
            right = jobs[1].result() == _object(1) and more.result() == _object(9)
            status = 0 if right and builders._inherited else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    _check(jobs)


_SCRIPT = """
import flambeau
from flambeau.executors.native.llvm.compiling import builders, code
started = []
start = builders._started
builders._started = lambda: started.append(start()) or started[-1]
flambeau.set_num_threads(3)
x = flambeau.arange(4096.0).reshape(64, 64) / 1e3
w = (x + 1).requires_grad_()
y = flambeau.nn.functional.scaled_dot_product_attention(x[None, None], w[None, None], x[None, None])
z = (flambeau.softmax(x @ w.T, -1) * y).sum()
z.backward()
print(z.item(), w.grad.sum().item(), code.compiled, len(started), sum(p.returncode is None for p in started))
"""


def _run(cache: Path, **more: str) -> list[str]:
    environment = {**os.environ, "FLAMBEAU_TIER": "native", "FLAMBEAU_CACHE_DIR": str(cache), **more}
    return subprocess.run([sys.executable, "-W", "error", "-c", _SCRIPT], env=environment, check=True,
                          capture_output=True, text=True).stdout.split()


def test_a_script_without_a_guard(tmp_path: Path) -> None:
    *want, compiled, started, left = _run(tmp_path / "cache")
    assert int(compiled) > 0 and int(started) > 0 and int(left) == 0
    assert _run(tmp_path / "cache") == [*want, "0", "0", "0"]
    file = tmp_path / "file"    # a folder in which nothing can be written
    file.write_text("")
    assert _run(file / "cache") == [*want, compiled, started, "0"]


def test_the_worker_needs_nothing_of_flambeau() -> None:
    """It starts quickly: what it imports is what compiles."""
    folder = Path(flambeau.__file__).parent / "executors" / "native" / "llvm" / "compiling"
    script = ("import sys, worker; sys.path.append(sys.argv[1]); worker._module('compiler'); "
              "print(*sorted(name for name in sys.modules if 'flambeau' in name or name == 'numpy'))")
    site = str(Path(sys.modules["llvmlite"].__file__ or "").parents[1])
    found = subprocess.run([sys.executable, "-c", script, site], cwd=folder, check=True, capture_output=True,
                           text=True, env={**os.environ, "PYTHONPATH": str(folder)}).stdout
    assert found.replace("flambeau_llvm", "*").split() == ["*", "*.compiler", "*.dumping", "*.effort"]
