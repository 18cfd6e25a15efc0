"""What the modules of switches share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


def setter(module: dict[str, Any], names: tuple[str, ...]) -> Callable[..., AbstractContextManager[None]]:
    """The context manager ``flags(...)`` of a module: sets its switches inside."""
    @contextmanager
    def flags(*values: Any, **changes: Any) -> Iterator[None]:
        """Set switches inside."""
        changes = dict(zip(names, values)) | changes
        unknown = changes.keys() - set(names)
        if unknown:
            raise TypeError(f"flags() got an unexpected keyword argument {min(unknown)!r}")
        before = {name: module.get(name) for name in changes}
        module.update(changes)
        try:
            yield
        finally:
            module.update(before)
    return flags
