"""The wrapper that shares a module's parameters out among accelerators."""

from __future__ import annotations

from typing import Any

from ...nn import Module


class FullyShardedDataParallel(Module):
    """The class of modules that are wrapped so, for ``isinstance``: without an accelerator nothing can be."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "FSDP needs a non-CPU accelerator device, but no accelerator device is detected.")


__all__ = ["FullyShardedDataParallel"]
