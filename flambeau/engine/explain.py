"""The record of looks: what was computed when, and why."""

from __future__ import annotations

import linecache
from collections import deque
from types import CodeType
from typing import NamedTuple


class Look(NamedTuple):
    """One run of what was pending."""

    cause: str
    site: tuple[CodeType, int] | None
    recorded: int
    computed: int
    seconds: float
    tier: str


looks: deque[Look] = deque(maxlen=256)


def location(site: tuple[CodeType, int] | None) -> tuple[str, int]:
    """File and line of a site."""
    if site is None:
        return "<unknown>", 0
    code, offset = site
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= offset < end and number is not None:
            line = number
    return code.co_filename, line


def describe(site: tuple[CodeType, int] | None) -> str:
    """``file:line: source`` of a site."""
    name, line = location(site)
    source = linecache.getline(name, line).strip()
    return f"{name}:{line}" + (f": {source}" if source else "")


def explain(last: int = 20) -> str:
    """A table of the last looks: source line, cause, nodes recorded and computed, time, tier.

    >>> import flambeau as torch
    >>> torch.ones(2).sum().item()
    2.0
    >>> "item" in torch.explain(last=1)
    True
    """
    lines = [f"{'cause':14s} {'recorded':>8s} {'computed':>8s} {'ms':>9s} {'tier':12s} line"]
    for look in list(looks)[-last:]:
        lines.append(f"{look.cause:14s} {look.recorded:8d} {look.computed:8d} {look.seconds * 1e3:9.3f} "
                     f"{look.tier:12s} {describe(look.site)}")
    return "\n".join(lines)
