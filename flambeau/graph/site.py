"""Sites: which line of the user's program recorded a node."""

from __future__ import annotations

import linecache
from types import CodeType, FrameType

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


_LIBRARY = __file__.rsplit("/", 2)[0]
is_library_file: dict[str, bool] = {}   # of the files that recorded or looked so far


def user_frame(frame: FrameType) -> Site:
    """Code and instruction offset of the nearest caller outside the package, at or above ``frame``."""
    while True:
        code = frame.f_code
        name = code.co_filename
        inside = is_library_file.get(name)
        if inside is None:
            inside = is_library_file[name] = name.startswith(_LIBRARY)
        caller = frame.f_back
        if not inside or caller is None:
            return code, frame.f_lasti
        frame = caller
