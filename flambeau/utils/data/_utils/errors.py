"""Exceptions on their way from a worker to the process that iterates."""

from __future__ import annotations

import traceback
from typing import Any


class KeyErrorMessage(str):
    """The message of a KeyError, which Python would show quoted, with its line breaks escaped."""

    def __repr__(self) -> str:
        return str(self)


class CaughtException:
    """An exception with the text of its traceback; the traceback itself does not leave its process."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.type: Any = type(error)
        self.name = type(error).__name__
        self.text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self.where = where

    def reraise(self) -> None:
        """Raise an exception of the same type, or a RuntimeError, that says where it was caught."""
        message = f"Caught {self.name} {self.where}.\nOriginal {self.text}"
        if self.type is KeyError:
            raise KeyError(KeyErrorMessage(message))
        try:
            error = self.type(message=message) if getattr(self.type, "message", None) else self.type(message)
        except Exception:
            raise RuntimeError(message) from None
        try:
            raise error
        finally:
            del error  # its traceback holds this frame, and with it the iterator and the workers
