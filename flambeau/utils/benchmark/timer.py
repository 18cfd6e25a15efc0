"""Timing a statement. Its results are computed within the time that is measured."""

from __future__ import annotations

import ast
import contextlib
import math
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..._execution import get_num_threads, set_num_threads
from ...engine.look import synchronize
from .measurement import Measurement, TaskSpec

timer = time.perf_counter
_OVERHEAD = 1e-4        # of a block's time: what reading the clock may take


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Compute with ``n`` threads."""
    before = get_num_threads()
    try:
        set_num_threads(n)
        yield
    finally:
        set_num_threads(before)


class Timer:
    """Time ``stmt`` after ``setup``, with one thread unless told otherwise.

    Results are computed after each run of the statement, also those that it drops.

    >>> import flambeau as torch
    >>> from flambeau.utils.benchmark import Timer
    >>> t = Timer("x @ x", globals={"x": torch.ones(8, 8)}, label="Product")
    >>> found = t.timeit(5)
    >>> found.number_per_run, found.title, found.median > 0
    (5, 'Product', True)
    """

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
                 timer: Callable[[], float] = timer, globals: dict[str, Any] | None = None,
                 label: str | None = None, sub_label: str | None = None, description: str | None = None,
                 env: str | None = None, num_threads: int = 1, language: str = "python") -> None:
        if language not in ("python", "py"):
            raise ValueError(f"Invalid language `{language}`: only statements of Python can be timed.")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`. Most likely this code can "
                             "simply be moved to `setup`.")
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)
        self._timer = timer
        self._globals = dict(globals or {})
        self._globals.setdefault("torch", sys.modules[__name__.partition(".")[0]])
        self._setup = compile(setup, "<setup>", "exec")
        self._stmt = compile(_keeping(stmt), "<stmt>", "exec")

    def _block(self, number: int, space: dict[str, Any]) -> float:
        stmt, read = self._stmt, self._timer
        start = read()
        for _ in range(number):
            exec(stmt, space)
            synchronize()
        return max(read() - start, 1e-9)

    def _prepared(self) -> dict[str, Any]:
        space = dict(self._globals)
        exec(self._setup, space)
        synchronize()
        return space

    def _warm_up(self, space: dict[str, Any], seconds: float, most: float = math.inf) -> None:
        """Runs that are not measured: graphs that come back are compiled in them."""
        taken, runs = 0.0, 0
        while taken < seconds and runs < most:
            taken, runs = taken + self._block(1, space), runs + 1

    def timeit(self, number: int = 1000000) -> Measurement:
        """One block of ``number`` runs, after a few that are not measured."""
        with set_torch_threads(self._task_spec.num_threads):
            space = self._prepared()
            self._warm_up(space, 0.05, max(number, 2))
            return Measurement(number, [self._block(number, space)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Not there in PyTorch either: ``blocked_autorange`` repeats."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> None:
        """Not there in PyTorch either: see ``blocked_autorange``."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, space: dict[str, Any], min_run_time: float) -> int:
        """So many runs that reading the clock does not count, but blocks stay short."""
        overhead = sorted(self._clock() for _ in range(5))[2]
        number = 1
        self._warm_up(space, min_run_time / 5)
        while True:
            taken = self._block(number, space)
            if (overhead / taken <= _OVERHEAD and taken >= min_run_time / 1000) or taken > min_run_time:
                return number
            number *= 10

    def _clock(self) -> float:
        start = self._timer()
        return self._timer() - start

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None,
                          min_run_time: float = 0.2) -> Measurement:
        """Blocks of equal size until they took ``min_run_time`` seconds."""
        def enough(times: list[float]) -> bool:
            return sum(times) >= min_run_time
        return self._blocks(enough, min_run_time, callback)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01,
                           max_run_time: float = 10.0,
                           callback: Callable[[int, float], Any] | None = None) -> Measurement:
        """Blocks until their times vary by less than ``threshold``, or ``max_run_time`` seconds are over."""
        def enough(times: list[float]) -> bool:
            total = sum(times)
            found = Measurement(1, times, self._task_spec)
            return total >= max_run_time or (total >= min_run_time and found.meets_confidence(threshold))
        return self._blocks(enough, min_run_time, callback)

    def _blocks(self, enough: Callable[[list[float]], bool], min_run_time: float,
                callback: Callable[[int, float], Any] | None) -> Measurement:
        with set_torch_threads(self._task_spec.num_threads):
            space = self._prepared()
            number = self._block_size(space, min_run_time)
            times: list[float] = []
            while not times or not enough(times):
                times.append(self._block(number, space))
                if callback is not None:
                    callback(number, times[-1])
            return Measurement(number, times, self._task_spec)


def _keeping(stmt: str) -> ast.Module:
    """The statement; what its last expression gives is kept until it is computed."""
    tree = ast.parse(stmt)
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        target = ast.Name("_result", ast.Store())
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    return ast.fix_missing_locations(tree)
