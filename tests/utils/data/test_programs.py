"""Loaders, samplers, datasets and collating against PyTorch's: values, errors, warnings."""

from __future__ import annotations

import collections
import copy
import os
import pickle
import random
import signal
import time
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.utils.data.programs import outcome, programs

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore:.*fork")]

Pt = collections.namedtuple("Pt", "x y")


def names(framework: ModuleType) -> dict[str, Any]:
    """What the programs use."""
    data = import_module(f"{framework.__name__}.utils.data")

    class N(data.Dataset):  # type: ignore[misc, name-defined]
        def __init__(self, n: int = 10) -> None:
            self.n = n

        def __len__(self) -> int:
            return self.n

        def __getitem__(self, i: int) -> int:
            return i

    class St(data.IterableDataset):  # type: ignore[misc, name-defined]
        def __init__(self, n: int = 6) -> None:
            self.n = n

        def __iter__(self) -> Iterator[int]:
            info = data.get_worker_info()
            first = 100 * info.id if info else 0
            return iter(range(first, first + self.n))

    class StL(St):
        def __len__(self) -> int:
            return 3

    collate = import_module(f"{data.__name__}._utils.collate")
    return {"t": framework, "d": data, "DL": data.DataLoader, "col": collate, "N": N, "St": St, "StL": StL,
            "Pt": Pt, "np": np, "collections": collections, "copy": copy, "os": os, "pickle": pickle,
            "random": random, "signal": signal, "time": time, "__name__": __name__}  # fmt: skip


@pytest.mark.parametrize("program", list(programs("loading/loaders.txt")))
def test_loader(torch: ModuleType, oracle: ModuleType, program: str) -> None:
    assert outcome(torch, program, names(torch)) == outcome(oracle, program, names(oracle))


@pytest.mark.parametrize("program", list(programs("loading/sampling.txt")))
def test_sampling(torch: ModuleType, oracle: ModuleType, program: str) -> None:
    assert outcome(torch, program, names(torch)) == outcome(oracle, program, names(oracle))


@pytest.mark.parametrize("program", list(programs("loading/collating.txt")))
def test_collating(torch: ModuleType, oracle: ModuleType, program: str) -> None:
    assert outcome(torch, program, names(torch)) == outcome(oracle, program, names(oracle))
