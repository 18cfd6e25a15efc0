"""``torch.distributed.device_mesh``: meshes of devices, which need a process group."""

from __future__ import annotations

from typing import Any

from .groups import require_group


class DeviceMesh:
    """The class of meshes, for annotations and ``isinstance``; making one asks for a process group."""

    def __init__(self, device_type: str, mesh: Any = None, **options: Any) -> None:
        require_group()


def init_device_mesh(device_type: str, mesh_shape: tuple[int, ...], **options: Any) -> DeviceMesh:
    """A mesh of the processes of a group."""
    require_group()


__all__ = ["DeviceMesh", "init_device_mesh"]
