"""Exceptions on their way from a worker to the process that iterates."""

from __future__ import annotations

import sys
import traceback
from typing import Any


class KeyErrorMessage(str):
    """The message of a KeyError, which Python would show quoted, with its line breaks escaped."""

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception with the text of its traceback; the traceback itself does not leave its process.

    ``exc_info``: as ``sys.exc_info()`` gives it, which is asked where there is none.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        exc_info = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = exc_info[0]
        self.name = self.exc_type.__name__      # also where a class that cannot be sent is replaced
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self) -> None:
        """Raise an exception of the same type, or a RuntimeError, that says where it was caught."""
        kind = self.exc_type
        message = f"Caught {self.name} {self.where}.\nOriginal {self.exc_msg}"
        if kind is KeyError:
            raise KeyError(KeyErrorMessage(message))
        try:
            error = kind(message=message) if getattr(kind, "message", None) else kind(message)
        except Exception:
            raise RuntimeError(message) from None
        try:
            raise error
        finally:
            del error  # its traceback holds this frame, and with it the iterator and the workers
