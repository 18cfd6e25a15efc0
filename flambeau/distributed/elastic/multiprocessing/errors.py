"""``record``: an error that ends a process is written where the process that started it looks."""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Any

_FILE = "TORCHELASTIC_ERROR_FILE"


class ErrorHandler:
    """Writes an exception to the file that the environment names, if it names one."""

    def initialize(self) -> None:
        """Nothing to prepare."""

    def record_exception(self, e: BaseException) -> None:
        """Write the exception, its traceback and the time as JSON."""
        path = os.environ.get(_FILE)
        if path is None:
            return
        about = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
        message = {"message": f"{type(e).__name__}: {e}", "extraInfo": about}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"message": message}, file)


def get_error_handler() -> ErrorHandler:
    """The handler that ``record`` uses."""
    return ErrorHandler()


def record(fn: Callable[..., Any], error_handler: ErrorHandler | None = None) -> Callable[..., Any]:
    """A decorator of a program's main function: what it raises is recorded, and raised again.

    >>> from flambeau.distributed.elastic.multiprocessing.errors import record
    >>> @record
    ... def main(x):
    ...     return x + 1
    >>> main(1)
    2
    """
    handler = error_handler or get_error_handler()

    @wraps(fn)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as end:
            if end.code not in (None, 0):
                handler.record_exception(end)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise
    return recorded


__all__ = ["ErrorHandler", "get_error_handler", "record"]
