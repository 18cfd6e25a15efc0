"""Sites: which line of the user's program recorded a node."""

from __future__ import annotations

import linecache
from types import CodeType

Site = tuple[CodeType, int]     # code object, instruction offset


def location(site: Site | None) -> tuple[str, int]:
    """File and line of a site."""
    if site is None:
        return "<unknown>", 0
    code, offset = site
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= offset < end and number is not None:
            line = number
    return code.co_filename, line


def describe(site: Site | None) -> str:
    """``file:line: source`` of a site."""
    name, line = location(site)
    source = linecache.getline(name, line).strip()
    return f"{name}:{line}" + (f": {source}" if source else "")
