"""The keys and values of a store, in the process that keeps them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from .errors import DistStoreError, QueueEmptyError

T = TypeVar("T")
# The names of a table's operations that wait for keys; their last argument is the time in seconds.
WAITING = frozenset({"get", "wait", "multi_get", "queue_pop"})


class Table:
    """The keys and values of a store, for several threads; what waits is woken by every change."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._queues: dict[str, deque[bytes]] = {}
        self._changed = threading.Condition()

    def _until(self, there: Callable[[], bool], seconds: float, given: Callable[[], T]) -> T:
        with self._changed:
            if not self._changed.wait_for(there, seconds):
                raise DistStoreError("Wait timeout")
            return given()

    def _changing(self, change: Callable[[], T]) -> T:
        with self._changed:
            result = change()
            self._changed.notify_all()
            return result

    def set(self, key: str, value: bytes) -> None:
        """Keep a value."""
        self._changing(lambda: self._values.__setitem__(key, value))

    def get(self, key: str, seconds: float) -> bytes:
        """A value, as soon as it is there."""
        return self._until(lambda: key in self._values, seconds, lambda: self._values[key])

    def add(self, key: str, amount: int) -> int:
        """Count on, from zero if the key is new; the sum."""
        def change() -> int:
            total = number_of(self._values.get(key, b"0")) + amount
            self._values[key] = str(total).encode()
            return total
        return self._changing(change)

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        """Replace a value that is as expected (none: nothing expected); what is there then."""
        def change() -> bytes:
            if self._values.get(key, b"") == expected:
                self._values[key] = desired
            return self._values.get(key, expected)
        return self._changing(change)

    def append(self, key: str, value: bytes) -> None:
        """Put more at the end of a value."""
        self._changing(lambda: self._values.__setitem__(key, self._values.get(key, b"") + value))

    def multi_get(self, keys: Sequence[str], seconds: float) -> list[bytes]:
        """Several values, as soon as all are there."""
        return self._until(lambda: self.check(keys), seconds, lambda: [self._values[key] for key in keys])

    def multi_set(self, keys: Sequence[str], values: Sequence[bytes]) -> None:
        """Keep several values."""
        self._changing(lambda: self._values.update(zip(keys, values)))

    def wait(self, keys: Sequence[str], seconds: float) -> None:
        """Wait until all keys are there."""
        self._until(lambda: self.check(keys), seconds, lambda: None)

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are there."""
        return all(key in self._values for key in keys)

    def delete_key(self, key: str) -> bool:
        """Forget a value; whether it was there."""
        return self._changing(lambda: self._values.pop(key, None) is not None)

    def num_keys(self) -> int:
        """How many values are kept."""
        return len(self._values)

    def list_keys(self) -> list[str]:
        """The keys."""
        return list(self._values)

    def queue_push(self, key: str, value: bytes) -> None:
        """Put a value at the end of a queue."""
        self._changing(lambda: self._queues.setdefault(key, deque()).append(value))

    def queue_pop(self, key: str, seconds: float) -> bytes:
        """Take the first value of a queue, as soon as there is one (at once, if there is no time)."""
        if seconds == 0 and not self._queues.get(key):
            raise QueueEmptyError("queue is empty")
        return self._until(lambda: bool(self._queues.get(key)), seconds, lambda: self._queues[key].popleft())

    def queue_len(self, key: str) -> int:
        """How many values are in a queue."""
        return len(self._queues.get(key, ()))


def number_of(value: bytes) -> int:
    """The number that ``add`` counts on from."""
    try:
        return int(value)
    except ValueError:
        raise ValueError("stoll") from None
