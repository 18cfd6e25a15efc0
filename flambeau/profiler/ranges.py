"""Named ranges of a program, and the recorder that is at work (one for the process)."""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from ..config import kernel_times
from ..engine.explain import listeners
from ..engine.look import compute_pending
from .events import FunctionEvent


class ProfilerActivity(enum.Enum):
    """What can be recorded; here ``CPU`` is.

    >>> import flambeau as torch
    >>> from flambeau.profiler import ProfilerActivity, profile
    >>> with profile(activities=[ProfilerActivity.CPU]) as p:
    ...     x = torch.ones(3) + 1
    >>> len(p.key_averages()) > 0
    True
    """

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5

    def __repr__(self) -> str:
        return f"<ProfilerActivity.{self.name}: {self.value}>"


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded on this machine.

    >>> from flambeau.profiler import supported_activities
    >>> supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


class Recorder:
    """Collects events from ``start`` to ``stop``: ranges, looks, and the kernels of each look."""

    def __init__(self) -> None:
        self.events: list[FunctionEvent] = []
        self._began = 0.0

    def start(self) -> None:
        """Begin; one recorder at a time."""
        if active[0] is not None:
            raise RuntimeError("Can't disable Kineto profiler when it's not running" if active[0] is self else
                               "Profiler is already enabled on this thread")
        compute_pending("profiler")
        self._timing = kernel_times()
        self._timing.__enter__()
        self._began = time.perf_counter()
        active[0] = self
        listeners.append(self._looked)

    def stop(self) -> None:
        """End, with everything pending computed."""
        if active[0] is not self:
            return
        compute_pending("profiler")
        listeners.remove(self._looked)
        self._timing.__exit__(None, None, None)
        active[0] = None
        self.events.sort(key=lambda event: event.time_range.start)
        _nest(self.events)

    def now(self) -> float:
        """Microseconds since the start."""
        return (time.perf_counter() - self._began) * 1e6

    def add(self, name: str, start: float, end: float, **more: Any) -> None:
        """An event that took from ``start`` to ``end``."""
        self.events.append(FunctionEvent(len(self.events) + 1, name, threading.get_ident(), start, end,
                                         **more))

    def _looked(self, look: Any) -> None:
        end = self.now()
        start = max(0.0, end - look.seconds * 1e6)
        self.add(f"look ({look.cause})", start, end)
        for kernel in look.kernels:     # one after the other: when each began is not measured
            after = min(end, start + kernel.seconds * 1e6)
            self.add(kernel.name, start, after, flops=int(kernel.flops) or None, site=kernel.site)
            start = after


def _nest(events: list[FunctionEvent]) -> None:
    """Give each event the smallest one around it as parent."""
    open_ones: dict[int, list[FunctionEvent]] = {}
    for event in sorted(events, key=lambda e: (e.time_range.start, -e.time_range.end, -e.is_user_annotation)):
        stack = open_ones.setdefault(event.thread, [])
        while stack and stack[-1].time_range.end < event.time_range.end:
            stack.pop()
        if stack:
            stack[-1].append_cpu_child(event)
            event.set_cpu_parent(stack[-1])
        stack.append(event)


active: list[Recorder | None] = [None]


class record_function:
    """A named range, as a context manager or a decorator; without a profiler it costs next to nothing.

    >>> import flambeau as torch
    >>> from flambeau.profiler import profile, record_function
    >>> with profile() as prof:
    ...     with record_function("doubling"):
    ...         y = torch.ones(3) * 2
    >>> "doubling" in [event.name for event in prof.events()]
    True
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._recorder: Recorder | None = None

    def __enter__(self) -> record_function:
        self._recorder = active[0]
        if self._recorder is not None:
            compute_pending("profiler")
            self._start = self._recorder.now()
        return self

    def __exit__(self, *exc: object) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is not None and recorder is active[0]:
            compute_pending("profiler")
            recorder.add(self.name, self._start, recorder.now(), is_user_annotation=True)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def ranged(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)
        return ranged
