"""Settings: each is an environment variable, read at import, and a context manager.

The page ``docs/environment.md`` lists them with their defaults.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Settings:
    """The values in force. One object, read by attribute on the hot path."""

    __slots__ = ("eager", "executor", "budget_bytes", "verify", "check_at",
                 "backward_templates", "kernel_times", "threads", "by_book")

    def __init__(self) -> None:
        self.eager = os.environ.get("FLAMBEAU_EAGER", "0") not in ("", "0")
        self.executor = os.environ.get("FLAMBEAU_TIER", "auto")
        self.budget_bytes = int(os.environ.get("FLAMBEAU_BUDGET_MB", "1024")) << 20
        self.verify = os.environ.get("FLAMBEAU_VERIFY", "0") not in ("", "0")
        self.backward_templates = os.environ.get("FLAMBEAU_BACKWARD_TEMPLATES", "1") not in ("", "0")
        self.kernel_times = os.environ.get("FLAMBEAU_KERNEL_TIMES", "0") not in ("", "0")
        self.threads = _threads()
        self.check_at = 0 if self.eager else 64  # pending nodes at which recording asks the engine
        self.by_book = False        # whether looks may run programs that are known, as they are
        self.settle()

    def settle(self) -> None:
        """Others have changed: what follows from them."""
        self.by_book = self.executor in ("auto", "native") and not (self.verify or self.kernel_times)


def _threads() -> int:
    """``OMP_NUM_THREADS``, or as many as there are cores for this process."""
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if wanted.isdigit() and int(wanted):
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


settings = _Settings()


@contextmanager
def _set(name: str, value: Any) -> Iterator[None]:
    before = getattr(settings, name)
    setattr(settings, name, value)
    settings.settle()
    try:
        yield
    finally:
        setattr(settings, name, before)
        settings.settle()


def eager(enabled: bool = True) -> Any:
    """Compute every operator at once (``FLAMBEAU_EAGER=1``), for a debugger.

    >>> import flambeau as torch
    >>> with torch.config.eager():
    ...     x = torch.ones(2) + 1   # has its value when the next line begins
    """
    settings.check_at = 0
    return _set("eager", enabled)


def executor(name: str) -> Any:
    """Who computes (``FLAMBEAU_TIER``).

    ``'auto'``: the interpreter, and native programs for graphs that come back; ``'interpreter'``;
    ``'native'``: a program for every graph at once; ``'null'``, which does not compute. Another name is an
    error at the next look.

    >>> import flambeau as torch
    >>> with torch.config.executor("interpreter"):
    ...     torch.ones(2).sum().item()
    2.0
    """
    return _set("executor", name)


def budget(megabytes: int) -> Any:
    """How many MiB of results may be pending before they are computed (``FLAMBEAU_BUDGET_MB``, 1024).

    >>> import flambeau as torch
    >>> with torch.config.budget(16):
    ...     sum(torch.ones(1 << 18) for _ in range(64))[0].item()     # 64 MiB, in several portions
    64.0
    """
    return _set("budget_bytes", megabytes << 20)


def verify(enabled: bool = True) -> Any:
    """Check every graph against the graph's invariants before it runs (``FLAMBEAU_VERIFY=1``).

    >>> import flambeau as torch
    >>> with torch.config.verify():
    ...     (torch.ones(2) * 2).tolist()
    [2.0, 2.0]
    """
    return _set("verify", enabled)


def backward_templates(enabled: bool = True) -> Any:
    """Whether backward repeats what derivative rules recorded before (``FLAMBEAU_BACKWARD_TEMPLATES=1``).

    Off, every rule runs every time, and no operator is recorded by native code, for a debugger.

    >>> import flambeau as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.config.backward_templates(False):
    ...     (x * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    return _set("backward_templates", enabled)


def kernel_times(enabled: bool = True) -> Any:
    """Measure each kernel by itself, for ``explain(kernels=True)`` (``FLAMBEAU_KERNEL_TIMES=1``).

    >>> import flambeau as torch
    >>> with torch.config.kernel_times():
    ...     torch.ones(2).sum().item()
    2.0
    """
    return _set("kernel_times", enabled)
