"""Object code on disk, shared by processes.

Note: the disk cache. An entry is found by what its code depends on: the text it was made from, the CPU's name
and features, LLVM's version, what is done to the text. It is written to a temporary file and renamed, so that
a reader sees a whole entry or none; a checksum tells a damaged one, which counts as absent. What cannot be
written (a full disk, a read-only folder) is not written. The temporary file of a process that was killed is
deleted by a later one. ``FLAMBEAU_CACHE_DIR`` is the folder (default ``~/.cache/flambeau/kernels``),
``FLAMBEAU_CACHE_MB`` its size (default 256; 0: no cache).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_MAGIC = b"flambeau-object-1\n"
_DIGEST = 32
_SWEEP_EVERY = 64   # writes between two looks at the folder's size, which is looked at at the end as well
_REST = 600.0       # seconds between two looks, of all processes: it takes a while in a large folder
_STALE = 3600.0     # seconds after which nobody writes a temporary file any more


def _limit() -> int:
    with contextlib.suppress(ValueError):
        return int(os.environ.get("FLAMBEAU_CACHE_MB", "256")) << 20
    return 256 << 20


def folder() -> Path | None:
    """Where entries lie; None without a cache."""
    if _limit() <= 0:
        return None
    told = os.environ.get
    return _folder(told("FLAMBEAU_CACHE_DIR"), told("XDG_CACHE_HOME"), told("HOME"))


@functools.lru_cache(8)
def _folder(chosen: str | None, cache: str | None, home: str | None) -> Path | None:
    """Where these variables say: a first step asks for every kernel."""
    if chosen:
        return Path(chosen)
    try:
        base = cache or Path.home() / ".cache"
    except RuntimeError:  # nobody's home
        return None
    return Path(base) / "flambeau" / "kernels"


def key_of(*parts: str) -> str:
    """The name of an entry that depends on all parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part.encode())
    return digest.hexdigest()


def load(key: str) -> bytes | None:
    """The object of an entry; None if there is none, or none that is whole."""
    base = folder()
    if base is None:
        return None
    try:
        content = _content(f"{base}/{key[:2]}/{key}")
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST
    payload = content[start:]
    if not content.startswith(_MAGIC) or hashlib.sha256(payload).digest() != content[len(_MAGIC):start]:
        return None
    return payload


def _content(path: str) -> bytes:
    """A file's bytes, read at once: Python's file objects take longer than so short a file."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)    # if less, it counts as damaged
    finally:
        os.close(descriptor)


_writes = 0


def store(key: str, payload: bytes) -> None:
    """Write an entry, if that is possible."""
    global _writes
    base = folder()
    if base is None:
        return
    target = base / key[:2] / key
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError:
        return
    if not _writes:
        atexit.register(_tidy)
    _writes += 1
    if _writes % _SWEEP_EVERY == 0:
        _tidy()


def _tidy() -> None:
    """Sweep, if nobody has for a while."""
    base = folder()
    if base is None:
        return
    mark = base / ".swept"
    try:
        if time.time() - mark.stat().st_mtime < _REST:
            return
    except FileNotFoundError:
        pass
    except OSError:
        return
    with contextlib.suppress(OSError):
        mark.touch()
        sweep()


def sweep() -> None:
    """Delete remains of killed processes, and the oldest entries beyond the limit."""
    base = folder()
    if base is None:
        return
    found: list[tuple[float, int, str]] = []
    old = time.time() - _STALE
    for entry in _entries(base):
        with contextlib.suppress(OSError):
            status = entry.stat()
            if entry.name.startswith(".") and status.st_mtime < old:
                os.unlink(entry.path)
                continue
            found.append((status.st_mtime, status.st_size, entry.path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= _limit():
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
            total -= size


def _entries(base: Path) -> Iterator[os.DirEntry[str]]:
    """What lies in the folders of the folder."""
    with contextlib.suppress(OSError):
        for inner in list(os.scandir(base)):
            if inner.is_dir():
                with contextlib.suppress(OSError):
                    yield from list(os.scandir(inner.path))
