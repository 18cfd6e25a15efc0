"""``torch.distributed.tensor``: how tensors lie on a mesh of devices. Nothing is distributed here."""

from __future__ import annotations

from typing import Any, NoReturn

from ...tensor import Tensor
from ..device_mesh import DeviceMesh, init_device_mesh
from ..groups import require_group
from .placements import Partial, Placement, Replicate, Shard


class DTensor(Tensor):
    """The class of distributed tensors, for ``isinstance``; making one asks for a process group."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        require_group()

    @staticmethod
    def from_local(local_tensor: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        """A distributed tensor of which this process has a part."""
        require_group()


def distribute_tensor(tensor: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
    """A tensor, distributed over a mesh."""
    require_group()


def distribute_module(module: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """A module, distributed over a mesh."""
    require_group()


__all__ = ["DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module",
           "distribute_tensor", "init_device_mesh"]
