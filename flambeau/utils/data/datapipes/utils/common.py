"""What pipes share: checks of functions and columns, files of a folder, streams that close themselves."""

from __future__ import annotations

import fnmatch
import functools
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from io import IOBase
from typing import Any

__all__ = [
    "StreamWrapper", "get_file_binaries_from_pathnames", "get_file_pathnames_from_root", "match_masks",
    "validate_input_col", "validate_pathname_binary_tuple",
]  # fmt: skip


def validate_input_col(fn: Callable[..., Any], input_col: int | tuple[Any, ...] | list[Any] | None) -> None:
    """Raise if a function cannot take as many arguments as columns are given.

    >>> validate_input_col(lambda a, b: a + b, [0, 1])
    """
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:  # of some built-in functions nothing is known
        return
    name = fn.func.__name__ if isinstance(fn, functools.partial) else getattr(fn, "__name__", str(fn))
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if named:
        raise ValueError(
            f"The function {name} takes {len(named)} non-default keyword-only parameters, which is not "
            "allowed."
        )
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = sum(p.default is p.empty for p in places)
    given = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    if needed > given:
        raise ValueError(
            f"The function {name} takes {needed} positional parameters, but {given} are required."
        )
    if len(places) < given and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise ValueError(f"The function {name} takes {len(places)} parameters, but {given} are required.")


def check_unpicklable(fn: Any) -> None:
    """Raise for what cannot be called; warn of functions that cannot be sent to a worker process."""
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    fn = fn.func if isinstance(fn, functools.partial) else fn
    if not inspect.isfunction(fn):
        return
    kind = "Local" if "<locals>" in fn.__qualname__ else "Lambda" if fn.__name__ == "<lambda>" else None
    if kind:
        warnings.warn(
            f"{kind} function is not supported by pickle, please use regular python function or "
            "functools.partial instead.",
            stacklevel=3,
        )


_check_unpickable_fn = check_unpicklable


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a name matches a pattern, or one of several; no pattern matches all."""
    patterns = [masks] if isinstance(masks, str) else masks
    return not masks or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def get_file_pathnames_from_root(
    root: str,
    masks: str | list[str],
    recursive: bool = False,
    abspath: bool = False,
    non_deterministic: bool = False,
) -> Iterator[str]:
    """The files of a folder, in order of their names."""

    def give_up(error: OSError) -> None:
        warnings.warn(f"{error.filename} : {error.strerror}", stacklevel=3)
        raise error

    if os.path.isfile(root):
        path = os.path.abspath(root) if abspath else root
        if match_masks(os.path.basename(path), masks):
            yield path
        return
    for folder, folders, files in os.walk(root, onerror=give_up):
        where = os.path.abspath(folder) if abspath else folder
        if not non_deterministic:
            files.sort()
        for name in files:
            if match_masks(name, masks):
                yield os.path.join(where, name)
        if not recursive:
            return
        if not non_deterministic:
            folders.sort()


def get_file_binaries_from_pathnames(
    pathnames: Iterable[str], mode: str, encoding: str | None = None
) -> Iterator[tuple[str, StreamWrapper]]:
    """Pairs of a path and the opened file."""
    names: Any = pathnames if isinstance(pathnames, Iterable) else [pathnames]
    if mode in ("b", "t"):
        mode = "r" + mode
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"Expected string type for pathname, but got {type(name)}")
        yield name, StreamWrapper(open(name, mode, encoding=encoding))


def validate_pathname_binary_tuple(data: tuple[str, IOBase]) -> None:
    """Raise unless this is a pair of a path and an opened file."""
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    if not isinstance(data[0], str):
        raise TypeError(
            f"pathname within the tuple should have string type pathname, but it is type {type(data[0])}"
        )
    if not isinstance(data[1], (IOBase, StreamWrapper)):
        raise TypeError(
            "binary stream within the tuple should have IOBase orits subclasses as type, but it is type "
            f"{type(data[1])}"
        )


class StreamWrapper:
    """A file object that closes itself when nobody uses it, nor one of the files within it.

    >>> import io
    >>> stream = StreamWrapper(io.StringIO("two\\nlines"), name="text")
    >>> list(stream)
    ['two\\n', 'lines']
    """

    session_streams: dict[Any, int] = {}
    debug_unclosed_streams = False

    def __init__(
        self, file_obj: Any, parent_stream: StreamWrapper | None = None, name: str | None = None
    ) -> None:
        self.file_obj = file_obj
        self.child_counter = 0
        self.parent_stream = parent_stream
        self.close_on_last_child = False
        self.name = name
        self.closed = False
        if parent_stream is not None:
            if not isinstance(parent_stream, StreamWrapper):
                self.parent_stream = None
                raise RuntimeError(f"Parent stream should be StreamWrapper, {type(parent_stream)} was given")
            parent_stream.child_counter += 1
        if StreamWrapper.debug_unclosed_streams:
            StreamWrapper.session_streams[self] = 1

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Close the streams in lists, tuples and dictionaries, down to ten levels."""
        if depth > 10:
            return
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, dict):
            for item in v.values():
                cls.close_streams(item, depth + 1)
        elif isinstance(v, (list, tuple)):
            for item in v:
                cls.close_streams(item, depth + 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Close the file, and what it is a part of when that waited for it."""
        if self.closed:
            return
        if StreamWrapper.debug_unclosed_streams:
            StreamWrapper.session_streams.pop(self, None)
        parent = self.parent_stream
        if parent is not None:
            parent.child_counter -= 1
            if not parent.child_counter and parent.close_on_last_child:
                parent.close()
        try:
            self.file_obj.close(*args, **kwargs)
        except AttributeError:
            pass
        self.closed = True

    def autoclose(self) -> None:
        """Close when the last file within this one is closed: now, if there is none."""
        self.close_on_last_child = True
        if self.child_counter == 0:
            self.close()

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *dir(StreamWrapper), *dir(self.file_obj)})

    def __del__(self) -> None:
        if not self.__dict__.get("closed", True):
            self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        return f"StreamWrapper<{self.file_obj!r}>" if self.name is None else \
            f"StreamWrapper<{self.name},{self.file_obj!r}>"

    def __getstate__(self) -> Any:
        return self.file_obj

    def __setstate__(self, obj: Any) -> None:
        self.__init__(obj)  # type: ignore[misc]
