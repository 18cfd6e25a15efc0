"""Errors in the DataLoader's workers, and how workers end."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.utils.data.datasets import (
    Failing,
    Numbers,
    Tensors,
    remaining_children,
)

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create", "ignore:.*fork")

# -- errors
# ---------------------------------------------------------------------------------------------------------


class OddError(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(one)


def raise_value() -> None:
    raise ValueError("bad three")


def raise_key() -> None:
    raise KeyError("x")


def raise_odd() -> None:
    raise OddError(1, 2)


def raise_local() -> None:
    class LocalError(Exception):
        pass

    raise LocalError("local")


def raise_stop() -> None:
    raise StopIteration


@pytest.mark.oracle
@pytest.mark.parametrize(
    "action", [raise_value, raise_key, raise_odd, raise_stop], ids=lambda action: action.__name__
)
@pytest.mark.parametrize("workers", [0, 1, 2])
def test_errors(torch: ModuleType, oracle: ModuleType, workers: int, action: Callable[[], Any]) -> None:
    def run(framework: ModuleType) -> Any:
        seen = []
        try:
            for batch in framework.utils.data.DataLoader(Failing(action), num_workers=workers):
                seen.append(batch.tolist())
        except Exception as error:
            lines = str(error).splitlines()
            return seen, type(error).__name__, [line for line in lines if not line.startswith("  ")]
        return seen

    assert run(torch) == run(oracle)


def test_traceback_of_a_worker_is_shown(torch: ModuleType) -> None:
    with pytest.raises(
        ValueError, match=r"(?s)^Caught ValueError in DataLoader worker process 0.*in raise_value"
    ):
        list(torch.utils.data.DataLoader(Failing(raise_value), num_workers=1))


def test_exception_class_that_cannot_be_sent(torch: ModuleType) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)^Caught LocalError.*local"):
        list(torch.utils.data.DataLoader(Failing(raise_local), num_workers=1))


def test_batch_that_cannot_be_sent(torch: ModuleType) -> None:
    if torch.__name__ != "flambeau":
        pytest.skip("PyTorch prints the error and waits for ever")
    loader = torch.utils.data.DataLoader(Numbers(), num_workers=1, collate_fn=lambda batch: lambda: batch)
    with pytest.raises(Exception, match=r"(?s)Caught .*DataLoader worker process 0.*lambda"):
        list(loader)


def test_worker_init_fn(torch: ModuleType) -> None:
    def fail(worker: int) -> None:
        raise RuntimeError(f"no worker {worker}")

    with pytest.raises(
        RuntimeError, match=r"(?s)Caught RuntimeError in DataLoader worker process 0.*no worker 0"
    ):
        list(torch.utils.data.DataLoader(Numbers(), num_workers=1, worker_init_fn=fail))


def test_loading_goes_on_after_an_error(torch: ModuleType) -> None:
    iterator = iter(torch.utils.data.DataLoader(Failing(raise_value), num_workers=2))
    seen = [next(iterator).item() for _ in range(3)]
    with pytest.raises(ValueError, match="bad three"):
        next(iterator)
    assert seen + [batch.item() for batch in iterator] == [0, 1, 2, 4, 5, 6, 7, 8, 9]


# -- what happens to processes
# --------------------------------------------------------------------------------------


def kill_me() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def exit_me() -> None:
    os._exit(3)


@pytest.mark.parametrize("action", [kill_me, exit_me], ids=lambda action: action.__name__)
@pytest.mark.parametrize("options", [{}, {"in_order": False}, {"persistent_workers": True}], ids=str)
def test_dead_worker(torch: ModuleType, action: Callable[[], Any], options: dict[str, Any]) -> None:
    loader = torch.utils.data.DataLoader(Failing(action), num_workers=2, **options)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid(\(s\))? \d+\) "):
        list(loader)


def test_worker_killed_from_outside(torch: ModuleType) -> None:
    iterator = iter(torch.utils.data.DataLoader(Numbers(1000), num_workers=1))
    next(iterator)
    pid = iterator._workers[0].process.pid if torch.__name__ == "flambeau" else iterator._workers[0].pid
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid"):
        for _ in iterator:
            pass


def test_timeout(torch: ModuleType) -> None:
    loader = torch.utils.data.DataLoader(Failing(lambda: time.sleep(3)), num_workers=1, timeout=0.2)
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.2 seconds"):
        list(loader)


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("persistent", [False, True])
def test_early_break(torch: ModuleType, workers: int, persistent: bool) -> None:
    if persistent and not workers:
        pytest.skip("nothing persists")
    gc.collect()
    before = remaining_children()
    loader = torch.utils.data.DataLoader(
        Tensors(torch.__name__), num_workers=workers, persistent_workers=persistent
    )
    for _ in range(3):
        for number, batch in enumerate(loader):
            assert batch["scalar"].item() == number
            if number == 2:
                break
    assert [batch["scalar"].item() for batch in loader] == list(range(8))
    del loader
    gc.collect()
    deadline = time.monotonic() + 10
    while remaining_children() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert remaining_children() <= before


def test_no_descriptor_is_left(torch: ModuleType) -> None:
    path = Path("/proc/self/fd")
    if not path.exists():
        pytest.skip("no /proc")

    def epoch() -> None:
        for number, _ in enumerate(torch.utils.data.DataLoader(Tensors(torch.__name__), num_workers=2)):
            if number == 4:
                break

    epoch()
    gc.collect()
    before = len(list(path.iterdir()))
    for _ in range(3):
        epoch()
    gc.collect()
    assert len(list(path.iterdir())) <= before


def test_collected_in_a_cycle(torch: ModuleType) -> None:
    """The garbage collector may take a worker's process apart before the iterator that owns it."""
    before = remaining_children()
    iterator = iter(torch.utils.data.DataLoader(Numbers(), num_workers=2))
    next(iterator)
    cycle = [iterator]
    cycle.append(cycle)
    del iterator, cycle
    gc.collect()
    assert remaining_children() <= before


def test_two_loaders_at_once(torch: ModuleType) -> None:
    loaders = [torch.utils.data.DataLoader(Numbers(), num_workers=2) for _ in range(2)]
    assert [a.item() + b.item() for a, b in zip(*loaders, strict=True)] == list(range(0, 20, 2))


def test_out_of_order(torch: ModuleType) -> None:
    """A slow batch does not hold up the others."""
    loader = torch.utils.data.DataLoader(Failing(lambda: time.sleep(1)), num_workers=2, in_order=False)
    seen = [batch.item() for batch in loader]
    assert sorted(seen) == list(range(10))
    assert seen.index(3) >= 5


def test_more_tasks_than_a_pipe_holds(torch: ModuleType) -> None:
    """Long lists of indices and long texts: neither side waits for the other for ever."""
    loader = torch.utils.data.DataLoader(
        Numbers(400_000),
        batch_size=100_000,
        num_workers=2,
        collate_fn=lambda batch: [str(index) for index in batch],
    )
    assert sum(map(len, loader)) == 400_000
