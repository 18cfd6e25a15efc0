"""How streams are iterated: one iterator at a time, with errors that name the pipe.

Note: one iterator. A pipe has state (an open file, a buffer) that two iterators would share. So each new
iterator gets a number, the pipe remembers the newest, and an older iterator that is asked for more raises.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Iterator
from enum import Enum
from typing import Any

_FEEDBACK = (
    "\nFor feedback regarding this single iterator per IterDataPipe constraint, feel free to comment on this "
    "issue: https://github.com/pytorch/data/issues/45."
)
_THROWN = "thrown by __iter__ of"


class SnapshotState(Enum):
    """How far a pipe has come since it was made or unpickled."""

    NotStarted = 0
    Restored = 1
    Iterating = 2


SnapshotState.__name__ = "_SnapshotState"


def described(pipe: Any, own: str | None = None) -> str:
    """A pipe with those of its constructor's arguments that it keeps under their names."""
    parameters = inspect.signature(type(pipe).__init__).parameters
    kept = sorted((key, value) for key, value in vars(pipe).items() if key in parameters and key != "self")
    return f"{own or type(pipe).__name__}({', '.join(f'{key}={_simple(value)}' for key, value in kept)})"


def _simple(value: Any) -> str:
    return str(value.__name__) if callable(value) and hasattr(value, "__name__") else repr(value)


def _begin(pipe: Any) -> int:
    """A new iterator of a pipe: its number."""
    if hasattr(pipe, "_is_child_datapipe"):  # it counts with its siblings
        pipe._set_main_datapipe_valid_iterator_id()
        return int(pipe._valid_iterator_id)
    number: int = 0 if pipe._valid_iterator_id is None else pipe._valid_iterator_id + 1
    pipe._valid_iterator_id = number
    pipe.reset()
    return number


def _check(pipe: Any, number: int) -> None:
    if hasattr(pipe, "_is_child_datapipe"):
        if not pipe._check_valid_iterator_id(number):
            raise RuntimeError(
                "This iterator has been invalidated, because a new iterator has been created from one of the "
                f"ChildDataPipes of {described(pipe.main_datapipe)}.{_FEEDBACK}"
            )
    elif pipe._valid_iterator_id != number:
        raise RuntimeError(
            "This iterator has been invalidated because another iterator has been created from the same "
            f"IterDataPipe: {described(pipe)}\nThis may be caused by multiple references to the same "
            f"IterDataPipe. We recommend using `.fork()` if that is necessary.{_FEEDBACK}"
        )


def _started(pipe: Any) -> int:
    number = _begin(pipe)
    pipe._number_of_samples_yielded = 0
    pipe._snapshot_state = SnapshotState.Iterating
    return number


class CheckedIterator:
    """An iterator that is not a generator, with the same checks."""

    def __init__(self, iterator: Any, pipe: Any, number: int) -> None:
        self.iterator = iterator
        self._pipe = pipe
        self._number = number

    def __iter__(self) -> CheckedIterator:
        return self

    def __next__(self) -> Any:
        _check(self._pipe, self._number)
        found = next(self.iterator)
        self._pipe._number_of_samples_yielded += 1
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["iterator"], name)


CheckedIterator.__name__ = "IteratorDecorator"


def _generated(pipe: Any, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    number = _started(pipe)
    try:
        answer = generator.send(None)
        while True:
            pipe._number_of_samples_yielded += 1
            request = yield answer
            _check(pipe, number)
            answer = generator.send(request)
    except StopIteration:
        return
    except Exception as error:
        _name_pipe(error, pipe)
        raise
    finally:
        generator.close()


def _name_pipe(error: Exception, pipe: Any) -> None:
    """Add to an error's text where it comes from, if nobody has."""
    first = error.args[0] if error.args and isinstance(error.args[0], str) else ""
    if _THROWN not in first and "iterator has been invalidated" not in first:
        error.args = (f"{first}\nThis exception is {_THROWN} {described(pipe)}", *error.args[1:])


def checked(method: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """An ``__iter__`` that hands out iterators under the rules above."""
    if inspect.isgeneratorfunction(method):

        @functools.wraps(method)
        def generate(self: Any) -> Iterator[Any]:
            return _generated(self, method(self))

        return generate

    @functools.wraps(method)
    def iterate(self: Any) -> Iterator[Any]:
        number = _started(self)
        found = method(self)
        return CheckedIterator(found, self, number)

    return iterate
