"""What loaders of other packages build on: the base of iterators, fetchers, and what is known of workers."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
from typing import Any

import pytest


class Stream:
    """Made a data set of the framework under test by ``stream_of``."""

    def __iter__(self) -> Any:
        return iter(range(5))


def stream_of(torch: Any) -> Any:
    return type("Data", (Stream, torch.utils.data.IterableDataset), {})()


def batches(torch: Any, data: Any, **options: Any) -> list[Any]:
    """As an iterator of another package gets them."""
    loaders = torch.utils.data.dataloader

    class Own(loaders._BaseDataLoaderIter):     # type: ignore[misc, name-defined]
        def __init__(self, loader: Any) -> None:
            super().__init__(loader)
            self.count = 0
            self.fetcher = loaders._DatasetKind.create_fetcher(
                self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last)

        def _next_index(self) -> Any:
            index = super()._next_index()
            self.count += 1
            return index

        def _next_data(self) -> Any:
            return self.fetcher.fetch(self._next_index())

    loader = torch.utils.data.DataLoader(data, **options)
    iterator = Own(loader)
    found: list[Any] = [batch.tolist() for batch in iterator]
    names = ("_num_workers", "_world_size", "_rank", "_pin_memory", "_timeout", "_persistent_workers",
             "count", "_num_yielded", "_IterableDataset_len_called")
    found.append([getattr(iterator, name) for name in names])
    iterator._reset(loader, True)
    return [*found, getattr(iterator.fetcher, "ended", None), iterator._num_yielded]


def failure(torch: Any, kind: type[BaseException]) -> Any:
    wrapper = importlib.import_module(f"{torch.__name__}._utils").ExceptionWrapper
    try:
        raise kind("seven")
    except kind:
        caught = wrapper(where="in a worker")
    try:
        caught.reraise()
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0], caught.exc_type.__name__, caught.where
    return None


def end(how: str) -> None:
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(3 if how == "failed" else 0)


def look_after(torch: Any, how: str) -> Any:
    signal_handling = torch.utils.data._utils.signal_handling
    process = multiprocessing.get_context("fork").Process(target=end, args=(how,))
    process.start()
    signal_handling._set_worker_pids(7, (process.pid,))
    assert process.pid is not None
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    try:
        signal_handling._error_if_any_worker_fails()
    except RuntimeError as error:
        return str(error).replace(str(process.pid), "PID")
    finally:
        signal_handling._remove_worker_pids(7)
        process.join()
    return None


NAMES = ("ManagerWatchdog().is_alive()", "_ResumeIteration().seed", "_ResumeIteration(3)",
         "_IterableDatasetStopIteration(2)")
LOST = "Details are lost due to multiprocessing. Rerunning with num_workers=0 may give better error trace."
NOTED = [0, 1, 0, False, 0, False]
ROWS: dict[str, tuple[Any, Any]] = {
    "in order": (lambda torch: batches(torch, range(5), batch_size=2),
                 [[0, 1], [2, 3], [4], [*NOTED, 3, 3, None], None, 0]),
    "a stream": (lambda torch: batches(torch, stream_of(torch), batch_size=2, drop_last=True),
                 [[0, 1], [2, 3], [*NOTED, 3, 2, None], True, 0]),
    "an error": (lambda torch: failure(torch, ValueError),
                 ("ValueError", "Caught ValueError in a worker.", "ValueError", "in a worker")),
    "a missing key": (lambda torch: failure(torch, KeyError),
                      ("KeyError", "Caught KeyError in a worker.", "KeyError", "in a worker")),
    "killed": (lambda torch: look_after(torch, "killed"),
               "DataLoader worker (pid PID) is killed by signal: Killed. "),
    "failed": (lambda torch: look_after(torch, "failed"),
               f"DataLoader worker (pid PID) exited unexpectedly with exit code 3. {LOST}"),
    "ended": (lambda torch: look_after(torch, "ended"), None),
    "messages": (lambda torch: [str(eval(name, vars(torch.utils.data._utils.worker))) for name in NAMES],
                 ["True", "None", "_ResumeIteration(seed=3)", "_IterableDatasetStopIteration(worker_id=2)"]),
    "settings": (lambda torch: [torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL,
                                torch.utils.data.dataloader._get_distributed_settings()], [5.0, (1, 0)]),
}


@pytest.mark.parametrize("name", ROWS)
def test_foreign_iterators(torch: Any, name: str) -> None:
    call, expected = ROWS[name]
    assert call(torch) == expected


def test_vital_signs(torch: Any) -> None:
    with pytest.warns(UserWarning, match="'set_vital' is deprecated, please do not call"):
        assert torch.set_vital("Dataloader", "enabled", "True") is None
