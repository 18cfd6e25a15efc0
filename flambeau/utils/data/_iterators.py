"""The iterators of a DataLoader: fetching here, or receiving from workers."""

from __future__ import annotations

import functools
import itertools
import os
import queue
import signal
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from ...engine import synchronize
from ...tensor.samples.chains import load_ahead
from ._utils.errors import ExceptionWrapper
from ._utils.fetch import IterableFetcher, MapFetcher
from ._utils.messages import Receiver
from ._utils.pipes import is_stream_pipe, processes, seeded
from ._utils.worker import RESUME, STOP, _IterableDatasetStopIteration, _ResumeIteration, work
from .sampler import draw_seed

if TYPE_CHECKING:
    from .dataloader import DataLoader

# How long workers may take to end before they are ended.
_PATIENCE = 5.0


class _DatasetKind:
    """Whether samples are asked for by index, or taken from a stream."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any,
                       drop_last: bool) -> Any:
        """What gets batches from a dataset of a kind."""
        make = MapFetcher if kind == _DatasetKind.Map else IterableFetcher
        return make(dataset, auto_collation, collate_fn, drop_last)


def _fetcher_of(loader: Any) -> tuple[Any, ...]:
    """A fetcher's class and its arguments; other packages' loaders have these attributes as well."""
    return (MapFetcher if loader._dataset_kind == _DatasetKind.Map else IterableFetcher, loader.dataset,
            loader._auto_collation, loader.collate_fn, loader.drop_last)


def _options_of(loader: DataLoader[Any]) -> DataLoader[Any]:
    """A loader as it is now. It keeps its persistent iterator, which must not keep it in turn: both, and the
    workers, would live until the garbage collector comes."""
    copied: DataLoader[Any] = object.__new__(type(loader))
    copied.__dict__.update(loader.__dict__)
    return copied


def _count_of(dataset: Any) -> int:
    """How many samples there are, as far as is known."""
    try:
        return len(dataset)
    except Exception:   # a stream, or a class of the user's
        return 0


class _BaseDataLoaderIter:
    """What both iterators share: seeds, the sampler, the count of batches; and the loader's options under the
    names that iterators of other packages read, which derive from this class."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader = _options_of(loader) if loader.persistent_workers else loader
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._auto_collation = loader._auto_collation
        self._collate_fn = loader.collate_fn
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._world_size, self._rank = processes() if is_stream_pipe(loader.dataset) else (1, 0)
        self._pin_memory = False    # there is nothing to pin
        self._pin_memory_device = loader.pin_memory_device
        self._timeout = loader.timeout
        self._persistent_workers = loader.persistent_workers
        self._shared_seed = seeded(loader.dataset, loader.generator)
        self._sampler_iter = iter(loader._index_sampler)
        # Drawn before the first index, whether there are workers or not: the stream of the generator is
        # PyTorch's.
        self._base_seed = draw_seed(loader.generator)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        if loader.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned "
                "memory won't be used.",
                stacklevel=4,
            )

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        self._shared_seed = seeded(loader.dataset, loader.generator)
        self._sampler_iter = iter(loader._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        reported = self._IterableDataset_len_called
        if reported is not None and self._num_yielded > reported:
            self._warn_of_length(reported)
        return data

    def _warn_of_length(self, reported: int) -> None:
        message = (
            f"Length of IterableDataset {self._loader.dataset} was reported to be {reported}(when accessing "
            f"len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._loader.num_workers > 0:
            message += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warnings.warn(message, stacklevel=3)

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Fetches each batch when it is asked for."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        make, *arguments = _fetcher_of(loader)
        self._fetcher = make(*arguments)

    def _next_data(self) -> Any:
        return self._fetcher.fetch(self._next_index())


class _Worker:
    """A worker process as seen from here."""

    def __init__(self, number: int, process: Any, connection: Any, receiver: Receiver) -> None:
        self.number = number
        self.process = process
        self.connection = connection
        self.receiver = receiver
        self.active = True
        self.outstanding = 0


# The ends of all connections in this process, which a forked worker has to close.
_connections: weakref.WeakSet[Any] = weakref.WeakSet()


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Sends indices to workers in turn, and receives the batches in the same order.

    Each worker has a connection of its own and answers its tasks in order, so the next batch in order is
    always the next message of a known worker. A connection that ends tells of a dead worker.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.prefetch_factor <= 0:  # type: ignore[operator]  # None where num_workers was set afterwards
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._workers: list[_Worker] = []
        self._shut_down = False
        # Not __del__: when the garbage collector takes this iterator, the connections and processes may have
        # been taken apart already. The finalizer holds them whole.
        self._end_workers = weakref.finalize(self, _end, self._workers, os.getpid())
        synchronize()  # what is pending is computed once, not by every worker
        load_ahead(_count_of(loader.dataset))
        try:
            for number in range(loader.num_workers):
                self._workers.append(self._start(number))
        except BaseException:
            self._shutdown_workers()
            raise
        # PyTorch's iterator begins its first epoch twice: the generator's stream has one more draw.
        seeded(loader.dataset, loader.generator)
        self._begin_epoch()

    def _start(self, number: int) -> _Worker:
        import multiprocessing

        loader = self._loader
        context: Any = loader.multiprocessing_context or multiprocessing.get_context()
        ours, theirs = context.Pipe(duplex=True)
        _connections.add(ours)
        to_close = list(_connections) if context.get_start_method() == "fork" else []
        make, *arguments = _fetcher_of(loader)
        process = context.Process(
            target=work,
            daemon=True,
            args=(
                number,
                loader.num_workers,
                self._base_seed,
                loader.dataset,
                functools.partial(make, *arguments),
                loader.worker_init_fn,
                theirs,
                to_close,
                self._shared_seed,
            ),
        )
        try:
            process.start()
        finally:
            theirs.close()
        return _Worker(number, process, ours, Receiver(ours))

    def _begin_epoch(self) -> None:
        self._sent = self._received = 0
        self._tasks: dict[int, _Worker] = {}
        self._turns = itertools.cycle(self._workers)
        for worker in self._workers:
            worker.active = True
            worker.outstanding = 0
        for _ in range((self._loader.prefetch_factor or 0) * len(self._workers)):
            self._send_task()

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        """Begin another epoch with the same workers."""
        super()._reset(loader)
        for worker in self._workers:
            self._send(worker, _ResumeIteration(self._shared_seed))
        for worker in self._workers:
            while self._receive_from(worker)[0] != RESUME:
                pass  # of an epoch that was left early
        self._begin_epoch()

    # -- tasks
    # ---------------------------------------------------------------------------------------------------

    def _send(self, worker: _Worker, task: Any) -> None:
        try:
            worker.connection.send(task)
        except (BrokenPipeError, ConnectionResetError):
            self._report_death(worker)

    def _send_task(self) -> None:
        try:
            index = self._next_index()
        except StopIteration:
            return
        worker = self._next_worker()
        if worker is None:
            return
        self._send(worker, (self._sent, index, worker.receiver.take_released()))
        self._tasks[self._sent] = worker
        worker.outstanding += 1
        self._sent += 1

    def _next_worker(self) -> _Worker | None:
        limit = self._loader.prefetch_factor or 0
        for _ in self._workers:
            worker = next(self._turns)
            # In order, tasks go round; out of order, to whoever has answered.
            if worker.active and (self._loader.in_order or worker.outstanding < limit):
                return worker
        return None

    # -- batches
    # -------------------------------------------------------------------------------------------------

    def _next_data(self) -> Any:
        while True:
            worker = self._expected()
            if worker is None:
                if not self._loader.persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            number, data = self._receive_from(worker)
            del self._tasks[number]
            worker.outstanding -= 1
            if isinstance(data, _IterableDatasetStopIteration):
                self._retire(worker)
                self._send_task()
                continue
            self._received += 1
            self._send_task()
            if isinstance(data, ExceptionWrapper):
                data.reraise()
            return data

    def _expected(self) -> _Worker | None:
        """The worker whose message comes next; ``None`` when all batches have been received."""
        if self._shut_down:
            return None
        # Tasks that were sent to a worker whose stream had ended get no answer.
        for number in [number for number, worker in self._tasks.items() if not worker.active]:
            del self._tasks[number]
        if not self._tasks:
            return None
        if self._loader.in_order:
            return self._tasks[min(self._tasks)]
        return self._first_ready()

    def _first_ready(self) -> _Worker:
        from multiprocessing.connection import wait

        waiting = {worker.connection: worker for worker in self._tasks.values()}
        ready = wait(list(waiting), self._loader.timeout or None)
        if not ready:
            self._report_timeout()
        return waiting[ready[0]]

    def _receive_from(self, worker: _Worker) -> tuple[Any, Any]:
        if self._loader.timeout > 0 and not worker.connection.poll(self._loader.timeout):
            self._report_timeout()
        try:
            return worker.receiver.receive()
        except (EOFError, ConnectionResetError):
            self._report_death(worker)
            raise

    def _retire(self, worker: _Worker) -> None:
        """The stream of a worker has ended; it gets no more tasks in this epoch."""
        worker.active = False
        if not self._loader.persistent_workers:
            self._send(worker, STOP)

    # -- ends
    # ----------------------------------------------------------------------------------------------------

    def _report_timeout(self) -> None:
        raise RuntimeError(f"DataLoader timed out after {self._loader.timeout} seconds")

    def _report_death(self, worker: _Worker) -> None:
        worker.process.join(_PATIENCE)
        dead = [each.process for each in self._workers if not each.process.is_alive() and each.active]
        pids = ", ".join(str(process.pid) for process in dead) or str(worker.process.pid)
        cause: Exception = queue.Empty()
        code = worker.process.exitcode
        if code is not None and code < 0:
            cause = RuntimeError(
                f"DataLoader worker (pid {worker.process.pid}) is killed by signal: "
                f"{signal.strsignal(-code)}. "
            )
        elif code:
            cause = RuntimeError(
                f"DataLoader worker (pid {worker.process.pid}) exited unexpectedly with exit code "
                f"{code}. Details are lost due to multiprocessing. Rerunning with num_workers=0 may "
                "give better error trace."
            )
        self._shutdown_workers()
        raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly") from cause

    def _shutdown_workers(self) -> None:
        self._shut_down = True
        self._end_workers()


def _end(workers: list[_Worker], owner: int) -> None:
    """End worker processes: the end of their connection is the end of their tasks."""
    if owner != os.getpid():  # a copy in a forked process
        return
    for worker in workers:
        worker.connection.close()
    for worker in workers:
        worker.process.join(_PATIENCE)
        if worker.process.is_alive():
            worker.process.terminate()
            worker.process.join()
