"""When a DataLoader's workers end."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import time
from types import ModuleType
from typing import Any

import pytest

from .datasets import Failing, Numbers

pytestmark = pytest.mark.filterwarnings("ignore:.*fork")


def _raise() -> None:
    raise ValueError("no such sample")


@pytest.mark.parametrize(
    ("action", "options"),
    [(_raise, {}), (lambda: time.sleep(60), {"timeout": 0.2}), (None, {"persistent_workers": True})],
    ids=["error", "timeout", "persistent"],
)
def test_workers_end_with_the_last_reference(torch: ModuleType, action: Any, options: Any) -> None:
    """After an error, or with a loader that is no longer used, nothing waits for the garbage collector."""
    gc.collect()
    before = set(multiprocessing.active_children())
    dataset = Numbers() if action is None else Failing(action)
    gc.disable()
    try:
        loader = torch.utils.data.DataLoader(dataset, num_workers=2, **options)
        with contextlib.suppress(ValueError, RuntimeError):
            list(loader)
        assert action is not None or len(set(multiprocessing.active_children()) - before) == 2
        del loader
        deadline = time.monotonic() + 20
        while set(multiprocessing.active_children()) - before and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not set(multiprocessing.active_children()) - before
    finally:
        gc.enable()
