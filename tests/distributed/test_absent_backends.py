"""Without a backend: scripts that import what sets groups up run as one process, and hear why otherwise."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch
from flambeau.distributed import destroy_process_group, init_process_group


@pytest.mark.parametrize("backend", ["nccl", "gloo", "mpi", "xccl", None])
def test_no_backend_is_built_in(backend: Any) -> None:
    name = (backend or "gloo").upper()
    with pytest.raises(RuntimeError, match=f"Distributed package doesn't have {name} built in"):
        init_process_group(backend, init_method="tcp://127.0.0.1:29511", rank=0, world_size=1)
    assert not torch.distributed.is_initialized() and not torch.distributed.is_available()


def test_there_is_no_group_to_give_up() -> None:
    with pytest.raises(AssertionError, match="Process group cannot be None"):
        destroy_process_group()
