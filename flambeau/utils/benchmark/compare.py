"""Tables of measurements: a row for each task, a column for each description."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .measurement import Measurement, ordered_unique
from .units import select_unit, trim_sigfig, unit_to_english

_BEST, _GOOD, _BAD, _VERY_BAD = "\033[92m\033[1m", "\033[34m\033[1m", "\033[2m\033[91m", "\033[31m\033[1m"
_PLAIN = "\033[0m\033[0m"


class Compare:
    """Measurements as tables, one for each label.

    >>> task = {"stmt": "x", "setup": "pass", "label": "Add", "sub_label": "small"}
    >>> from flambeau.utils.benchmark import Measurement, TaskSpec
    >>> one = Measurement(1, [1e-6] * 4, TaskSpec(**task, description="one"))
    >>> two = Measurement(1, [3e-6] * 4, TaskSpec(**task, description="two"))
    >>> Compare([one, two]).print()
    [---------- Add ----------]
                 |  one  |  two
    1 threads: ----------------
          small  |  1.0  |  3.0
    <BLANKLINE>
    Times are in microseconds (us).
    <BLANKLINE>
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trimmed = self._warned = self._colored = self._rowwise = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
            self._results.append(result)

    def trim_significant_figures(self) -> None:
        """Show as many figures as mean something."""
        self._trimmed = True

    def colorize(self, rowwise: bool = False) -> None:
        """Color the best and the worst of each column, or of each row."""
        self._colored, self._rowwise = True, rowwise

    def highlight_warnings(self) -> None:
        """Mark times that vary much."""
        self._warned = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = ordered_unique(m.label for m in merged)
        return "\n".join(_Table([m for m in merged if m.label == label], self).text() for label in labels)


class _Table:
    """The measurements with one label."""

    def __init__(self, results: list[Measurement], how: Compare) -> None:
        self.how = how
        self.unit, self.length = select_unit(min(m.median for m in results))
        self.label = results[0].label or ""
        self.columns = ordered_unique(m.description for m in results)
        self.threads = ordered_unique(m.num_threads for m in results)
        rows = ordered_unique((m.num_threads, m.env, m.as_row_name) for m in results)
        self.rows = sorted(rows, key=lambda row: self.threads.index(row[0]))
        self.found = {(m.num_threads, m.env, m.as_row_name, m.description): m for m in results}
        self.digits = {column: self._decimals(column) for column in self.columns}

    def _measurements(self, column: str | None) -> list[Measurement]:
        return [m for (*_, description), m in self.found.items() if description == column]

    def _decimals(self, column: str | None) -> int:
        """How many decimals a column shows: those of its least precise number are too few, so the most."""
        if not self.how._trimmed:
            return 1
        most = 0
        for m in self._measurements(column):
            number = trim_sigfig(m.median / self.length, m.significant_figures)
            most = max(most, next((d for d in range(9) if abs(round(number, d) - number) < 1e-9 * number), 9))
        return most

    def _cell(self, m: Measurement | None) -> str:
        if m is None:
            return ""
        number = m.median / self.length
        if self.how._trimmed:
            number = trim_sigfig(number, m.significant_figures)
        mark = f" (! {m.iqr / m.median * 100:.0f}%)" if self.how._warned and m.has_warnings else ""
        return f"{number:.{self.digits[m.description]}f}{mark}"

    def _color(self, m: Measurement | None, cell: str) -> str:
        """Green and bold for the best, red where it takes much longer."""
        if m is None or not self.how._colored:
            return cell
        if self.how._rowwise:
            peers = [p for (*row, _), p in self.found.items()
                     if row == [m.num_threads, m.env, m.as_row_name]]
        else:
            peers = [p for p in self._measurements(m.description) if p.num_threads == m.num_threads]
        ratio = m.median / min(p.median for p in peers)
        for limit, color in ((1.0, _BEST), (1.1, _GOOD), (2.0, ""), (4.0, _BAD), (math.inf, _VERY_BAD)):
            if ratio <= limit:
                return f"{color}{cell}{_PLAIN}" if color else cell
        return cell

    def _names(self) -> dict[tuple[int, str | None, str], str]:
        """What stands at the left of each row; an environment stands at the first of its rows."""
        width = max(len(f"({env})") if env else 2 for _, env, _ in self.rows)
        names, before = {}, None
        for row in self.rows:
            threads, env, name = row
            shown = f"({env})" if env and before != (threads, env) else ""
            names[row], before = f"  {shown:<{width}}  {name}", (threads, env)
        return names

    def text(self) -> str:
        """The table."""
        names = self._names()
        left = max(map(len, names.values()))
        cells = {key: self._cell(m) for key, m in self.found.items()}
        widths = [max([len(column or ""), *(len(text) for key, text in cells.items() if key[-1] == column)])
                  for column in self.columns]
        header = " " * left + "".join(f"  |  {(column or '').center(width)}"
                                      for column, width in zip(self.columns, widths))
        lines = [f"[{f' {self.label} '.center(len(header) - 2, '-')}]", header]
        for threads in self.threads:
            lines.append(f"{threads} threads: ".ljust(len(header), "-"))
            for row in (row for row in self.rows if row[0] == threads):
                keys = [(*row, column) for column in self.columns]
                lines.append(names[row].ljust(left) + "".join(
                    "  |  " + self._color(self.found.get(key), f"{cells.get(key, ''):>{width}}")
                    for key, width in zip(keys, widths)))
        return "\n".join([*lines, "", f"Times are in {unit_to_english(self.unit)}s ({self.unit}).", ""])
