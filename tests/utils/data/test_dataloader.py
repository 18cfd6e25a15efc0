"""The DataLoader against PyTorch's: order, seeds, and what arrives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.utils.data.datasets import (
    Numbers,
    Tensors,
    make_stream,
    plain,
)

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create", "ignore:.*fork")

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
    made = []
    for _ in range(6):
        for _batch in loader:
            pass
        made.append(len(loader._iterator._workers[0].receiver.segments))
    assert made[-1] == made[1] <= 12  # three large arrays a batch, of which few are under way


class Keeping(Numbers):
    """Keeps every batch that it has collated, and sends the first one again."""

    def __init__(self, framework: str) -> None:
        super().__init__(6)
        self.framework = framework
        self.kept: list[Any] = []

    def __getitem__(self, index: int) -> Any:
        return sys.modules[self.framework].full((2000,), index)

    def collate(self, batch: Any) -> Any:
        self.kept.append(sys.modules[self.framework].utils.data.default_collate(batch))
        return self.kept[0], self.kept[-1], [kept[0, 0].item() for kept in self.kept]


def test_batches_that_a_worker_keeps_stay_as_they_are(torch: ModuleType) -> None:
    dataset = Keeping(torch.__name__)
    loader = torch.utils.data.DataLoader(dataset, num_workers=1, collate_fn=dataset.collate)
    for number, (first, last, kept) in enumerate(loader):
        assert first.unique().tolist() == [0] and last.unique().tolist() == [number]
        assert kept == list(range(number + 1))


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
