"""Native tests compile kernels for the smallest arrays too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _always_native(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pytest.importorskip("llvmlite")
    from flambeau.executors.native import cost, programs

    monkeypatch.setattr(cost, "always", True)
    programs.clear()
    yield
    programs.clear()
