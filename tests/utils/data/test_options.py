"""Options of the DataLoader, in PyTorch's words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from .test_dataloader import Numbers, make_stream, plain

pytestmark = pytest.mark.oracle

# (DataLoader, map-style dataset, stream of reported length 2) -> anything
CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "workers": lambda load, m, s: load(m, num_workers=-1),
    "timeout": lambda load, m, s: load(m, timeout=-1),
    "timeout without workers": lambda load, m, s: list(load(m, timeout=1)),
    "prefetch": lambda load, m, s: load(m, prefetch_factor=2),
    "negative prefetch": lambda load, m, s: load(m, num_workers=1, prefetch_factor=-1),
    "persistent": lambda load, m, s: load(m, persistent_workers=True),
    "stream shuffle": lambda load, m, s: load(s, shuffle=True),
    "stream no shuffle": lambda load, m, s: len(load(s, shuffle=False)),
    "stream sampler": lambda load, m, s: load(s, sampler=[1]),
    "stream batch_sampler": lambda load, m, s: load(s, batch_sampler=[[1]]),
    "sampler shuffle": lambda load, m, s: load(m, sampler=[1], shuffle=True),
    "batch_sampler size": lambda load, m, s: load(m, batch_sampler=[[1]], batch_size=2),
    "batch_sampler shuffle": lambda load, m, s: load(m, batch_sampler=[[1]], shuffle=True),
    "batch_sampler drop": lambda load, m, s: load(m, batch_sampler=[[1]], drop_last=True),
    "batch_sampler sampler": lambda load, m, s: load(m, batch_sampler=[[1]], sampler=[1]),
    "no batches drop": lambda load, m, s: load(m, batch_size=None, drop_last=True),
    "size 0": lambda load, m, s: load(m, batch_size=0),
    "size 1.5": lambda load, m, s: load(m, batch_size=1.5),
    "size True": lambda load, m, s: load(m, batch_size=True),
    "drop 1": lambda load, m, s: load(m, drop_last=1),
    "context without workers": lambda load, m, s: load(m, multiprocessing_context="fork"),
    "context x": lambda load, m, s: load(m, num_workers=1, multiprocessing_context="x"),
    "context 5": lambda load, m, s: load(m, num_workers=1, multiprocessing_context=5),
    "empty": lambda load, m, s: list(load([])),
    "empty shuffled": lambda load, m, s: load([], shuffle=True),
    "many workers": lambda load, m, s: load(m, num_workers=5000).num_workers,
    "pin_memory": lambda load, m, s: plain(list(load(m, pin_memory=True))),
    "length": lambda load, m, s: (
        len(load(m, batch_size=3)),
        len(load(m, batch_size=3, drop_last=True)),
        len(load(m, batch_size=None)),
        len(load(s, batch_size=2, drop_last=True)),
    ),
    "unsized": lambda load, m, s: len(load(5)),
    "defaults": lambda load, m, s: [
        (
            x.batch_size,
            x.num_workers,
            x.drop_last,
            x.prefetch_factor,
            x.timeout,
            x.in_order,
            x.pin_memory,
            x.persistent_workers,
            x.generator,
        )
        for x in (load(m), load(s))
    ],
    "prefetch default": lambda load, m, s: load(m, num_workers=1).prefetch_factor,
    "batch_sampler attributes": lambda load, m, s: load(m, batch_sampler=[[1]]).batch_size,
    "length of iterator": lambda load, m, s: len(iter(load(m, batch_size=4))),
    "longer than reported": lambda load, m, s: reported(load(s)),
}


def reported(loader: Any) -> Any:
    len(loader)
    return plain(list(loader))


@pytest.mark.parametrize("name", CASES)
def test_case(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    def run(framework: ModuleType) -> Any:
        stream = make_stream(framework, (5,), 2)
        type(stream).__repr__ = lambda self: "stream"  # type: ignore[method-assign, assignment]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result: Any = CASES[name](framework.utils.data.DataLoader, Numbers(), stream)
            except Exception as error:
                result = type(error).__name__, str(error)
        return plain(result), [(w.category.__name__, str(w.message)) for w in caught]

    assert run(torch) == run(oracle)


def test_nothing_to_prefetch(torch: ModuleType) -> None:
    """PyTorch raises the same, but its iterator's finalizer complains too."""
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        list(torch.utils.data.DataLoader(Numbers(), num_workers=1, prefetch_factor=0))
    loader = torch.utils.data.DataLoader(Numbers())
    loader.num_workers = 1
    with pytest.raises(TypeError, match="'<=' not supported between instances of 'NoneType' and 'int'"):
        list(loader)


def test_attributes_that_are_fixed(torch: ModuleType, oracle: ModuleType) -> None:
    def run(framework: ModuleType) -> Any:
        loader = framework.utils.data.DataLoader(Numbers())
        messages = []
        for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
            with pytest.raises(ValueError) as raised:
                setattr(loader, name, 1)
            messages.append(str(raised.value))
        loader.num_workers = 1
        return messages

    assert run(torch) == run(oracle)
