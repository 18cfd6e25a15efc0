"""Starting several processes that run the same function, and passing on the first failure."""

from __future__ import annotations

import multiprocessing
import signal
import time
import traceback
from collections.abc import Callable
from multiprocessing import connection
from typing import Any


class ProcessException(Exception):
    """A process of ``spawn`` failed."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process of ``spawn`` ended with an exception."""


class ProcessExitedException(ProcessException):
    """A process of ``spawn`` ended by a signal or with an exit code."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int,
                 signal_name: str | None = None) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn: Callable[..., Any], i: int, args: tuple[Any, ...], failures: Any) -> None:
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        failures.send(traceback.format_exc())
        raise SystemExit(1) from None


class ProcessContext:
    """The processes that ``spawn(join=False)`` started."""

    def __init__(self, processes: list[Any], failures: list[Any]) -> None:
        self.processes = processes
        self.failures = failures
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The processes' numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends; True once all have. After a failure, end the others and raise it."""
        if not self.sentinels:
            return True
        failed = None
        for sentinel in connection.wait(list(self.sentinels), timeout=timeout):
            i = self.sentinels.pop(sentinel)
            self.processes[i].join()
            if self.processes[i].exitcode != 0:
                failed = i
                break
        if failed is None:
            return not self.sentinels
        self._end_others(grace_period)
        raise self._failure(failed)

    def _end_others(self, grace_period: float | None) -> None:
        deadline = time.monotonic() + (30 if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _failure(self, i: int) -> ProcessException:
        process, failures = self.processes[i], self.failures[i]
        if failures.poll():
            message = f"\n\n-- Process {i} terminated with the following error:\n{failures.recv()}"
            return ProcessRaisedException(message, i, process.pid)
        if process.exitcode < 0:
            name = signal.Signals(-process.exitcode).name
            return ProcessExitedException(f"process {i} terminated with signal {name}", i, process.pid,
                                          process.exitcode, name)
        return ProcessExitedException(f"process {i} terminated with exit code {process.exitcode}", i,
                                      process.pid, process.exitcode)


SpawnContext = ProcessContext


def start_processes(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True,
                    daemon: bool = False, start_method: str = "spawn") -> ProcessContext | None:
    """Run ``fn(i, *args)`` in ``nprocs`` processes."""
    context: Any = multiprocessing.get_context(start_method)
    processes, failures = [], []
    for i in range(nprocs):
        reader, writer = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, i, args, writer), daemon=daemon)
        process.start()
        writer.close()
        processes.append(process)
        failures.append(reader)
    started = ProcessContext(processes, failures)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True,
          daemon: bool = False, start_method: str = "spawn") -> ProcessContext | None:
    """Run ``fn(i, *args)`` in ``nprocs`` fresh processes; raises the first failure.

    With ``join=False`` the ``ProcessContext`` comes back at once.
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)
