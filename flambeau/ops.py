"""``torch.ops``: operators by namespace and name: ``torch.ops.aten``, and what ``torch.library`` made."""

from __future__ import annotations

import os
from typing import Any

from .library.aten import packet as _aten_packet
from .library.table import Packet, find

loaded_libraries: set[str] = set()


def load_library(path: str | os.PathLike[str]) -> None:
    """Load a library of operators.

    Compiled libraries are made for PyTorch's binaries and cannot be loaded here, which PyTorch's OSError
    says. torchvision's and torchaudio's operators are known by name: flambeau has kernels for them.
    """
    from .library import torchaudio_operators, torchvision_operators  # which few programs want
    name = os.fspath(path)
    for known in (torchvision_operators, torchaudio_operators):
        if known.provides(name):
            known.define()
            loaded_libraries.add(name)
            return
    raise OSError(f"Could not load this library: {name}")


class _OpNamespace:
    """``torch.ops.namespace``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, op_name: str) -> Packet:
        if self.name == "aten":
            found = _aten_packet(op_name)
        else:
            operator = find(f"{self.name}::{op_name}")
            found = None if operator is None else Packet(operator)
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{op_name}'")
        return found

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.name}' from 'torch.ops'>"


_namespaces: dict[str, _OpNamespace] = {}


def __getattr__(name: str) -> Any:
    """A namespace; it may get its operators later."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _namespaces.setdefault(name, _OpNamespace(name))
