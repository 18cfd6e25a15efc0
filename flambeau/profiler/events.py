"""Events of a profile, their averages, and the lists of either."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..graph.site import describe


class Interval(NamedTuple):
    """From ``start`` to ``end``, in microseconds."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start


def _time(us: float) -> str:
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


class _NoDevice:
    """The figures of devices and memory: there are none."""

    device_time = device_time_total = self_device_time_total = cuda_time = cuda_time_total = 0
    self_cuda_time_total = cpu_memory_usage = self_cpu_memory_usage = device_memory_usage = 0
    self_device_memory_usage = 0
    is_async = is_remote = is_legacy = False
    input_shapes: Any = ()


class FunctionEvent(_NoDevice):
    """One kernel, look or range. Steps have one ``name``, and in the trace their numbers (``trace_name``)."""

    def __init__(self, id: int, name: str, thread: int, start_us: float, end_us: float, *,
                 flops: int | None = None, site: Any = None, is_user_annotation: bool = False) -> None:
        self.id, self.trace_name, self.thread = id, name, thread
        self.name = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
        self.time_range = Interval(start_us, end_us)
        self.flops, self.is_user_annotation = flops, is_user_annotation
        self.site = site
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    @property
    def key(self) -> str:
        """The name under which it is averaged."""
        return self.name

    @property
    def stack(self) -> list[str]:
        """The line that recorded it."""
        return [] if self.site is None else [describe(self.site)]

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Add an event within this one."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Set the event around this one."""
        self.cpu_parent = parent

    @property
    def cpu_time_total(self) -> float:
        """Its length in microseconds."""
        return self.time_range.elapsed_us()

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """Its length without the events in it."""
        return max(0.0, self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children))

    def __repr__(self) -> str:
        return (f"<FunctionEvent id={self.id} name={self.name} cpu_time={_time(self.cpu_time_total)} "
                f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
                f"cpu_children={[child.id for child in self.cpu_children]}>")


class FunctionEventAvg(_NoDevice):
    """All events of one name together."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.flops = 0
        self.stack: list[str] = []
        self.is_user_annotation = False

    def add(self, event: Any) -> FunctionEventAvg:
        """Count an event, or another average, in."""
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        self.flops += event.flops or 0
        self.stack = self.stack or list(event.stack)
        self.is_user_annotation = event.is_user_annotation
        return self

    @property
    def cpu_time(self) -> float:
        """The mean length in microseconds."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={_time(self.self_cpu_time_total)} "
                f"cpu_time={_time(self.cpu_time)}>")


_SORTABLE = ("cpu_time", "cpu_time_total", "self_cpu_time_total", "count", "cuda_time", "cuda_time_total",
             "self_cuda_time_total", "device_time", "device_time_total", "self_device_time_total",
             "cpu_memory_usage", "self_cpu_memory_usage", "device_memory_usage", "flops")


class EventList(list[Any]):
    """Events, or averages of them."""

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events together, counted once."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """One average for each name (and each recording line, with ``group_by_stack_n``)."""
        groups: dict[Any, FunctionEventAvg] = {}
        for event in self:
            lines = tuple(event.stack[:group_by_stack_n])
            groups.setdefault((event.key, lines), FunctionEventAvg(event.key)).add(event)
        return EventList(groups.values())

    def total_average(self) -> FunctionEventAvg:
        """All events in one."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
              top_level_events_only: bool = False, time_unit: str | None = None) -> str:
        """The events as a text table.

        >>> import flambeau as torch
        >>> with torch.profiler.profile() as prof:
        ...     y = (torch.ones(3) + 1).tolist()
        >>> "Self CPU" in prof.key_averages().table(sort_by="cpu_time_total", row_limit=5)
        True
        """
        return _table(self, sort_by, row_limit, max_name_column_width, max_src_column_width, header,
                      top_level_events_only)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events as a file for chrome://tracing and Perfetto."""
        write_trace(self, path, {})

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write lines ``recording line;name microseconds``, which flame graphs are made of."""
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                value = int(getattr(event, metric))
                if event.stack and value > 0:
                    file.write(";".join([*reversed(event.stack), event.key]).replace(" ", "_")
                               + f" {value}\n")

    def __str__(self) -> str:
        return self.table()


def _table(events: EventList, sort_by: str | None, row_limit: int, name_width: int, source_width: int,
           header: str | None, top_level_only: bool) -> str:
    if not events:
        return ""
    if sort_by is not None and sort_by not in _SORTABLE:
        raise AttributeError(f"cannot sort by {sort_by!r}: there is {', '.join(_SORTABLE)}")
    rows = [e for e in events if not top_level_only or getattr(e, "cpu_parent", None) is None]
    if sort_by is not None:
        rows.sort(key=lambda e: getattr(e, sort_by) or 0, reverse=True)
    total = events.self_cpu_time_total
    with_flops, with_source = any(e.flops for e in rows), any(e.stack for e in rows)
    titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
    titles += ["Total GFLOPs"] * with_flops + ["Source Location"] * with_source
    lines = [titles]
    for e in rows[:row_limit] if row_limit >= 0 else rows:
        mean = e.cpu_time
        cells = [_shortened(e.key, name_width), _share(e.self_cpu_time_total, total),
                 _time(e.self_cpu_time_total), _share(e.cpu_time_total, total), _time(e.cpu_time_total),
                 _time(mean), str(e.count)]
        cells += [f"{(e.flops or 0) / 1e9:.3f}" if e.flops else "--"] * with_flops
        cells += [_shortened(e.stack[0], source_width) if e.stack else ""] * with_source
        lines.append(cells)
    text = _aligned(lines)
    if header is not None:
        text = header + "\n" + text
    return text + f"Self CPU time total: {_time(total)}\n"


def _aligned(lines: list[list[str]]) -> str:
    widths = [max(12, *(len(line[i]) for line in lines)) for i in range(len(lines[0]))]
    rule = "  ".join("-" * width for width in widths)
    body = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines]
    return "\n".join([rule, body[0], rule, *body[1:], rule]) + "\n"


def _share(part: float, whole: float) -> str:
    return f"{part / whole * 100:.2f}%" if whole else "NaN"


def _shortened(text: str, width: int) -> str:
    return text if width < 4 or len(text) <= width else text[:width - 3] + "..."


def write_trace(events: Iterable[FunctionEvent], path: str | os.PathLike[str],
                metadata: dict[str, Any]) -> None:
    """Write events in the trace-event format."""
    process = os.getpid()
    entries: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": "flambeau"}}]
    for event in events:
        kind = "user_annotation" if event.is_user_annotation else "cpu_op"
        entries.append({"ph": "X", "cat": kind, "name": event.trace_name, "pid": process, "tid": event.thread,
                        "ts": event.time_range.start, "dur": event.cpu_time_total,
                        "args": {"line": event.stack[0]} if event.stack else {}})
    whole = {"schemaVersion": 1, "displayTimeUnit": "ms", **metadata, "traceEvents": entries,
             "traceName": os.fspath(path)}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(whole, file)
