"""``torch.futures``: a result that comes later, from another thread or a callback."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A result that is set once, and that others wait for or react to.

    >>> import flambeau as torch
    >>> from flambeau.futures import Future
    >>> first = Future()
    >>> second = first.then(lambda f: f.value() + 1)
    >>> first.set_result(1); second.wait()
    2
    """

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        self._changed = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], None]] = []

    def done(self) -> bool:
        """Whether there is a result or an exception.

        >>> import flambeau as torch
        >>> future = torch.futures.Future(); future.done()
        False
        >>> future.set_result(1); future.done()
        True
        """
        return self._done

    def wait(self) -> T:
        """Block until there is a result; it, or its exception raised.

        >>> import flambeau as torch
        >>> future = torch.futures.Future()
        >>> future.set_result(3)
        >>> future.wait()
        3
        """
        with self._changed:
            self._changed.wait_for(lambda: self._done)
        return self._outcome()

    def value(self) -> T:
        """The result that is there already; it, or its exception raised.

        >>> import flambeau as torch
        >>> future = torch.futures.Future()
        >>> future.set_result("done")
        >>> future.value()
        'done'
        """
        if not self._done:
            raise RuntimeError("Cannot retrieve value of an incomplete Future: wait() for it first")
        return self._outcome()

    def _outcome(self) -> T:
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """The future of ``callback(self)``, which is called once this one is done.

        >>> import flambeau as torch
        >>> future = torch.futures.Future()
        >>> doubled = future.then(lambda f: 2 * f.value())
        >>> future.set_result(21); doubled.wait()
        42
        """
        following: Future[S] = Future()

        def run(done: Future[T]) -> None:
            try:
                result = callback(done)
            except BaseException as error:
                following._finish(None, error)
            else:
                following._finish(result, None)
        self.add_done_callback(run)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call ``callback(self)`` once this one is done: now, if it is.

        >>> import flambeau as torch
        >>> future = torch.futures.Future()
        >>> future.add_done_callback(lambda f: print("got", f.value()))
        >>> future.set_result(5)
        got 5
        """
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def set_result(self, result: T) -> None:
        """Give the result; once only.

        >>> import flambeau as torch
        >>> future = torch.futures.Future()
        >>> future.set_result(1)
        >>> future.wait()
        1
        """
        self._finish(result, None)

    def set_exception(self, result: Any) -> None:
        """Give an exception that ``wait`` and ``value`` raise.

        >>> import flambeau as torch
        >>> future = torch.futures.Future()
        >>> future.set_exception(ValueError("no luck"))
        >>> future.wait()
        Traceback (most recent call last):
            ...
        ValueError: no luck
        """
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError("Future can only be marked completed once: it has a result already")
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future that is done, with the list as its result, once all of the list are.

    >>> import flambeau as torch
    >>> futures = [torch.futures.Future() for _ in range(2)]
    >>> both = torch.futures.collect_all(futures)
    >>> for i, future in enumerate(futures):
    ...     future.set_result(i)
    >>> [future.value() for future in both.wait()]
    [0, 1]
    """
    collected: Future[list[Future[Any]]] = Future()
    left = [len(futures)]
    lock = threading.Lock()

    def count(_: Any) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            collected.set_result(futures)
    for future in list(futures):
        future.add_done_callback(count)
    if not futures:
        collected.set_result(futures)
    return collected


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all, waiting for each; the first exception is raised.

    >>> from flambeau.futures import Future, wait_all
    >>> ready = Future(); ready.set_result(3)
    >>> wait_all([ready])
    [3]
    """
    return [future.wait() for future in collect_all(futures).wait()]


__all__ = ["Future", "collect_all", "wait_all"]
