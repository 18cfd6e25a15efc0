"""Helping threads: they sleep while there is nothing to do, and are made anew in a forked process."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np

Task = Callable[[int, int, int, int], Any]

_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
_functions: dict[int, Any] = {}


def _available() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


class _Pool:
    """The threads beside the calling one; started by the first kernel that is large enough."""

    def __init__(self) -> None:
        self.tasks: SimpleQueue[Any] = SimpleQueue()
        self.started = 0

    def start(self, helpers: int) -> None:
        """Have that many threads."""
        while self.started < helpers:
            threading.Thread(target=_serve, args=(self.tasks,), name="flambeau-native", daemon=True).start()
            self.started += 1


_pool = _Pool()


def _renew() -> None:
    global _pool
    _pool = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def _serve(tasks: SimpleQueue[Any]) -> None:
    while True:
        function, start, stop, address, scratch, done = tasks.get()
        function(start, stop, address, scratch)
        done.release()


def native_function(address: int) -> Task:
    """The callable of a kernel's address; a call releases the GIL."""
    function: Task | None = _functions.get(address)
    if function is None:
        function = _functions[address] = _SIGNATURE(address)
    return function


def run_tasks(address: int, tasks: int, grain: int, words: Any, scratch: int) -> None:
    """All tasks of a call, shared between the threads."""
    function = native_function(address)
    threads = min(_available(), -(-tasks // grain))
    memory = np.empty(threads * (scratch + 64) + 64, np.uint8)
    start = memory.ctypes.data + -memory.ctypes.data % 64
    run_rows(function, tasks, words.ctypes.data, threads, start, -(-scratch // 64) * 64)


def run_rows(function: Task, rows: int, address: int, threads: int, scratch: int = 0, apart: int = 0) -> None:
    """``function(start, stop, address, scratch)`` over all rows, shared between threads; returns when done."""
    threads = min(threads, rows, _available())
    if threads <= 1:
        function(0, rows, address, scratch)
        return
    pool = _pool
    pool.start(threads - 1)
    done = threading.Semaphore(0)
    cuts = [rows * i // threads for i in range(threads + 1)]
    for i in range(1, threads):
        pool.tasks.put((function, cuts[i], cuts[i + 1], address, scratch + i * apart, done))
    try:
        function(0, cuts[1], address, scratch)
    finally:
        _wait(done, threads - 1)


def _wait(done: threading.Semaphore, count: int) -> None:
    """Wait for the helpers even when interrupted: they write into buffers that must not be freed before."""
    interrupt: BaseException | None = None
    while count:
        try:
            done.acquire()
            count -= 1
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
