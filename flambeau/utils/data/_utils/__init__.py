"""How batches are made: collating, fetching, and the worker processes."""

import atexit

from . import collate, fetch, pin_memory, signal_handling, worker
from .errors import ExceptionWrapper

HAS_NUMPY = True
MP_STATUS_CHECK_INTERVAL = 5.0      # seconds between two looks after workers
python_exit_status = False          # whether the interpreter is about to end


def _set_python_exit_flag() -> None:
    global python_exit_status
    python_exit_status = True


atexit.register(_set_python_exit_flag)

__all__ = ["ExceptionWrapper", "collate", "fetch", "pin_memory", "signal_handling", "worker"]
