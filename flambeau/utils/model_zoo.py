"""``torch.utils.model_zoo``: the older name of ``torch.hub.load_state_dict_from_url``."""

from __future__ import annotations

import importlib
from typing import Any

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


def __getattr__(name: str) -> Any:
    """``tqdm``, where that package is installed."""
    if name == "tqdm":
        return importlib.import_module("tqdm").tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
