"""What becomes of worker processes: who died, and how."""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Iterable
from typing import Any

_pids: dict[int, set[int]] = {}     # of the workers of each iterator, by the iterator's id
_handler_is_set = False


def _set_worker_pids(key: int, pids: Iterable[int]) -> None:
    """Watch the workers of an iterator."""
    if key in _pids:
        raise ValueError("_set_worker_pids should be called only once for each _BaseDataLoaderIter.")
    _pids[key] = set(pids)


def _remove_worker_pids(key: int) -> None:
    """Watch them no longer."""
    if _pids.pop(key, None) is None:
        raise ValueError(f"Cannot find worker information for _BaseDataLoaderIter with id {key}")


def _error_if_any_worker_fails() -> None:
    """Raise RuntimeError if a worker was killed, or ended with an exit code."""
    for pids in _pids.values():
        for pid in pids:
            try:
                ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:   # whoever joined it knows
                continue
            if ended is None or not ended.si_status:
                continue
            pids.clear()
            if ended.si_code == os.CLD_EXITED:
                raise RuntimeError(
                    f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {ended.si_status}. "
                    "Details are lost due to multiprocessing. Rerunning with num_workers=0 may give better "
                    "error trace.")
            raise RuntimeError(
                f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(ended.si_status)}. ")


def _set_SIGCHLD_handler() -> None:
    """Let the main thread raise as soon as a worker fails; a handler that was there is called afterwards."""
    import threading

    global _handler_is_set
    if _handler_is_set or threading.current_thread() is not threading.main_thread():
        return
    before: Any = signal.getsignal(signal.SIGCHLD)

    def handler(number: int, frame: Any) -> None:
        _error_if_any_worker_fails()
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGCHLD, handler)
    _handler_is_set = True


def _set_worker_signal_handlers() -> None:
    """In a worker: say where it was when memory is not there; to be told to end is no failure."""
    faulthandler.enable()
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))


__all__: list[str] = []
