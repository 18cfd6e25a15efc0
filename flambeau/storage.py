"""``torch.storage``: storages, and what plain pickles of PyTorch's tensors call."""

from __future__ import annotations

import io
from typing import Any

from .tensor.storage_view import TypedStorage, UntypedStorage


def _load_from_bytes(b: bytes) -> Any:
    """A storage as ``pickle.dumps`` of PyTorch's writes it. The pickle around it is trusted already."""
    from .serialization import load  # made of storages

    return load(io.BytesIO(b), weights_only=False)


__all__ = ["TypedStorage", "UntypedStorage"]
