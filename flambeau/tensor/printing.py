"""Arrays as ``repr`` shows them, in PyTorch's columns, and how users choose the columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class _Options:
    """How numbers are printed. One object, changed by ``set_printoptions``."""

    precision = 4
    threshold: float = 1000
    edgeitems = 3
    linewidth = 80
    sci_mode: bool | None = None


options = _Options()
_PROFILES: dict[str, tuple[int, float, int, int]] = {
    "default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed; ``profile`` is "default", "short" or "full".

    >>> import flambeau as torch
    >>> torch.set_printoptions(precision=2); torch.tensor([1.12345])
    tensor([1.12])
    >>> torch.set_printoptions(profile="default")
    """
    if isinstance(profile, str) and profile in _PROFILES:
        options.precision, options.threshold, options.edgeitems, options.linewidth = _PROFILES[profile]
    options.precision = options.precision if precision is None else precision
    options.threshold = options.threshold if threshold is None else threshold
    options.edgeitems = options.edgeitems if edgeitems is None else edgeitems
    options.linewidth = options.linewidth if linewidth is None else linewidth
    options.sci_mode = sci_mode


class _Numbers:
    """How the numbers of one array are written: plain, integral ("1."), or scientific, all in one width."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.floating = values.dtype.kind == "f"
        self.integral = True
        self.scientific = False
        self.width = 1
        if not self.floating:
            self.width = max((len(str(v)) for v in values.tolist()), default=1)
            return
        with np.errstate(all="ignore"):
            shown = values[np.isfinite(values) & (values != 0)]
        if shown.size == 0:
            return
        size = np.abs(shown.astype(np.float64))
        high, low = size.max(), size.min()
        self.integral = bool((shown == np.ceil(shown)).all())
        wide = high / low > 1000.0 or high > 1.0e8
        self.scientific = bool(wide if self.integral else wide or low < 1.0e-4)
        if options.sci_mode is not None:
            self.scientific = options.sci_mode
        self.width = max(1, max(len(self._plain(v)) for v in shown.tolist()))

    def _plain(self, value: Any) -> str:
        if not self.floating:
            return str(value)
        if not math.isfinite(value):
            return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        if self.scientific:
            return f"{value:.{options.precision}e}"
        return f"{value:.0f}." if self.integral else f"{value:.{options.precision}f}"

    def format(self, value: Any) -> str:
        """A number in the common width."""
        return self._plain(value).rjust(self.width)


class _ComplexNumbers:
    """Complex numbers, the two parts in widths of their own."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.real = _Numbers(values.real)
        self.imaginary = _Numbers(values.imag)
        self.width = self.real.width + self.imaginary.width + 1

    def format(self, value: complex) -> str:
        """Such as ``1.0000+2.0000j``."""
        imaginary = self.imaginary.format(value.imag).lstrip()
        sign = "" if imaginary[0] in "+-" else "+"
        return self.real.format(value.real) + sign + imaginary + "j"


def _summarized(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The edges of an array in each dimension: what is shown of a large one."""
    edge = options.edgeitems
    for d in range(array.ndim):
        if array.shape[d] > 2 * edge:
            array = np.concatenate([array.take(range(edge), d), array.take(range(-edge, 0), d)], d)
    return array


def _vector(array: np.ndarray[Any, Any], indent: int, summarize: bool, numbers: Any) -> str:
    per_line = max(1, (options.linewidth - indent) // (numbers.width + 2))
    edge = options.edgeitems
    if summarize and not edge:
        return "[...]"
    if summarize and array.shape[0] > 2 * edge:
        cells = [numbers.format(v) for v in array[:edge].tolist()] + [" ..."] \
            + [numbers.format(v) for v in array[-edge:].tolist()]
    else:
        cells = [numbers.format(v) for v in array.tolist()]
    lines = [", ".join(cells[i:i + per_line]) for i in range(0, len(cells), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(array: np.ndarray[Any, Any], indent: int, summarize: bool, numbers: Any) -> str:
    if array.ndim == 0:
        return (
            numbers.format(array.item())
            if not isinstance(numbers, _ComplexNumbers)
            else numbers.format(complex(array))
        )
    if array.ndim == 1:
        return _vector(array, indent, summarize, numbers)
    edge = options.edgeitems
    if summarize and array.shape[0] > 2 * edge:
        parts = [_nested(array[i], indent + 1, summarize, numbers) for i in range(edge)] + ["..."] \
            + [_nested(array[i], indent + 1, summarize, numbers) for i in range(-edge, 0)]
    else:
        parts = [_nested(part, indent + 1, summarize, numbers) for part in array]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def format_array(array: np.ndarray[Any, Any], indent: int) -> str:
    """The numbers of an array as nested lists, continuation lines indented."""
    if array.dtype.kind not in "biufc":
        array = array.astype(np.float32)
    summarize = array.size > options.threshold
    shown = _summarized(array) if summarize else array
    numbers: Any = (
        _ComplexNumbers(shown.reshape(-1)) if array.dtype.kind == "c" else _Numbers(shown.reshape(-1))
    )
    return _nested(array, indent, summarize, numbers)


def with_suffixes(text: str, suffixes: list[str], indent: int, break_first: bool = False) -> str:
    """``text, suffix, ...)``, broken into lines where they get too long, or before the first suffix."""
    pieces = [text]
    last = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > options.linewidth or break_first:
            break_first = False
            pieces.append(",\n" + " " * indent + suffix)
            last = indent + len(suffix)
        else:
            pieces.append(", " + suffix)
            last += len(suffix) + 2
    return "".join(pieces) + ")"
