"""Samplers, datasets and collating against PyTorch's."""

from __future__ import annotations

import collections
import dataclasses
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.oracle

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Record:
    a: int


class Batched:
    """A dataset that is asked for whole batches."""

    def __init__(self, missing: int = 0) -> None:
        self.missing = missing

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        return index

    def __getitems__(self, indices: list[int]) -> list[int]:
        return [index * 10 for index in indices][self.missing :]


def described(value: Any) -> Any:
    """Values with the types that matter, comparable between frameworks."""
    if type(value).__name__ in ("Tensor", "Parameter"):
        return "Tensor", str(value.dtype).rpartition(".")[2], value.tolist()
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.tolist()
    if isinstance(value, collections.abc.Mapping):
        return type(value).__name__, [(key, described(item)) for key, item in value.items()]
    if isinstance(value, list | tuple | collections.deque):
        return type(value).__name__, [described(item) for item in value]
    if type(value).__module__.startswith(("torch", "flambeau")):
        return type(value).__name__
    return value if isinstance(value, int | float | str | bytes | bool | None) else repr(value)


def outcome(run: Callable[[], Any]) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = described(run())
        except Exception as error:
            result = type(error).__name__, str(error)
    return result, [(w.category.__name__, str(w.message)) for w in caught]


def seeded(torch: ModuleType, seed: int = 2) -> Any:
    return torch.Generator().manual_seed(seed)


DATASETS: dict[str, Callable[[ModuleType, Any], Any]] = {
    "tensors": lambda t, d: d.TensorDataset(t.arange(4), t.arange(4) * 2)[1:3],
    "tensors one": lambda t, d: d.TensorDataset(t.arange(4))[2],
    "tensors sizes": lambda t, d: d.TensorDataset(t.ones(2), t.ones(3)),
    "tensors none": lambda t, d: d.TensorDataset(),
    "tensors scalar": lambda t, d: d.TensorDataset(t.tensor(1)),
    "concat": lambda t, d: [d.ConcatDataset(["abc", "de"])[i] for i in (0, 3, -1, -5)],
    "concat length": lambda t, d: (
        len(d.ConcatDataset(["abc", "de"])),
        d.ConcatDataset(["abc", "de"]).cumulative_sizes,
    ),
    "concat old name": lambda t, d: d.ConcatDataset(["abc", "de"]).cummulative_sizes,
    "concat over": lambda t, d: d.ConcatDataset([[1], [2]])[2],
    "concat under": lambda t, d: d.ConcatDataset([[1], [2]])[-3],
    "concat none": lambda t, d: d.ConcatDataset([]),
    "add": lambda t, d: (d.TensorDataset(t.arange(2)) + d.TensorDataset(t.arange(3)))[4],
    "chain": lambda t, d: list(d.ChainDataset([range(2)])),
    "subset": lambda t, d: (
        d.Subset("abcde", [1, 3])[1],
        len(d.Subset("abc", [0])),
        d.Subset("abcde", [1, 3]).__getitems__([1, 0]),
    ),
    "subset list": lambda t, d: d.Subset(t.arange(5) * 2, [1, 3])[[0, 1]],
    "subset batched": lambda t, d: d.Subset(Batched(), [3, 1]).__getitems__([1, 0]),
    "subset over": lambda t, d: d.Subset("abc", [1])[1],
    "base": lambda t, d: d.Dataset()[0],
    "base length": lambda t, d: len(d.Dataset()),
    "stack": lambda t, d: (d.StackDataset("abc", range(3))[1], len(d.StackDataset("ab"))),
    "stack names": lambda t, d: d.StackDataset(x="abc", y=range(3))[2],
    "stack batch": lambda t, d: d.StackDataset("abcd", Batched()).__getitems__([0, 3]),
    "stack batch names": lambda t, d: d.StackDataset(x="abcd", y=Batched()).__getitems__([0, 3]),
    "stack batch short": lambda t, d: d.StackDataset(Batched(1)).__getitems__([0, 3]),
    "stack none": lambda t, d: d.StackDataset(),
    "stack both": lambda t, d: d.StackDataset("a", x="a"),
    "stack sizes": lambda t, d: d.StackDataset("a", "ab"),
    "batched": lambda t, d: list(d.DataLoader(Batched(), batch_size=2)),
    "split": lambda t, d: [x.indices for x in d.random_split(range(10), [3, 7], seeded(t))],
    "split default": lambda t, d: (t.manual_seed(4), [x.indices for x in d.random_split(range(10), [3, 7])])[
        1
    ],
    "split fractions": lambda t, d: [
        x.indices for x in d.random_split(range(11), [0.3, 0.3, 0.4], seeded(t))
    ],
    "split sum": lambda t, d: d.random_split(range(10), [3, 3]),
    "split sum of fractions": lambda t, d: d.random_split(range(10), [0.3, 0.3]),
    "split fraction above 1": lambda t, d: d.random_split(range(10), [1.5, -0.5]),
    "split empty": lambda t, d: [len(x) for x in d.random_split(range(1), [0.5, 0.5])],
    "split zero": lambda t, d: [len(x) for x in d.random_split(range(5), [5, 0])],
}


@pytest.mark.parametrize("name", DATASETS)
def test_dataset(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    case = DATASETS[name]
    assert outcome(lambda: case(torch, torch.utils.data)) == outcome(lambda: case(oracle, oracle.utils.data))


R = range(5)
SAMPLERS: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    "sequential": lambda t, d, g: d.SequentialSampler(R),
    "random": lambda t, d, g: d.RandomSampler(R, generator=g),
    "random more": lambda t, d, g: d.RandomSampler(R, num_samples=12, generator=g),
    "random fewer": lambda t, d, g: d.RandomSampler(R, num_samples=3, generator=g),
    "random replacement": lambda t, d, g: d.RandomSampler(R, replacement=True, generator=g),
    "random replacement 70": lambda t, d, g: d.RandomSampler(
        R, replacement=True, num_samples=70, generator=g
    ),
    "random replacement 64": lambda t, d, g: d.RandomSampler(
        R, replacement=True, num_samples=64, generator=g
    ),
    "random replacement 1": lambda t, d, g: d.RandomSampler(R, replacement=1),
    "random none": lambda t, d, g: d.RandomSampler(R, num_samples=0),
    "random 2.5": lambda t, d, g: d.RandomSampler(R, num_samples=2.5),
    "random empty": lambda t, d, g: d.RandomSampler([]),
    "subset": lambda t, d, g: d.SubsetRandomSampler([3, 5, 7], generator=g),
    "weighted": lambda t, d, g: d.WeightedRandomSampler([0.1, 0.9, 0.4], 5, generator=g),
    "weighted without replacement": lambda t, d, g: d.WeightedRandomSampler(
        [0.1, 0.9, 0.4], 3, False, generator=g
    ),
    "weighted none": lambda t, d, g: d.WeightedRandomSampler([0.1], 0),
    "weighted True": lambda t, d, g: d.WeightedRandomSampler([0.1], True),
    "weighted replacement 1": lambda t, d, g: d.WeightedRandomSampler([0.1], 1, 1),
    "weighted shape": lambda t, d, g: d.WeightedRandomSampler([[0.1]], 1),
    "batch": lambda t, d, g: d.BatchSampler(R, 2, False),
    "batch drop": lambda t, d, g: d.BatchSampler(R, 2, True),
    "batch 0": lambda t, d, g: d.BatchSampler(R, 0, True),
    "batch drop 1": lambda t, d, g: d.BatchSampler(R, 2, 1),
    "base": lambda t, d, g: d.Sampler(),
    **{
        f"distributed {rank} of {count} {options}": lambda t, d, g, rank=rank, count=count, options=options: (
            d.DistributedSampler(R, count, rank, **options)
        )
        for rank, count in ((0, 2), (1, 2), (6, 7), (11, 12), (2, 2), (-1, 2))
        for options in (
            {},
            {"shuffle": False},
            {"drop_last": True},
            {"seed": 5, "drop_last": True, "shuffle": False},
        )
    },
}


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("own_generator", [False, True])
def test_sampler(torch: ModuleType, oracle: ModuleType, name: str, own_generator: bool) -> None:
    """Two epochs, the length, and what is left of the generator."""

    def run(framework: ModuleType) -> Any:
        framework.manual_seed(3)
        generator = seeded(framework) if own_generator else None
        sampler = SAMPLERS[name](framework, framework.utils.data, generator)
        seen = [list(sampler)]
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(3)
        return [*seen, list(sampler), len(sampler), framework.rand((), generator=generator).item()]

    assert outcome(lambda: run(torch)) == outcome(lambda: run(oracle))


SAMPLES: dict[str, Callable[[ModuleType], Any]] = {
    "ints": lambda t: [1, 2],
    "floats": lambda t: [1.5, 2],
    "texts": lambda t: ["a", "b"],
    "bytes": lambda t: [b"a", b"b"],
    "bools": lambda t: [True, False],
    "tensors": lambda t: [t.ones(2), t.zeros(2)],
    "arrays": lambda t: [np.ones(2), np.zeros(2)],
    "array scalars": lambda t: [np.array(1), np.array(2)],
    "numpy scalars": lambda t: [np.float64(1), np.float64(2)],
    "numpy float32": lambda t: [np.float32(1)],
    "numpy int32": lambda t: [np.int32(1), np.int32(2)],
    "numpy bool": lambda t: [np.bool_(True)],
    "numpy text": lambda t: [np.str_("a")],
    "dicts": lambda t: [{"a": 1, "b": [1, 2]}, {"a": 2, "b": [3, 4]}],
    "ordered": lambda t: [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
    "default": lambda t: [collections.defaultdict(list, a=1)],
    "tuples": lambda t: [(1, 2), (3, 4)],
    "lists": lambda t: [[1, 2], [3, 4]],
    "named": lambda t: [Pair(1, np.ones(1)), Pair(3, np.ones(1))],
    "deques": lambda t: [collections.deque([1, 2]), collections.deque([3, 4])],
    "ragged": lambda t: [[1], [1, 2]],
    "None": lambda t: [None],
    "array of texts": lambda t: [np.array(["a"])],
    "records": lambda t: [Record(1)],
    "sets": lambda t: [set()],
    "complex": lambda t: [1 + 2j],
    "keys": lambda t: [{"a": 1}, {"b": 1}],
    "nothing": lambda t: [],
    "nested": lambda t: [{"x": (t.ones(2), {"y": [np.float32(1), "z"]})}] * 2,
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("function", ["default_collate", "default_convert"])
def test_collate(torch: ModuleType, oracle: ModuleType, name: str, function: str) -> None:
    def run(framework: ModuleType) -> Any:
        return outcome(lambda: getattr(framework.utils.data, function)(SAMPLES[name](framework)))

    assert run(torch) == run(oracle)


def test_collate_with_an_own_type(torch: ModuleType, oracle: ModuleType) -> None:
    def run(framework: ModuleType) -> Any:
        from importlib import import_module

        module = import_module(f"{framework.__name__}.utils.data._utils.collate")
        known = {
            **module.default_collate_fn_map,
            Record: lambda batch, *, collate_fn_map: [r.a for r in batch],
        }
        return described(
            module.collate([{"r": Record(1), "n": 1.0}, {"r": Record(2), "n": 2.0}], collate_fn_map=known)
        )

    assert run(torch) == run(oracle)
