"""The helping threads: they sleep while there is nothing to do, and are made anew in a forked process."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from operator import index
from typing import Any, SupportsIndex

from . import runtime
from .arena import Block
from .places import UNKNOWN, Places

_GATHERING = 1e-3   # seconds, at most


class Team:
    """The threads beside the one that looks; started by the first program that is large enough."""

    def __init__(self) -> None:
        native = runtime.entries()
        # Never freed: a helper may sleep in it while the process ends.
        size = 8 * runtime.TEAM_WORDS + 128
        raw = _LIBC.calloc(1, size)
        self.address = raw + -raw % 64
        self._prepare = _function(native["prepare"], 1)
        self._open = _function(native["open"], 3, ctypes.c_int64)
        self._launch = _function(native["launch"], 3, ctypes.c_int64)
        self._join = _function(native["join"], 2)
        self._run = _function(native["run"], 1)
        self._close = _function(native["close"], 1)
        self._quit = _function(native["quit"], 1)
        self._serve = _function(native["serve"], 3)
        self._threads: list[threading.Thread] = []
        self._places = Places()
        self._blocks: list[Block] = []
        self._scratch = 0
        self._called = False    # helpers may look at a program
        self.process = os.getpid()
        self._prepare(self.address)
        self._kept_off = ctypes.c_int64.from_address(self.address + 8 * runtime.KEPT_OFF)
        self._kept_off.value = UNKNOWN
        atexit.register(self.stop)

    def open(self, program: int, helpers: int, scratch: int) -> None:
        """Call the helpers to a program; each has ``scratch`` bytes for itself."""
        self._expect(helpers, scratch)
        self._called = True
        while moved := self._open(self.address, program, helpers):
            self._keep_off(moved - 1)

    def launch(self, program: int, helpers: int, scratch: int) -> None:
        """Let a helper run a program (Note: driving ahead)."""
        self._expect(helpers, scratch)
        self._called = True
        while moved := self._launch(self.address, program, helpers):
            self._keep_off(moved - 1)

    def join(self, program: int) -> None:
        """Take part in the program that was launched, until it is over."""
        if self._called:
            self._join(self.address, program)
            self._called = False

    def run(self, program: int) -> None:
        """Run a program whose arrays are bound."""
        self._run(program)

    def _expect(self, helpers: int, scratch: int) -> None:
        """Let so many helpers wait to be called."""
        if scratch > self._scratch:
            self.stop()
            self._scratch = max(scratch, 1 << 20)
        if self._called:    # an interrupt fell between
            self.close()
        while len(self._threads) < helpers:
            self._start()

    def _keep_off(self, processor: int) -> None:
        """Let no helper run where the calling thread does."""
        self._kept_off.value = self._places.keep_off(processor)

    def gather(self, helpers: int) -> None:
        """Wait a moment until the helpers that were called are awake: who measures does not measure that."""
        active = ctypes.c_int64.from_address(self.address + 8 * runtime.ACTIVE)
        end = time.perf_counter() + _GATHERING
        while active.value < helpers and time.perf_counter() < end:
            time.sleep(0)

    def close(self) -> None:
        """Wait until no helper looks at the program any more."""
        self._close(self.address)
        self._called = False

    def _start(self) -> None:
        block = Block(self._scratch)
        self._blocks.append(block)
        thread = threading.Thread(target=self._serve, args=(self.address, block.address, self._scratch),
                                  name="flambeau-native", daemon=True)
        thread.start()
        self._threads.append(thread)
        self._places.add(thread.native_id)
        self._kept_off.value = UNKNOWN

    def stop(self) -> None:
        """Let the helpers end; more work starts others."""
        if self._threads and self.process == os.getpid():
            self._quit(self.address)
            for thread in self._threads:
                thread.join()
            ctypes.c_int64.from_address(self.address + 8 * runtime.QUIT).value = 0
        self._threads.clear()
        self._blocks.clear()
        self._places = Places()


def _function(address: SupportsIndex, arguments: int, result: Any = None) -> Any:
    return ctypes.CFUNCTYPE(result, *[ctypes.c_int64] * arguments)(index(address))


_LIBC = ctypes.CDLL(None)
_LIBC.calloc.restype = ctypes.c_void_p
_LIBC.calloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]

_team: Team | None = None


def team() -> Team:
    """The team of this process."""
    global _team
    if _team is None:
        _team = Team()
    return _team


def _renew() -> None:
    global _team
    _team = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
