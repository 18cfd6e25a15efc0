"""``torch.profiler``: ranges, steps, tables and trace files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import flambeau as torch
from flambeau.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule


def test_kernels_lie_within_the_range_that_recorded_them() -> None:
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        with record_function("mine"):
            y = torch.ones(10, 10) @ torch.ones(10, 10)
        assert y.shape == (10, 10)
    mine = next(event for event in prof.events() if event.name == "mine")
    (look,) = mine.cpu_children
    assert "mm" in {child.name for child in look.cpu_children}
    inner = sum(child.cpu_time_total for child in look.cpu_children)
    assert mine.cpu_time_total >= look.cpu_time_total >= inner - 1e-6


def test_a_table_of_averages() -> None:
    with profile() as prof:
        for _ in range(3):
            torch.ones(4).exp().tolist()
    averages = prof.key_averages()
    table = averages.table(sort_by="self_cpu_time_total", row_limit=2)
    assert "Self CPU time total" in table and "# of Calls" in table
    assert table.count("\n") == 7
    assert next(row for row in averages if row.key.startswith("look")).count == 3
    with pytest.raises(AttributeError):
        averages.table(sort_by="nonsense")


def test_the_schedule_says_when_steps_are_recorded() -> None:
    ready: list[Any] = []
    plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    with profile(schedule=plan, on_trace_ready=lambda p: ready.append((p.step_num, p.events()))) as prof:
        for _ in range(6):
            torch.ones(2).sum().item()
            prof.step()
    ((step, events),) = ready
    assert step == 4
    steps = [e for e in events if e.is_user_annotation]
    assert [e.name for e in steps] == ["ProfilerStep*"] * 2
    assert [e.trace_name for e in steps] == ["ProfilerStep#2", "ProfilerStep#3"]


def test_schedules() -> None:
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    names = "NONE NONE WARMUP RECORD RECORD_AND_SAVE NONE WARMUP RECORD RECORD_AND_SAVE NONE NONE".split()
    assert [plan(i) for i in range(11)] == [ProfilerAction[name] for name in names]
    with pytest.raises(AssertionError, match=r"Invalid profiler schedule arguments\. Got wait=-1"):
        schedule(wait=-1, warmup=0, active=1)


def test_a_trace_file(tmp_path: Path) -> None:
    with profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(str(tmp_path))):
        torch.ones(2).sum().item()
    (path,) = tmp_path.iterdir()
    assert {e["ph"] for e in json.loads(path.read_text())["traceEvents"]} == {"M", "X"}


def test_no_events_before_the_start_and_the_older_profiler() -> None:
    with pytest.raises(AssertionError, match="Profiler must be initialized before getting key averages"):
        profile().key_averages()
    with torch.autograd.profiler.profile() as prof:
        torch.ones(2).sum().item()
    assert prof.total_average().count > 0
    assert record_function("a decorator")(lambda: 3)() == 3
