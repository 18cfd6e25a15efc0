"""Native tests start without programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _no_programs() -> Iterator[None]:
    pytest.importorskip("llvmlite")
    from flambeau.executors.native.programs import known as programs

    programs.clear()
    yield
    programs.clear()
