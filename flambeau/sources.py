"""The package's own files: what is kept on disk from run to run must not outlive them."""

from __future__ import annotations

import functools
import hashlib
import os
import time

# Later than this, a file may differ from what this process runs.
_STARTED = time.time()


@functools.cache
def state_of(*folders: str) -> str | None:
    """A text that changes when a file of these folders of the package does.

    None where a file has changed since this process started, or cannot be looked at.
    """
    package = os.path.dirname(__file__)
    found: list[str] = []
    waiting = [os.path.join(package, folder) for folder in folders]
    try:
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.name.endswith(".py"):
                        status = entry.stat()
                        if status.st_ctime > _STARTED:
                            return None
                        found.append(f"{entry.path[len(package):]} {status.st_mtime_ns} {status.st_size}")
                    elif entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                        waiting.append(entry.path)
    except OSError:
        return None
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest() if found else None
