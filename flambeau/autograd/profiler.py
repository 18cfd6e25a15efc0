"""``torch.autograd.profiler``: the older profiler, a context manager without a schedule."""

from __future__ import annotations

from typing import Any

from ..profiler.events import EventList, FunctionEvent, FunctionEventAvg
from ..profiler.ranges import ProfilerActivity, Recorder, record_function


class profile:
    """Record what is computed within a ``with`` block; options about devices and details are accepted.

    >>> import flambeau as torch
    >>> with torch.autograd.profiler.profile() as prof:
    ...     y = (torch.ones(3) + 1).tolist()
    >>> prof.total_average().count > 0
    True
    """

    def __init__(self, enabled: bool = True, **options: Any) -> None:
        self.enabled = enabled
        self.recorder = Recorder()

    def __enter__(self) -> profile:
        if self.enabled:
            self.recorder.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.enabled:
            self.recorder.stop()

    @property
    def function_events(self) -> EventList:
        """All events."""
        return EventList(self.recorder.events)

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events together, counted once."""
        return self.function_events.self_cpu_time_total

    def table(self, *args: Any, **kwargs: Any) -> str:
        """The events as a text table."""
        return self.function_events.table(*args, **kwargs)

    def key_averages(self, *args: Any, **kwargs: Any) -> EventList:
        """One average for each name."""
        return self.function_events.key_averages(*args, **kwargs)

    def total_average(self) -> FunctionEventAvg:
        """All events in one."""
        return self.function_events.total_average()

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a file for chrome://tracing and Perfetto."""
        self.function_events.export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write lines that flame graphs are made of."""
        self.function_events.export_stacks(path, metric)


class emit_nvtx:
    """Marks for NVIDIA's tools: without CUDA it cannot be entered."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx | None:
        if self.enabled:
            raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
        return None

    def __exit__(self, *exc: object) -> None:
        pass


__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "ProfilerActivity", "emit_nvtx", "profile",
           "record_function"]
