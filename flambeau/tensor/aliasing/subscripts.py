"""Which view a key of integers, slices, None and Ellipsis stands for, where it comes again.

Nothing is remembered here in Python: native code that records knows keys again (Note: native recording).
"""

from __future__ import annotations

from typing import Any

from ...graph.geometry import TABLE, Geometry
from ...graph.operator import Operator
from ...graph.recent import Recent
from ..recording.record import aliasing
from ..tensor import Tensor

Steps = tuple[tuple[Operator, tuple[Any, ...]], ...]
Known = tuple[Geometry, Steps]      # and the view operators that make it, with their attributes
known: Recent[Any, Known] = Recent(1 << 12)     # by geometries and what keys have
_MOST_TURNS = 4     # a program that has forgotten as many generations has too many keys to remember
# The operators of which views are made: at a position, of a stretch, with a new dimension, of all.
makers: list[Operator] = []


def known_view(x: Tensor, items: tuple[Any, ...]) -> Tensor | None:
    """The view for a key that came before. None: nothing was done; so it is always without native code."""
    return None


def find_out(key: tuple[Any, ...], g: Geometry, items: tuple[Any, ...]) -> Known | None:
    """The view that a key stands for, and remember it; None where it is wrong, or unlikely to come again.

    Its items are integers, slices of such, None and Ellipsis.
    """
    if known.turns >= _MOST_TURNS:
        return None
    found = known.recall(key)
    if found is None and (steps := _steps(g, items)) is not None:
        for operator, attributes in steps:
            made = operator.infer((g,), attributes)
            assert isinstance(made, Geometry)
            g = made
        found = known.keep(key, (g, steps))
    return found


def _steps(g: Geometry, items: tuple[Any, ...]) -> Steps | None:
    select, cut, unsqueeze, alias = makers
    steps: list[tuple[Operator, tuple[Any, ...]]] = []
    left = g.ndim - len(items) + items.count(None) + items.count(Ellipsis)
    if left < 0:
        return None
    place = dim = 0     # of what it is given, and of what it gives
    for item in items:
        if item is None:
            steps.append((unsqueeze, (dim,)))
            dim += 1
        elif item is Ellipsis:
            place += left
            dim += left
        elif place >= g.ndim:
            return None
        elif item.__class__ is int:
            n = g.shape[place]
            if not -n <= item < n or (place == 0 and n > TABLE):
                return None
            steps.append((select, (dim, item)))
            place += 1
        else:
            start, stop, step = item.start, item.stop, item.step
            if step is not None and step <= 0:
                return None
            if not (step in (None, 1) and start in (None, 0) and (stop is None or stop >= g.shape[place])):
                steps.append((cut, (dim, start, stop, 1 if step is None else step)))
            place += 1
            dim += 1
    return tuple(steps) or ((alias, ()),)


aliasing.update(known_view=known_view, known=known, find_out=find_out)
