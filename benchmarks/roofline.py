"""How close to what the machine can do the native kernels come, and to PyTorch's.

    python benchmarks/roofline.py [--oracle PYTHON] [--only REGEX] [--processor] [--json FILE]
    [--markdown FILE]

The peak of arithmetic is measured with a loop of fused multiply-adds on registers, that of memory by
copying 64 MiB with plain stores, both on all threads, before and after each row: other machines on the same
host take a share of the memory's bandwidth that changes within seconds. Shares are of what was reached
beside the row. Stores that pass the caches by copy faster, as no line is read that is overwritten; kernels
use them where a result is larger than the caches: others are mostly read soon. Each row is one operator on
tensors that exist already, called through the public API many times, then computed; the least time over the
rounds counts: noise only ever adds. Of small operators recording is a large part: it has a column of its own,
and the last share is that of the kernels alone, from the look on. Operands, and results, of operators that
memory binds take turns, so that they come from memory; a few rows are of small operands on purpose.
``--oracle`` names an interpreter with PyTorch, which computes the same rows in a process of its own, in turn.
A row's bytes are those that its operands and results have: what a perfect kernel moves. ``of roof``: the
larger of its two shares, as the lower roof is what binds a perfect kernel. More than the copying is possible:
a copy also reads the lines that it overwrites, which sums and updates in place do not; what hardly reads, but
writes (a convolution of one channel), reaches 3/4 of it at most. More than the peak is possible with products
of 16-bit numbers, or fewer multiplications than the definition.
``--processor``: one thread each, and the processor time that it uses, which other programs on the machine
disturb less.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import importlib
import json
import math
import os
import re
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

from roofline_rows import ROWS, Row

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 0.4       # for a row, in one process and round,
FEWEST = 5          # or so many looks
LEAST = 4e-3        # seconds of work between two looks
ROUNDS = 2
TRIES = 8           # of a peak, each time
COPIED = 64 << 20   # bytes


# --- one process --------------------------------------------------------------------------------------------


def measure(torch: Any, row: Row, clock: Callable[[], float]) -> tuple[float, float]:
    """Seconds of one call, and those of them in which it is recorded."""
    torch.manual_seed(0)
    call = row.make(torch)
    look = getattr(torch, "synchronize", lambda: None)
    held: deque[Any] = deque(maxlen=row.held)

    def run(times: int) -> tuple[float, float]:
        start = clock()
        results = [call() for _ in range(times)]
        recorded = clock()
        look()
        elapsed = clock() - start
        held.extend(results)
        return elapsed, recorded - start

    run(1)
    run(1)
    times = max(1, min(row.most, int(LEAST / run(1)[0])))
    end = time.perf_counter() + SECONDS
    for _ in range(max(8, row.held // times)):  # what comes back often is compiled
        if time.perf_counter() < end:
            run(times)
    found: list[tuple[float, float]] = []
    end = time.perf_counter() + SECONDS
    while len(found) < FEWEST or time.perf_counter() < end:
        found.append(run(times))
    whole, recording = map(min, zip(*found))
    return whole / times, float("nan") if row.looks else recording / times


def serve(framework: str, clock: Callable[[], float]) -> None:
    """Answer the names of rows with two numbers of seconds, until there are none."""
    torch = importlib.import_module(framework)
    rows = {row.name: row for row in ROWS}
    for line in sys.stdin:
        try:
            print(*measure(torch, rows[line.strip()], clock), flush=True)
        except Exception as error:  # the other rows can still be measured
            print(f"nan {type(error).__name__}: {error}", file=sys.stderr)
            print("nan nan", flush=True)


class Process:
    """A framework in a process of its own."""

    def __init__(self, python: str, framework: str, processor: bool) -> None:
        environment = {**os.environ, "FLAMBEAU_TIER": "native", "PYTHONPATH": str(ROOT)}
        command = [python, str(Path(__file__).resolve()), "--serve", framework]
        if processor:
            command.append("--processor")
            environment["OMP_NUM_THREADS"] = "1"
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                         env=environment, cwd=ROOT if framework == "flambeau" else "/")

    def seconds(self, name: str) -> tuple[float, float]:
        """The time of a row, and of its recording."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        whole, recording = map(float, (self._process.stdout.readline() or "nan nan").split())
        return whole, recording


# --- what the machine can do --------------------------------------------------------------------------------


class Peaks(NamedTuple):
    """Floating operations per second, and bytes per second of copying; ``past``: past the caches."""

    arithmetic: float
    copying: float
    past: float

    def or_better(self, other: Peaks) -> Peaks:
        """What was reached at least once."""
        return Peaks(*map(max, self, other))


class Machine:
    """The loops that measure the peaks, of all threads or of one, and what they work on."""

    def __init__(self, processor: bool) -> None:
        self.count = 1 if processor else _threads()
        self._best = _alone if processor else self._at_once
        self._multiply_adds, self._operations = _compiled("peak", _multiply_adds), _operations()
        self._copies = [_compiled("copy", _copying, past) for past in (False, True)]
        self._word = (ctypes.c_float * 2)()
        self._sums = [(ctypes.c_float * 1024)() for _ in range(self.count)]
        self._part = COPIED // self.count
        self._memory = [[_aligned(self._part) for _ in range(2)] for _ in range(self.count)]
        self._places = [(ctypes.c_int64 * 2)(*[place for _, place in pair]) for pair in self._memory]

    def peaks(self) -> Peaks:
        """What is reached now."""
        steps = 1 << 22     # some 14 milliseconds, of which starting the threads is little
        arithmetic = self._best(lambda i: self._multiply_adds(0, steps, ctypes.addressof(self._word),
                                                              ctypes.addressof(self._sums[i])))
        moved = 2.0 * self._part * self.count
        return Peaks(self._operations * steps * self.count / arithmetic,
                     *[moved / self._best(functools.partial(self._copy, copy)) for copy in self._copies])

    def _copy(self, copy: Any, i: int) -> None:
        copy(0, self._part // 4, ctypes.addressof(self._places[i]), 0)

    def _at_once(self, work: Callable[[int], Any]) -> float:
        """Seconds of the fastest of several rounds of all threads."""
        return min(self._round(work) for _ in range(TRIES))

    def _round(self, work: Callable[[int], Any]) -> float:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(self.count)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - start


def _alone(work: Callable[[int], Any]) -> float:
    """Seconds of processor time of the fastest of several rounds."""
    best = float("inf")
    for _ in range(TRIES):
        start = time.thread_time()
        work(0)
        best = min(best, time.thread_time() - start)
    return best


def _compiled(name: str, write: Callable[..., str], *arguments: Any) -> Any:
    sys.path.insert(0, str(ROOT))
    from flambeau.executors.native.llvm.compiling.code import kernel

    address = index(kernel(name)(write)(*arguments))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 2)(address)


def _aligned(size: int) -> tuple[Any, int]:
    """Memory, and an address in it that is a multiple of 64."""
    memory = ctypes.create_string_buffer(size + 64)
    start = ctypes.addressof(memory)
    return memory, start + -start % 64


def _copying(past: bool) -> str:
    """A loop that copies floats, a multiple of 64 of them."""
    from flambeau.executors.native.llvm.build import Module, vector
    from flambeau.executors.native.llvm.compiling.machine import machine

    lanes = machine().lanes(4)
    kind, mark = vector(lanes), ", !nontemporal !0" if past else ""
    module = Module()
    with module.kernel("copy") as f:
        source, target = f.word(0, "ptr"), f.word(1, "ptr")
        with f.loop(f.begin, f.end, 64) as i:
            for x in range(0, 64, lanes):
                place = f.add(i, x)
                found = f.read(kind, f.at(source, place), 4 * lanes)
                f.effect(f"store {kind} {found}, ptr {f.at(target, place)}, align {4 * lanes}{mark}")
    return module.text() + "!0 = !{i32 1}\n"


def _threads() -> int:
    sys.path.insert(0, str(ROOT))
    import flambeau

    return flambeau.get_num_threads()


def _operations() -> float:
    """How many a step of the loop does."""
    from flambeau.executors.native.products.microkernel import tile_of

    tile = tile_of()
    return 2.0 * tile.rows * tile.columns


def _multiply_adds() -> str:
    """A loop that keeps the multiply-add units busy."""
    from flambeau.executors.native.llvm.build import Module
    from flambeau.executors.native.products.microkernel import tile_of

    tile = tile_of()
    module = Module()
    with module.kernel("peak") as f:
        factor = f.splat(f.word(0, "float"), tile.lanes)
        places = [f.at(f.scratch, i * tile.lanes) for i in range(tile.rows * tile.vectors)]
        acc = [f.variable(tile.vector, f.read(tile.vector, place)) for place in places]     # all different
        with f.loop(f.begin, f.end):
            for x in acc:
                x.set(f.fma(tile.vector, factor, factor, x.get()))
        for place, x in zip(places, acc):
            f.write(tile.vector, x.get(), place)
    return module.text()


# --- report -------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """A row's seconds, those of recording among them, PyTorch's, and what the machine reached meanwhile."""

    row: Row
    seconds: float
    recording: float
    reference: float
    top: Peaks

    def cells(self) -> list[str]:
        """As the table has them."""
        row, seconds, top = self.row, self.seconds, self.top
        flops, traffic = row.flops / seconds, row.traffic / seconds
        shares = flops / top.arithmetic, traffic / top.copying
        arithmetic = [f"{flops / 1e9:.1f}", f"{shares[0]:.0%}"] if row.flops else ["", ""]
        compared = [f"{self.reference * 1e6:.1f}", f"{self.reference / seconds:.2f}"]
        kernels = max(shares) * seconds / (seconds - self.recording)
        apart = [f"{self.recording * 1e6:.1f}", f"{kernels:.0%}"]
        return [row.name, f"{seconds * 1e6:.1f}", *arithmetic, f"{traffic / 1e9:.1f}", f"{shares[1]:.0%}",
                f"{max(shares):.0%}", *(["", ""] if row.looks else apart),
                *(["", ""] if math.isnan(self.reference) else compared)]


HEAD = ["", "us", "GFLOP/s", "of peak", "GB/s", "of copying", "of roof", "recording, us", "kernels, of roof",
        "PyTorch, us", "times as fast"]


def report(rows: list[Row], oracle: str | None, processor: bool) -> tuple[Peaks, list[Found]]:
    """Measure and print; the best that was reached, and the rows."""
    machine = Machine(processor)
    top = machine.peaks()
    print(headline(top, processor) + "\n")
    print(_line(HEAD))
    own = Process(sys.executable, "flambeau", processor)
    other = Process(oracle, "torch", processor) if oracle else None
    found = []
    for row in rows:
        one = Found(row, float("inf"), float("nan"), float("nan"), machine.peaks())
        for _ in range(ROUNDS):
            seconds, recording = own.seconds(row.name)      # of a number and NaN, ``min`` finds the number
            one = one._replace(seconds=min(one.seconds, seconds), recording=min(recording, one.recording),
                               top=one.top.or_better(machine.peaks()))
            if other is not None:
                reference = min(other.seconds(row.name)[0], one.reference)
                one = one._replace(reference=reference)
        found.append(one)
        top = top.or_better(one.top)
        print(_line(one.cells()), flush=True)
    return top, found


def headline(top: Peaks, processor: bool) -> str:
    """The peaks in words."""
    from flambeau.executors.native.llvm.compiling.machine import machine

    measured = "processor time of one thread" if processor else f"elapsed time of {_threads()} threads"
    return (f"{machine().name}: peak {top.arithmetic / 1e9:.0f} GFLOP/s in float32, "
            f"copying {top.copying / 1e9:.1f} GB/s (past the caches {top.past / 1e9:.1f}), "
            f"{measured}.")


def _line(cells: list[str]) -> str:
    return f"{cells[0]:44}" + "".join(f"{x:>{max(9, len(name) + 2)}}" for x, name in zip(cells[1:], HEAD[1:]))


def markdown(top: Peaks, found: list[Found], processor: bool) -> str:
    """The table of a report."""
    lines = [headline(top, processor), "", "| " + " | ".join(["operator", *HEAD[1:]]) + " |",
             "|---|" + "--:|" * (len(HEAD) - 1)]
    lines += ["| " + " | ".join(one.cells()) + " |" for one in found]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", help="an interpreter with PyTorch")
    parser.add_argument("--only", default="", help="a regular expression of the rows' names")
    parser.add_argument("--processor", action="store_true", help="processor time of one thread")
    parser.add_argument("--json", help="also write the figures here")
    parser.add_argument("--markdown", help="also write the table here")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, time.process_time if options.processor else time.perf_counter)
        return
    top, found = report([row for row in ROWS if re.search(options.only, row.name)], options.oracle,
                        options.processor)
    print("\n" + headline(top, options.processor))
    if options.json:
        Path(options.json).write_text(json.dumps([
            {"name": one.row.name, "seconds": one.seconds, "pytorch": one.reference,
             "recording": None if one.row.looks else one.recording, "flops": one.row.flops,
             "bytes": one.row.traffic, "peak": one.top.arithmetic, "copy": one.top.copying} for one in found],
            indent=1))
    if options.markdown:
        Path(options.markdown).write_text(markdown(top, found, options.processor))


if __name__ == "__main__":
    main()
