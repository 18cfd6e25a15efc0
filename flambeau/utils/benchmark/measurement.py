"""What was timed, and what came out."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Hashable, Iterable
from typing import Any, TypeVar

import numpy as np

from .units import select_unit

T = TypeVar("T", bound=Hashable)
_FLUCTUATION, _INFLUENCE = 0.1, 0.25    # spreads, relative to the median, that deserve a word
_RESOLUTION = 25e-9                     # what clocks tell apart, in seconds
_Z = 1.645                              # of a 90 % interval


def ordered_unique(elements: Iterable[T]) -> list[T]:
    """Each element once, in order.

    >>> ordered_unique([2, 1, 2])
    [2, 1]
    """
    return list(dict.fromkeys(elements))


@dataclasses.dataclass(repr=False, frozen=True)
class TaskSpec:
    """What is timed: a statement, what comes before it, and by which names it is shown."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or else the statement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{': ' + self.sub_label if self.sub_label else ''}\n{_indented(self.stmt)}"

    def setup_str(self) -> str:
        """What comes before, empty where nothing does."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{_indented(self.setup)}\n" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """The title, the description and what comes before, a line each."""
        return "\n".join(part for part in (self.title, self.description or "", self.setup_str()) if part)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.strip("\n").splitlines())


class Measurement:
    """Times of a task: ``raw_times`` are seconds of blocks of ``number_per_run`` runs.

    >>> task = TaskSpec("x + 1", "pass", label="Add")
    >>> found = Measurement(10, [1e-5, 2e-5, 1e-5, 1.1e-5], task)
    >>> round(found.median * 1e6, 3), found.title
    (1.05, 'Add')
    """

    def __init__(self, number_per_run: int, raw_times: list[float], task_spec: TaskSpec,
                 metadata: dict[Any, Any] | None = None) -> None:
        self.number_per_run = number_per_run
        self.raw_times = raw_times
        self.task_spec = task_spec
        self.metadata = metadata

    def __getattr__(self, name: str) -> Any:
        if name in ("label", "sub_label", "description", "stmt", "setup", "global_setup", "num_threads"):
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        """Seconds of one run, for each block."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The median time in seconds."""
        return statistics.median(self.times) if self.raw_times else 0.0

    @property
    def mean(self) -> float:
        """The mean time in seconds."""
        return statistics.fmean(self.times) if self.raw_times else 0.0

    def _quartiles(self) -> tuple[float, float]:
        low, high = np.quantile(self.times, [0.25, 0.75])
        return float(low), float(high)

    @property
    def iqr(self) -> float:
        """The third quartile less the first."""
        low, high = self._quartiles()
        return high - low

    @property
    def significant_figures(self) -> int:
        """How many figures of the median mean something, by the spread of the middle half of the times."""
        count = len(self.raw_times)
        middle = sorted(self.times)[count // 4:math.ceil(count * 3 / 4)]
        spread = np.std(middle) if middle else 0.0
        interval = max(_Z * float(spread) / math.sqrt(max(len(middle), 1)), _RESOLUTION)
        figures = math.floor(math.log10(max(self.median, _RESOLUTION) / interval))
        return min(max(figures, 1), 4)

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary much."""
        return bool(self.median) and self.iqr / self.median > _FLUCTUATION

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the times vary by less than a part of the median."""
        return bool(self.median) and len(self.raw_times) > 3 and self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """The task's title."""
        return self.task_spec.title

    @property
    def env(self) -> str | None:
        """What the task says about its environment."""
        return self.task_spec.env

    @property
    def as_row_name(self) -> str:
        """What a table calls the task."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, with all its times."""
        by_task: dict[TaskSpec, list[Measurement]] = {}
        for m in measurements:
            by_task.setdefault(m.task_spec, []).append(m)
        return [Measurement(1, [t for m in group for t in m.times], task) for task, group in by_task.items()]

    def __repr__(self) -> str:
        unit, length = select_unit(self.median)
        lines = [super().__repr__(), self.task_spec.summarize()]
        count = len(self.raw_times)
        if count > 1:
            lines.append(f"  Median: {self.median / length:.2f} {unit}")
        else:
            lines.append(f"  {self.median / length:.2f} {unit}")
        low, high = self._quartiles()
        if count > 3:
            lines.append(f"  IQR:    {(high - low) / length:.2f} {unit} "
                         f"({low / length:.2f} to {high / length:.2f})")
        threads = f"{self.task_spec.num_threads} thread{'s' if self.task_spec.num_threads > 1 else ''}"
        per = "per measurement" if count > 1 else ""
        lines.append(f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} runs {per}, "
                     f"{threads}")
        if self.has_warnings:
            spread = self.iqr / self.median
            lines += [f"  WARNING: Interquartile range is {spread * 100:.1f}% of the median measurement.",
                      "           This suggests significant environmental influence."
                      if spread > _INFLUENCE else "           This could indicate system fluctuation."]
        return "\n".join(lines)
