"""``torch.__config__``: how this library was put together."""

from __future__ import annotations

import sys

import numpy as np

from ._execution import get_num_interop_threads, get_num_threads
from .version import __version__, api_version


def show() -> str:
    """The versions of what runs the operators, a line each."""
    python = ".".join(map(str, sys.version_info[:3]))
    return (f"flambeau {__version__} built with:\n  - PyTorch API {api_version}\n  - Python {python}\n"
            f"  - NumPy {np.__version__}\n")


def parallel_info() -> str:
    """How many threads operators use."""
    return (f"at::get_num_threads() : {get_num_threads()}\n"
            f"at::get_num_interop_threads() : {get_num_interop_threads()}\n")


__all__ = ["parallel_info", "show"]
