"""``profile``: a recorder with a schedule, and what is made of its events."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

from .events import EventList, write_trace
from .ranges import ProfilerActivity, Recorder, record_function
from .schedules import ProfilerAction, always

_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class profile:
    """Record what is computed within a ``with`` block, or during the steps that ``schedule`` names.

    ``record_shapes``, ``profile_memory``, ``with_stack``, ``with_flops`` and ``with_modules`` are accepted:
    lines and operations are always there, shapes and memory are not.

    >>> import flambeau as torch
    >>> from flambeau.profiler import profile, schedule
    >>> with profile(schedule=schedule(wait=1, warmup=0, active=1, repeat=1)) as prof:
    ...     for step in range(3):
    ...         y = torch.ones(2).sum().item()
    ...         prof.step()
    >>> [event.name for event in prof.events() if event.is_user_annotation]
    ['ProfilerStep*']
    """

    def __init__(self, *, activities: Iterable[ProfilerActivity] | None = None,
                 schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready: Callable[[profile], Any] | None = None, record_shapes: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
                 with_modules: bool = False, experimental_config: Any = None,
                 execution_trace_observer: Any = None, acc_events: bool = False, use_cuda: bool | None = None,
                 custom_trace_id_callback: Any = None,
                 post_processing_timeout_s: float | None = None) -> None:
        self.activities = set(activities) if activities is not None else {ProfilerActivity.CPU}
        self.schedule = schedule or always
        self.record_steps = schedule is not None
        self.on_trace_ready, self.acc_events = on_trace_ready, acc_events
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.metadata: dict[str, Any] = {}
        self.profiler: Recorder | None = None
        self._step: record_function | None = None
        self._earlier: list[Any] = []

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with step 0."""
        self._change(ProfilerAction.NONE, self.current_action)
        self._open_step()

    def stop(self) -> None:
        """End; what was being recorded is ready."""
        self._close_step()
        if self.current_action in _RECORDING:
            self._save()
        self.current_action = ProfilerAction.NONE

    def step(self) -> None:
        """The end of a step and the beginning of the next."""
        self._close_step()
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self.schedule(self.step_num)
        self._change(before, self.current_action)
        self._open_step()

    def _change(self, before: ProfilerAction, after: ProfilerAction) -> None:
        if before is ProfilerAction.RECORD_AND_SAVE or (before in _RECORDING and after not in _RECORDING):
            self._save()
            before = ProfilerAction.NONE
        if after in _RECORDING and before not in _RECORDING:
            if self.acc_events and self.profiler is not None:
                self._earlier += self.profiler.events
            self.profiler = Recorder()
            self.profiler.start()

    def _save(self) -> None:
        if self.profiler is not None:
            self.profiler.stop()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)

    def _open_step(self) -> None:
        if self.record_steps and self.current_action in _RECORDING:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _close_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def events(self) -> EventList:
        """All events of the last recording."""
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before getting events")
        return EventList(self._earlier + self.profiler.events)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """One average for each name."""
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before getting key averages")
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> Any:
        """All events in one."""
        return self.events().total_average()

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a file for chrome://tracing and Perfetto; compressed where it ends in .gz."""
        metadata = {"host_name": socket.gethostname(), **self.metadata}
        if not path.endswith(".gz"):
            write_trace(self.events(), path, metadata)
            return
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "trace.json")
            write_trace(self.events(), plain, metadata)
            with open(plain, "rb") as source, gzip.open(path, "wb") as target:
                shutil.copyfileobj(source, target)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write lines that flame graphs are made of."""
        self.events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """A string for the trace file."""
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """A value in JSON for the trace file."""
        self.metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False,
                              use_python_export: bool = False) -> Callable[[profile], None]:
    """An ``on_trace_ready`` that writes each recording into a folder, where TensorBoard's plugin looks."""
    def handle(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = ".pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{ending}"))
    return handle
