"""``torch.utils.cpp_extension``: whether extensions in C++ can be built. They cannot.

Extensions are compiled against PyTorch's headers and linked with its libraries, which are not here: ``load``
and ``load_inline`` raise a RuntimeError, as they do beside PyTorch where a compiler is missing, so that
packages that bring both an extension and a fallback take the fallback. What builds extensions at
installation is absent.
"""

from __future__ import annotations

import shutil
from typing import Any, NoReturn

__all__ = ["CUDA_HOME", "load", "load_inline", "is_ninja_available", "verify_ninja_availability"]

CUDA_HOME: str | None = None
ROCM_HOME: str | None = None
IS_HIP_EXTENSION = False


def is_ninja_available() -> bool:
    """Whether the build tool can be found."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """An error where the build tool cannot be found."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def load(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise: the sources need PyTorch's headers."""
    _refuse(name)


def load_inline(name: str, cpp_sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise: the sources need PyTorch's headers."""
    _refuse(name)


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(f"The extension '{name}' cannot be built: it needs PyTorch's headers and libraries, "
                       "which flambeau does not have")
