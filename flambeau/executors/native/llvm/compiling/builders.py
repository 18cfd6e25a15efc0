"""Several modules compiled at once, by processes beside this one.

Note: builders. While a program is planned, the modules that it lacks are handed out: to this process or to
another, whichever has the least to do by a model. The first of their functions that is needed is the end of a
batch: this process compiles its own modules, and reads what the others made. Then they end. A process is only
started for a batch that takes longer than its start. LLVM's threads would not do: llvmlite lets one work at a
time. What another process does not deliver, for whatever reason, is compiled here.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import signal
import sys
import threading
import zlib
from typing import TYPE_CHECKING

from .....config import settings
from . import dumping
from .effort import Effort
from .machine import machine
from .worker import ANSWER, HEAD

if TYPE_CHECKING:
    import subprocess

# Modelled, in nanoseconds: what a character of a text takes to compile, to write a module, and to have LLVM
# ready in another process.
_CHARACTER = {Effort.FEW: 0.7e3, Effort.SOME: 1.4e3, Effort.ALL: 5e3}
_WRITTEN = 8e6
_START = 200e6
_MOST = 7           # processes
_PATIENCE = 60.0    # seconds after which a process is given up; a batch takes a few


class Job:
    """A module to be compiled: ``result()`` is its object."""

    __slots__ = ("text", "title", "effort", "content")

    def __init__(self, text: str, title: str, effort: Effort) -> None:
        self.text = text
        self.title = title
        self.effort = effort
        self.content = b""

    def result(self) -> bytes:
        """The object; ends the batch."""
        if not self.content:
            _settle()
        if not self.content:
            self.compile()
        return self.content

    def compile(self) -> None:
        """Compile it here and now."""
        from .compiler import object_of  # LLVM is loaded only to compile

        host = machine()
        self.content = object_of(self.text, host.name, host.features, self.title, self.effort)


class _Helper:
    """Another process, which is started with its first module and ends with the batch."""

    def __init__(self) -> None:
        self.load = _START
        self.jobs: list[Job] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.timer: threading.Timer | None = None

    def take(self, job: Job) -> None:
        try:
            if self.process is None:
                self.process = _started()
                self.timer = threading.Timer(_PATIENCE, _kill, [self.process])
                self.timer.daemon = True
                self.timer.start()
            self._send(zlib.compress(job.text.encode(), 1), job.effort)
        except (OSError, RuntimeError):     # no process, no thread, or it has ended
            self.load = math.inf
        else:
            self.jobs.append(job)

    def _send(self, text: bytes, effort: Effort) -> None:
        assert self.process is not None and self.process.stdin is not None
        left = memoryview(HEAD.pack(len(text), effort) + text)
        while left:
            left = left[self.process.stdin.write(left):]

    def collect(self) -> None:
        """Wait for what it makes."""
        if self.process is None:
            return
        with contextlib.suppress(OSError):
            self._send(b"", Effort.FEW)
            assert self.process.stdin is not None and self.process.stdout is not None
            self.process.stdin.close()
            made, start = self.process.stdout.read(), 0
            for job in self.jobs:
                if start + ANSWER.size > len(made):
                    break
                size, checksum = ANSWER.unpack_from(made, start)
                start += ANSWER.size + size
                content = made[start - size:start]
                if len(content) == size and zlib.crc32(content) == checksum:
                    job.content = content

    def end(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if self.process is not None:
            _kill(self.process)     # it has nothing left to do
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process, and what it may have started: ``sys.executable`` can be a script."""
    if process.returncode is None and hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


class _Batch:
    """Modules that are handed out, and those who take them."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.load = 0.0     # of this process, which writes all texts
        self.jobs: list[Job] = []
        self.helpers = [_Helper() for _ in range(_processes())]

    def take(self, job: Job) -> None:
        costs = len(job.text) * _CHARACTER[job.effort]
        self.load += _WRITTEN
        helper = min(self.helpers, key=lambda helper: helper.load, default=None)
        if helper is not None and helper.load < self.load:
            helper.load += costs
            helper.take(job)
        else:
            self.load += costs
            self.jobs.append(job)

    def end(self) -> None:
        try:
            for job in self.jobs:
                job.compile()
            for helper in self.helpers:
                helper.collect()
        finally:
            for helper in self.helpers:
                helper.end()


_batch: _Batch | None = None
_inherited: list[_Batch] = []   # of a process that was forked in the middle of one: not its to end


def submit(text: str, title: str, effort: Effort) -> Job:
    """Have a module compiled."""
    global _batch
    job = Job(text, title, effort)
    if _batch is not None and _batch.owner != os.getpid():
        _inherited.append(_batch)
        _batch = None
    if _batch is None:
        _batch = _Batch()
    _batch.take(job)
    return job


def _settle() -> None:
    """End the batch."""
    global _batch
    if _batch is not None and _batch.owner == os.getpid():
        batch, _batch = _batch, None
        batch.end()


def _processes() -> int:
    """How many processes may help."""
    if getattr(sys, "frozen", False) or dumping.dump_folder() is not None \
            or not os.path.basename(sys.executable or "").startswith(("python", "pypy")):
        return 0    # a program that holds Python is no Python to be started
    return min(settings.threads - 1, _MOST)


def _started() -> subprocess.Popen[bytes]:
    import subprocess  # it takes a while, and a process that finds its code on disk has no use for it

    spec = importlib.util.find_spec("llvmlite")
    if spec is None or not spec.submodule_search_locations:
        raise OSError("llvmlite is nowhere")
    folder = os.path.dirname(os.path.abspath(spec.submodule_search_locations[0]))
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
    host = machine()
    # Isolated from the environment, which may hold anything, and from interrupts that are meant for this one.
    options = ["-I", "-S", *["-B"] * sys.dont_write_bytecode]
    if sys.pycache_prefix:
        options += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
    command = [sys.executable, *options, script, folder, host.name, host.features]
    return subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, start_new_session=True)
