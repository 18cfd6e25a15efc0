"""``torch.__version__``: a string that compares as a version, with strings and with tuples of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .version import __version__ as _text

_FORM = re.compile(r"v?(\d+(?:\.\d+)*)(?:[-_.]?(a|b|c|rc|alpha|beta|pre)[-_.]?(\d*))?"
                   r"(?:[-_.]?post[-_.]?(\d*))?(?:[-_.]?dev[-_.]?(\d*))?(?:\+([a-z0-9.\-_]+))?$",
                   re.IGNORECASE)
_LAST = 1 << 30


def _key(version: str) -> tuple[Any, ...]:
    """What orders versions: the numbers, then dev < alpha < beta < candidate < release < post."""
    found = _FORM.match(version.strip())
    if found is None:
        raise ValueError(f"Invalid version: '{version}'")
    release, stage, number, post, dev, local = found.groups()
    numbers = [int(part) for part in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    before: tuple[Any, ...] = (_LAST,) if stage is None else (stage[0].lower().replace("p", "r").replace(
        "c", "r") > "a", stage[0].lower() not in "ab", int(number or 0))
    if stage is None and post is None and dev is not None:
        before = (-1,)
    later = -1 if post is None else int(post or 0)
    development = _LAST if dev is None else int(dev or 0)
    parts = [] if local is None else re.split(r"[.\-_]", local.lower())
    return numbers, before, later, development, [(1, int(p)) if p.isdigit() else (0, p) for p in parts]


class TorchVersion(str):
    """A version as a string.

    >>> from flambeau.torch_version import TorchVersion
    >>> version = TorchVersion("2.13.0+cpu")
    >>> version >= (2, 1), version > "2.9", version < "2.13.0", version == "2.13.0+cpu"
    (True, True, False, True)
    """

    __slots__ = ()

    def _compared(self, other: Any) -> tuple[Any, Any] | None:
        if isinstance(other, str):
            text = str(other)
        elif isinstance(other, Iterable):
            text = ".".join(map(str, other))
        else:
            text = str(other)       # another package's version
        try:
            return _key(str(self)), _key(text)
        except ValueError:
            return None

    def __eq__(self, other: object) -> bool:
        keys = self._compared(other)
        return str.__eq__(self, str(other)) if keys is None else bool(keys[0] == keys[1])

    def __lt__(self, other: Any) -> bool:
        keys = self._compared(other)
        return str.__lt__(self, str(other)) if keys is None else bool(keys[0] < keys[1])

    def __le__(self, other: Any) -> bool:
        return self < other or self == other

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __hash__(self) -> int:
        return str.__hash__(self)


__version__ = TorchVersion(_text)
__all__ = ["TorchVersion"]
