"""The DataLoader against PyTorch's: order, seeds, errors; and what can happen to workers."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create", "ignore:.*fork")


class Numbers:
    """A map-style dataset needs no base class."""

    def __init__(self, count: int = 10) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return index


class Failing(Numbers):
    """Raises at index 3."""

    def __init__(self, action: Callable[[], Any]) -> None:
        super().__init__()
        self.action = action

    def __getitem__(self, index: int) -> int:
        if index == 3:
            self.action()
        return index


def make_stream(framework: ModuleType, sizes: tuple[int, ...] = (5,), length: int | None = None) -> Any:
    data = framework.utils.data

    class Stream(data.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Any:
            info = data.get_worker_info()
            worker = info.id if info else 0
            return iter(range(worker * 100, worker * 100 + sizes[worker]))

    if length is not None:
        Stream.__len__ = lambda self: length  # type: ignore[attr-defined]
    return Stream()


def plain(data: Any) -> Any:
    if hasattr(data, "tolist"):
        return data.tolist()
    if isinstance(data, list | tuple):
        return [plain(item) for item in data]
    if isinstance(data, dict):
        return {key: plain(item) for key, item in data.items()}
    return data


def remaining_children() -> int:
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return len(path.read_text().split()) if path.exists() else 0


# -- the same as PyTorch
# --------------------------------------------------------------------------------------------

ORDERS: list[dict[str, Any]] = [
    {},
    {"batch_size": 3},
    {"batch_size": 3, "drop_last": True},
    {"batch_size": 4, "shuffle": True},
    {"batch_size": None, "shuffle": True},
    {"sampler": [3, 1, 4]},
    {"batch_sampler": [[1, 2], [3]]},
    {"batch_size": 2, "shuffle": True, "prefetch_factor": 1, "num_workers": 2},
    {"batch_size": 2, "shuffle": True, "persistent_workers": True, "num_workers": 2},
]


@pytest.mark.oracle
@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("options", ORDERS, ids=str)
def test_order_and_generator(
    torch: ModuleType, oracle: ModuleType, options: dict[str, Any], workers: int
) -> None:
    """Two epochs, and what they leave of the generators."""

    def run(framework: ModuleType, own: bool) -> list[Any]:
        framework.manual_seed(7)
        generator = framework.Generator().manual_seed(3) if own else None
        loader = framework.utils.data.DataLoader(
            Numbers(), generator=generator, **{"num_workers": workers, **options}
        )
        seen = [plain(list(loader)) for _ in range(2)]
        return [*seen, len(loader), framework.rand(()).item(), framework.rand((), generator=generator).item()]

    for own in (False, True):
        assert run(torch, own) == run(oracle, own)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 2},
        {"batch_size": 2, "drop_last": True},
        {"batch_size": None},
        {"prefetch_factor": 1},
        {"persistent_workers": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_streams(torch: ModuleType, oracle: ModuleType, options: dict[str, Any], workers: int) -> None:
    if workers == 0 and not {"prefetch_factor", "persistent_workers"}.isdisjoint(options):
        pytest.skip("an option of workers")

    def run(framework: ModuleType) -> list[Any]:
        loader = framework.utils.data.DataLoader(
            make_stream(framework, (2, 7, 4)), num_workers=workers, **options
        )
        return [plain(list(loader)) for _ in range(2)]

    assert run(torch) == run(oracle)


class Seeds(Numbers):
    def __init__(self, framework: str) -> None:
        super().__init__(4)
        self.framework = framework

    def __getitem__(self, index: int) -> Any:
        import random

        framework = sys.modules[self.framework]
        info = framework.utils.data.get_worker_info()
        fields = (info.id, info.num_workers, info.seed) if info else None
        return [
            fields,
            framework.initial_seed(),
            random.random() if info else 0,
            float(np.random.rand()) if info else 0,
            framework.rand(2).tolist(),
            index,
        ]


def as_is(batch: Any) -> Any:
    return batch


@pytest.mark.oracle
@pytest.mark.parametrize("workers", [0, 1, 2])
def test_seeds_of_workers(torch: ModuleType, oracle: ModuleType, workers: int) -> None:
    """Every generator of a worker: this one, Python's, NumPy's."""

    def run(framework: ModuleType) -> Any:
        framework.manual_seed(11)
        loader = framework.utils.data.DataLoader(
            Seeds(framework.__name__), num_workers=workers, collate_fn=as_is
        )
        return [list(loader), list(loader)]

    assert run(torch) == run(oracle)


SCRIPT = """
import json, sys
import {framework} as torch
import numpy as np
from torch_or_ours import data

class Stream(data.IterableDataset):
    def __iter__(self):
        worker = data.get_worker_info().id
        return iter(range(worker * 10, worker * 10 + 3 + worker))

class Images(data.Dataset):
    def __init__(self):
        self.images = torch.arange(24.0).reshape(6, 4)
    def __len__(self):
        return 6
    def __getitem__(self, index):
        if index == 100:
            raise ValueError("index 100")
        return self.images[index], data.get_worker_info().seed, float(np.random.rand())

if __name__ == "__main__":
    torch.manual_seed(5)
    result = []
    for method in ("fork", "spawn"):
        options = dict(num_workers=2, multiprocessing_context=method)
        loader = data.DataLoader(Images(), batch_size=2, shuffle=True, **options)
        result.append([[part.tolist() for part in batch] for batch in loader])
        loader = data.DataLoader(Stream(), num_workers=2, multiprocessing_context=method)
        result.append([batch.tolist() for batch in loader])
        try:
            list(data.DataLoader(Images(), sampler=[1, 100], num_workers=1, multiprocessing_context=method))
        except ValueError as error:
            result.append([line for line in str(error).splitlines() if not line.startswith(" ")])
    print(json.dumps(result))
"""


@pytest.mark.oracle
def test_fork_and_spawn(torch: ModuleType, oracle: ModuleType, tmp_path: Path) -> None:
    def run(framework: ModuleType) -> Any:
        script = tmp_path / f"{framework.__name__}_script.py"
        script.write_text(
            SCRIPT.replace("{framework}", framework.__name__).replace(
                "from torch_or_ours import data", f"from {framework.__name__}.utils import data"
            )
        )
        environment = {**os.environ, "PYTHONPATH": str(Path(torch.__file__).parents[1])}
        done = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert run(torch) == run(oracle)


# -- data between processes
# -----------------------------------------------------------------------------------------

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int8", "uint8", "bool", "complex64"]


class Tensors(Numbers):
    """Samples of every kind, small ones and some that are large enough for shared memory."""

    def __init__(self, framework: str) -> None:
        super().__init__(8)
        self.framework = framework

    def __getitem__(self, index: int) -> Any:
        framework = sys.modules[self.framework]
        large = framework.arange(3000) + index
        return {
            **{name: (framework.arange(3) * index).to(getattr(framework, name)) for name in DTYPES},
            "large": large,
            "turned": large.reshape(60, 50).t(),
            "array": np.arange(2000.0) * index,
            "scalar": framework.tensor(index),
            "empty": framework.zeros(0, 3),
            "text": str(index),
            "pair": (index, [float(index)]),
        }


@pytest.mark.parametrize("workers", [1, 2])
def test_everything_arrives(torch: ModuleType, workers: int) -> None:
    dataset = Tensors(torch.__name__)
    loaders = [torch.utils.data.DataLoader(dataset, batch_size=2, num_workers=n) for n in (0, workers)]
    for here, there in zip(*loaders, strict=True):
        assert list(here) == list(there)
        for name in here:
            assert plain(here[name]) == plain(there[name]), name
            if hasattr(here[name], "dtype"):
                assert here[name].dtype == there[name].dtype
                assert here[name].shape == there[name].shape


def test_batches_can_be_kept_and_written_to(torch: ModuleType) -> None:
    """Shared memory is filled again only when nobody holds what was in it."""
    loader = torch.utils.data.DataLoader(Tensors(torch.__name__), batch_size=1, num_workers=2)
    kept = []
    for _ in range(3):
        for batch in loader:
            batch["large"].add_(1)
            kept.append((int(batch["scalar"]), batch["large"], batch["large"][0, :5]))
    for index, large, view in kept:
        assert large[0, 2999].item() == 3000 + index
        assert view.tolist() == [index + 1, index + 2, index + 3, index + 4, index + 5]


def test_memory_is_used_again(torch: ModuleType) -> None:
    loader = torch.utils.data.DataLoader(Tensors(torch.__name__), num_workers=1, persistent_workers=True)
    if torch.__name__ != "flambeau":
        pytest.skip("looks inside")
    for _ in range(6):
        for _batch in loader:
            pass
    assert len(loader._iterator._workers[0].receiver.segments) <= 4


def leaves(torch: ModuleType) -> Any:
    return [torch.nn.Parameter(torch.ones(2)), torch.ones(3, requires_grad=True), np.ones(3), None, "text"]


class Leaves(Numbers):
    def __init__(self, framework: str) -> None:
        super().__init__(1)
        self.framework = framework

    def __getitem__(self, index: int) -> Any:
        return leaves(sys.modules[self.framework])


def test_parameters_and_leaves(torch: ModuleType) -> None:
    (batch,) = torch.utils.data.DataLoader(Leaves(torch.__name__), num_workers=1, collate_fn=as_is)
    parameter, leaf, array, nothing, text = batch[0]
    assert isinstance(parameter, torch.nn.Parameter)
    assert parameter.requires_grad
    assert leaf.requires_grad
    assert leaf.is_leaf
    assert array.flags.writeable
    assert (nothing, text) == (None, "text")


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
