"""The worker process: reads tasks, fetches batches, sends them."""

from __future__ import annotations

import os
import queue
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...._execution import set_num_threads
from ....random import manual_seed
from ....tensor.samples.stacking import allocate
from .errors import ExceptionWrapper
from .messages import Sender
from .pipes import reseed, share

__all__ = ["WorkerInfo", "get_worker_info"]

# What a task can be beside (number, index, released segments).
STOP = None
RESUME = "resume"  # what a worker answers


@dataclass(frozen=True)
class _ResumeIteration:
    """Begin another epoch; streams of pipes with seeds drawn from one for all workers."""

    seed: int | None = None


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """Sent in the place of a batch when the stream of a worker has ended."""

    worker_id: int


class ManagerWatchdog:
    """In a worker: whether the process that started it is there."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()

    def is_alive(self) -> bool:
        """False once that has ended, and another one has taken over."""
        return os.getppid() == self.manager_pid


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker knows of itself; `dataset` is its own copy."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a DataLoader, its :class:`WorkerInfo`; elsewhere ``None``.

    >>> import flambeau as torch
    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return _worker_info


def numpy_seed(base_seed: int, worker_id: int) -> np.ndarray[Any, Any]:
    """The seed of NumPy's global generator in a worker, as PyTorch derives it."""
    return np.random.SeedSequence([worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32]).generate_state(4)


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """``numpy_seed`` as a list."""
    return [int(word) for word in numpy_seed(base_seed, worker_id)]


def seed_everything(base_seed: int, worker_id: int) -> int:
    """Seed the generators of the worker: flambeau's, Python's and NumPy's."""
    seed = base_seed + worker_id
    random.seed(seed)
    manual_seed(seed)
    np.random.seed(numpy_seed(base_seed, worker_id))
    return seed


class _Tasks:
    """Reads tasks in a thread of its own: whoever sends them is never kept waiting by a busy worker."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                task = self.connection.recv()
            except (EOFError, OSError):  # the other process is gone, or has done with us
                task = STOP
            self.tasks.put(task)
            if task is STOP:
                return


def work(
    worker_id: int,
    num_workers: int,
    base_seed: int,
    dataset: Any,
    make_fetcher: Callable[[], Any],
    init_fn: Callable[[int], None] | None,
    connection: Any,
    to_close: list[Any],
    shared_seed: int | None = None,
) -> None:
    """The main function of a worker process."""
    global _worker_info
    for other in to_close:  # inherited by fork: held open here, their ends would not be noticed
        other.close()
    sender = Sender(connection)
    allocate[0] = sender.segments.lend
    where = f"in DataLoader worker process {worker_id}"
    try:
        tasks = _Tasks(connection)
        failure: ExceptionWrapper | None = None
        fetcher: Any = None
        try:
            set_num_threads(1)
            seed = seed_everything(base_seed, worker_id)
            reseed(dataset, shared_seed)
            _worker_info = WorkerInfo(id=worker_id, num_workers=num_workers, seed=seed, dataset=dataset)
            share(dataset, num_workers, worker_id)
            if init_fn is not None:
                init_fn(worker_id)
            fetcher = make_fetcher()
        except Exception:
            failure = ExceptionWrapper(where=where)
        _serve(tasks.tasks, sender, fetcher, failure, make_fetcher, where)
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        pass  # the process that iterates is interrupted too, or gone; it has the say


def _serve(
    tasks: queue.SimpleQueue[Any],
    sender: Sender,
    fetcher: Any,
    failure: ExceptionWrapper | None,
    make_fetcher: Callable[[], Any],
    where: str,
) -> None:
    ended = False
    while (task := tasks.get()) is not STOP:
        if isinstance(task, _ResumeIteration):
            ended = False
            try:
                assert _worker_info is not None
                reseed(_worker_info.dataset, task.seed)
                fetcher = make_fetcher()
                failure = None
            except Exception:
                failure = ExceptionWrapper(where=where)
            sender.send(RESUME, None)
            continue
        number, index, released = task
        sender.segments.release(released)
        if ended:
            continue
        if failure is not None:
            _send(sender, number, failure, where)
            failure = None
            continue
        data: Any
        try:
            data = fetcher.fetch(index)
        except Exception as error:
            if isinstance(error, StopIteration) and getattr(fetcher, "ends", False):
                assert _worker_info is not None
                data = _IterableDatasetStopIteration(_worker_info.id)
                ended = True
            else:
                data = ExceptionWrapper(where=where)
        _send(sender, number, data, where)
        del data


def _send(sender: Sender, number: int, data: Any, where: str) -> None:
    try:
        sender.send(number, data)
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception:
        # What cannot be pickled, an exception of a class without a name in a module included.
        if isinstance(data, ExceptionWrapper):
            data.exc_type = RuntimeError
            sender.send(number, data)
        else:
            _send(sender, number, ExceptionWrapper(where=where), where)
