"""torch.utils.benchmark: times with their spread, and tables of them."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch
from flambeau.utils import benchmark

# times, runs of a block, what the task is called -> the lines after the first
SHOWN: dict[str, tuple[list[float], int, dict[str, Any], list[str]]] = {
    "one": ([1e-5], 10, {}, ["x + 1", "  1.00 us", "  1 measurement, 10 runs , 1 thread"]),
    "two": ([1e-5, 2e-5], 10, {}, [
        "x + 1", "  Median: 1.50 us", "  2 measurements, 10 runs per measurement, 1 thread",
        "  WARNING: Interquartile range is 33.3% of the median measurement.",
        "           This suggests significant environmental influence."]),
    "four": ([1e-5, 1.1e-5, 1.2e-5, 1.05e-5], 10, {}, [
        "x + 1", "  Median: 1.07 us", "  IQR:    0.09 us (1.04 to 1.12)",
        "  4 measurements, 10 runs per measurement, 1 thread"]),
    "named": ([1e-2, 1.5e-2, 4e-2, 2e-2, 1], 1,
              {"label": "lab", "sub_label": "sub", "description": "desc", "num_threads": 4}, [
        "lab: sub", "desc", "  Median: 20.00 ms", "  IQR:    25.00 ms (15.00 to 40.00)",
        "  5 measurements, 1 runs per measurement, 4 threads",
        "  WARNING: Interquartile range is 125.0% of the median measurement.",
        "           This suggests significant environmental influence."]),
    "prepared": ([1e-5] * 3, 10, {"setup": "import torch"}, [
        "x + 1", "setup: import torch", "  Median: 1.00 us",
        "  3 measurements, 10 runs per measurement, 1 thread"]),
}


def _measured(times: list[float], number: int = 10, **task: Any) -> benchmark.Measurement:
    return benchmark.Measurement(number, times,
                                 benchmark.TaskSpec(**{"stmt": "x + 1", "setup": "pass", **task}))


@pytest.mark.parametrize("case", SHOWN)
def test_a_measurement_is_shown_as_pytorch_shows_it(case: str) -> None:
    times, number, task, expected = SHOWN[case]
    assert repr(_measured(times, number, **task)).splitlines()[1:] == expected


FIGURES = [([1e-2] * 4, 4), ([1.0] * 10, 4), ([1e-2, 1.01e-2, 1.02e-2, .99e-2, 1.005e-2], 2),
           ([1e-3 * (1 + .01 * i) for i in range(20)], 1), ([1e-8] * 4, 1)]


@pytest.mark.parametrize(("times", "figures"), FIGURES, ids=str)
def test_figures_that_mean_something(times: list[float], figures: int) -> None:
    assert _measured(times, 1).significant_figures == figures


def _operations() -> benchmark.Compare:
    return benchmark.Compare([
        _measured([1e-6 * i * threads * width * k for k in (1, 1.01, 1.02, .99, 1.3)], label="Ops",
                  sub_label=name, description="a" * width, num_threads=threads)
        for i, name in ((1, "add x"), (2, "mul y")) for width in (1, 3) for threads in (1, 2)])


def test_tables() -> None:
    table = _operations()
    assert str(table).splitlines() == [
        "[------------ Ops -------------]", "             |    a    |   aaa  ",
        "1 threads: ---------------------", "      add x  |  101.0  |   303.0",
        "      mul y  |  202.0  |   606.0", "2 threads: ---------------------",
        "      add x  |  202.0  |   606.0", "      mul y  |  404.0  |  1212.0", "",
        "Times are in nanoseconds (ns)."]
    table.trim_significant_figures()
    assert str(table).splitlines()[3:5] == ["      add x  |  100  |   300", "      mul y  |  200  |   600"]
    table.colorize()
    assert str(table).splitlines()[3].endswith(
        "|  \033[92m\033[1m100\033[0m\033[0m  |  \033[92m\033[1m 300\033[0m\033[0m")


def test_environments_stand_at_the_first_of_their_rows() -> None:
    table = benchmark.Compare([
        _measured([1e-3] * 4, 1, label="O", sub_label=name, description="zz", env=env, num_threads=threads)
        for env in ("e1", "env2") for name in ("q", "long name") for threads in (1, 2)])
    assert str(table).splitlines()[1:8] == [
        "                     |   zz", "1 threads: ----------------", "  (e1)    q          |  1.0",
        "          long name  |  1.0", "  (env2)  q          |  1.0", "          long name  |  1.0",
        "2 threads: ----------------"]


@pytest.mark.parametrize("stmt", ["f(x)", "y = f(x)", "for _ in range(1):\n    y = f(x)"])
def test_what_a_statement_gives_is_computed_each_time(stmt: str) -> None:
    """Also where nobody keeps it."""
    calls = []

    def f(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x + 1

    t = benchmark.Timer(stmt, globals={"f": f, "x": torch.ones(3)})
    torch.synchronize()
    found = t.timeit(3)
    looks = torch.explain(last=6)
    assert (found.number_per_run, len(found.times), len(calls)) == (3, 1, 6)
    assert looks.count("synchronize") == 6, looks


def test_blocks_last_as_long_as_asked() -> None:
    t = benchmark.Timer("x @ x", "x = torch.ones(4, 4)", num_threads=2)
    before, seen = torch.get_num_threads(), []
    found = t.blocked_autorange(lambda number, taken: seen.append((number, taken)), min_run_time=0.01)
    assert sum(found.raw_times) >= 0.01 and [taken for _, taken in seen] == found.raw_times
    assert torch.get_num_threads() == before and found.task_spec.num_threads == 2
    assert len(t.adaptive_autorange(10.0, min_run_time=1e-4).times) > 3


def test_what_cannot_be_timed() -> None:
    with pytest.raises(ValueError, match="global_setup is C\\+\\+ only, got `a`"):
        benchmark.Timer("x", global_setup="a")
    with pytest.raises(ValueError, match="Invalid language `c\\+\\+`"):
        benchmark.Timer("x", language="c++")
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        benchmark.Compare([1])      # type: ignore[list-item]
