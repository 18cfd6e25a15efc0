"""What the tests of data loading load, and what they look at."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np


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
