"""``torch.ops``: the operators that ``torch.library`` made, as ``torch.ops.namespace.name``.

PyTorch's own (``torch.ops.aten``) are not here.
"""

from __future__ import annotations

from typing import Any

from .library.table import Packet, find, namespaces


class _OpNamespace:
    """``torch.ops.namespace``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, op_name: str) -> Packet:
        operator = find(f"{self.name}::{op_name}")
        if operator is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{op_name}'")
        packet = Packet(operator)
        return packet


def __getattr__(name: str) -> Any:
    if name not in namespaces():
        raise AttributeError(f"flambeau has no torch.ops.{name}: no operator was registered there")
    return _OpNamespace(name)
