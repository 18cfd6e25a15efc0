"""Compare functions of one number in generated code with double precision, on every float that there is.

    python tools/every_float.py [--only REGEX] [--processes 2] [--markdown benchmarks/results/accuracy.md]

Errors are in units in the last place of the correctly rounded result. Results below the smallest normal
number count apart: there generated code may give 0. It takes about a minute of processor time for each
function.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.special

ROOT = Path(__file__).resolve().parent.parent
CHUNK = 1 << 20
PATTERNS = 1 << 32
SMALLEST = 2.0 ** -126      # normal
BEYOND = 2.0 ** 128         # what follows the largest float
PI = np.longdouble("3.14159265358979323846264338327950288")


class Function(NamedTuple):
    """A function of a flambeau tensor, and of doubles; ``allowed``: units."""

    name: str
    own: Callable[[Any, Any], Any]
    exact: Callable[[Any], Any]
    allowed: float = 2.0


class Found(NamedTuple):
    """The largest error and where it is, the largest of tiny results, and how many are correctly rounded."""

    units: float = 0.0
    at: float = 0.0
    tiny: float = 0.0
    right: int = 0

    def joined(self, other: Found) -> Found:
        """Of both parts."""
        worst = max(self, other, key=lambda x: x.units)
        return Found(worst.units, worst.at, max(self.tiny, other.tiny), self.right + other.right)


def named(name: str, exact: Callable[[Any], Any], allowed: float = 2.0) -> Function:
    """A function that both have."""
    return Function(name, lambda torch, x: getattr(torch, name)(x), exact, allowed)


def digamma(x: Any) -> Any:
    """By reflection below 0, of what is left of the next integer: SciPy's angle there is rounded.

    Next to zeros terms cancel until the last digits of doubles are left: there they have more digits.
    """
    below, left = x < 0, x - np.rint(x)
    turned = np.pi / np.tan(np.pi * np.where(left == 0, np.nan, left))
    found = scipy.special.psi(np.where(below, 1 - x, x)) - np.where(below, turned, 0)
    near = below & (np.abs(found) < 1e-3)
    found[near] = _digamma_below_zero(x[near].astype(np.longdouble))
    return found


def _digamma_below_zero(x: Any) -> Any:
    """By recurrence, and the first terms of the asymptotic series."""
    y = 1 - x + 40
    total = -sum(1 / (y - k) for k in range(1, 41))
    square = 1 / (y * y)
    total += np.log(y) - 0.5 / y - square * (1 / np.longdouble(12) - square * (
        1 / np.longdouble(120) - square / 252))
    turn = PI * (x - np.rint(x))
    return total - PI * np.cos(turn) / np.sin(turn)


def power(exponent: float) -> Function:
    """Every base, by the way of exponents that differ from element to element."""
    rounded = float(np.float32(exponent))
    return Function(f"pow(x, {exponent:g})", lambda torch, x: torch.pow(x, torch.full_like(x, rounded)),
                    lambda x: np.power(x, rounded), 4.0)


def exponential(base: float) -> Function:
    """Every exponent."""
    rounded = float(np.float32(base))
    return Function(f"pow({base:g}, x)", lambda torch, x: torch.pow(torch.full_like(x, rounded), x),
                    lambda x: np.power(rounded, x), 4.0)


def erfinv(x: Any) -> Any:
    """There are results for half of all floats alone."""
    found = np.where(np.abs(x) == 1, np.copysign(np.inf, x), np.nan)
    inside = np.abs(x) < 1
    found[inside] = scipy.special.erfinv(x[inside])
    return found


def lgamma(x: Any) -> Any:
    """PyTorch gives infinity where the function has poles, and at both ends."""
    return np.where(np.isinf(x), np.inf, scipy.special.gammaln(x))


FUNCTIONS = [
    *[named(name, getattr(np, name)) for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
        "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh")],
    named("sigmoid", scipy.special.expit), named("rsqrt", lambda x: 1 / np.sqrt(x)),
    named("erf", scipy.special.erf), named("erfc", scipy.special.erfc), named("erfinv", erfinv),
    named("lgamma", lgamma), named("digamma", digamma, 5.0),
    *map(power, (-2.5, 0.3, 1.7, 10.25)),
    *map(exponential, (0.5, 1.0001, 2.718281828, 1e20)),
]


def compare(found: Any, exact: Any, x: Any) -> Found:
    """A chunk of results."""
    rounded = exact.astype(np.float32)
    different = np.flatnonzero((found != rounded) & ~(np.isnan(found) & np.isnan(rounded)))
    right = found.size - different.size
    if different.size == 0:
        return Found(right=right)
    found, exact, rounded = (each[different] for each in (found, exact, rounded))
    distance = np.abs(np.clip(found.astype(np.float64), -BEYOND, BEYOND) - np.clip(exact, -BEYOND, BEYOND))
    distance = np.nan_to_num(distance, nan=np.inf, posinf=np.inf)
    small = np.abs(exact) < SMALLEST
    spacing = np.spacing(np.minimum(np.abs(rounded), np.finfo(np.float32).max)).astype(np.float64)
    units = np.nan_to_num(np.where(small, 0, distance / spacing), nan=np.inf, posinf=np.inf)
    worst = int(np.argmax(units))
    tiny = float(np.max(distance, where=small, initial=0))
    return Found(float(units[worst]), float(x[different[worst]]), tiny, right)


def part(number: int, which: int, parts: int) -> Found:
    """Every ``parts``-th chunk of all floats."""
    os.environ["FLAMBEAU_TIER"] = "native"
    sys.path.insert(0, str(ROOT))
    import flambeau

    function, total = FUNCTIONS[number], Found()
    with np.errstate(all="ignore"):
        for first in range(which * CHUNK, PATTERNS, parts * CHUNK):
            x = np.arange(first, first + CHUNK, dtype=np.uint64).astype(np.uint32).view(np.float32)
            found = function.own(flambeau, flambeau.from_numpy(x)).numpy()
            total = total.joined(compare(found, function.exact(x.astype(np.float64)), x))
    return total


def check(numbers: Iterable[int], processes: int) -> dict[str, Found]:
    """All floats in each function."""
    results = {}
    with ProcessPoolExecutor(processes) as pool:
        for number in numbers:
            found = Found()
            for one in pool.map(part, *zip(*[(number, i, processes) for i in range(processes)])):
                found = found.joined(one)
            results[FUNCTIONS[number].name] = found
            print(line(FUNCTIONS[number].name, found), flush=True)
    return results


def line(name: str, found: Found) -> str:
    """A row of the table."""
    tiny = f"{found.tiny / 2.0 ** -126:.2g}" if found.tiny else "0"
    return f"| {name} | {found.units:.3f} | {found.at!r} | {found.right / PATTERNS:.1%} | {tiny} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression of the functions' names")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--markdown", help="also write the table here")
    options = parser.parse_args()
    numbers = [i for i, function in enumerate(FUNCTIONS) if re.search(options.only, function.name)]
    results = check(numbers, options.processes)
    failed = [f.name for f in FUNCTIONS if f.name in results and results[f.name].units > f.allowed]
    if options.markdown:
        rows = [line(name, found) for name, found in results.items()]
        Path(options.markdown).write_text("\n".join([*HEAD, *rows]) + "\n")
    if failed:
        sys.exit("beyond what is allowed: " + ", ".join(failed))


HEAD = ["| function | largest error, units | at | correctly rounded | of tiny results, 2^-126 |",
        "|---|--:|--:|--:|--:|"]

if __name__ == "__main__":
    main()
