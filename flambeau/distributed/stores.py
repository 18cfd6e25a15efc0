"""Stores: tables of keys and values that processes share, and the one of a process's threads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from .table import WAITING, Table


def as_bytes(value: Any) -> bytes:
    """A key or value as it is kept."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise TypeError(f"incompatible function arguments: keys and values of stores are str or bytes, not "
                    f"{type(value).__name__}")


class Store:
    """A table of keys and values that processes share; subclasses say where it lies.

    Values are bytes (a str is encoded). ``get`` and ``wait`` wait for keys, up to ``timeout``. The subclasses
    here have ``_do``; one of a user's has the methods themselves, by which a ``PrefixStore`` of it goes, too.

    >>> import flambeau as torch
    >>> class Table(torch.distributed.Store):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.values = {}
    ...     def set(self, key, value):
    ...         self.values[key] = value
    >>> table = Table()
    >>> torch.distributed.PrefixStore("worker", table).set("state", "ready")
    >>> table.values
    {'worker/state': b'ready'}
    """

    _time = timedelta(seconds=300)

    def _do(self, name: str, *args: Any) -> Any:
        """Carry out an operation: here by the method of a subclass that has it."""
        method = getattr(type(self), name)
        if method is not getattr(Store, name):
            return method(self, *self._public(name, args))
        if name == "multi_get":
            return [self.get(key) for key in args[0]]
        if name == "multi_set":
            for key, value in zip(*args):
                self.set(key, value)
            return None
        raise _missing(name)

    def _public(self, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of a method, in which only waiting takes a time, and that not always."""
        if name == "queue_pop":
            return args[0], args[1] > 0
        if name == "wait" and args[1] != self._seconds():
            return args[0], timedelta(seconds=args[1])
        return args[:1] if name in WAITING else args

    def _seconds(self, time_given: timedelta | None = None) -> float:
        return (self._time if time_given is None else time_given).total_seconds()

    @property
    def timeout(self) -> timedelta:
        """How long to wait for keys."""
        return self._time

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long to wait for keys."""
        self._time = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Keep a value.

        >>> import flambeau as torch
        >>> store = torch.distributed.HashStore()
        >>> store.set("a", "1")
        >>> store.get("a")
        b'1'
        """
        self._do("set", key, as_bytes(value))

    def get(self, key: str) -> bytes:
        """A value, as soon as it is there."""
        found: bytes = self._do("get", key, self._seconds())
        return found

    def add(self, key: str, amount: int) -> int:
        """Count on, from zero if the key is new; the sum.

        >>> import flambeau as torch
        >>> store = torch.distributed.HashStore()
        >>> store.add("count", 2), store.add("count", 3)
        (2, 5)
        """
        return int(self._do("add", key, int(amount)))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Replace a value that is as expected ("" for none); what is there then.

        >>> import flambeau as torch
        >>> store = torch.distributed.HashStore()
        >>> store.set("a", "old")
        >>> store.compare_set("a", "old", "new")
        b'new'
        """
        found: bytes = self._do("compare_set", key, as_bytes(expected_value), as_bytes(desired_value))
        return found

    def append(self, key: str, value: str | bytes) -> None:
        """Put more at the end of a value.

        >>> import flambeau as torch
        >>> store = torch.distributed.HashStore()
        >>> store.append("log", "one ")
        >>> store.append("log", "two")
        >>> store.get("log")
        b'one two'
        """
        self._do("append", key, as_bytes(value))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Several values, as soon as all are there.

        >>> import flambeau as torch
        >>> store = torch.distributed.HashStore()
        >>> store.multi_set(["a", "b"], ["1", "2"])
        >>> store.multi_get(["a", "b"])
        [b'1', b'2']
        """
        return list(self._do("multi_get", list(keys), self._seconds()))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Keep several values."""
        self._do("multi_set", list(keys), [as_bytes(value) for value in values])

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        self._do("wait", list(keys), self._seconds(timeout))

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are there.

        >>> import flambeau as torch
        >>> store = torch.distributed.HashStore()
        >>> store.set("a", "1")
        >>> store.check(["a"]), store.check(["b"])
        (True, False)
        """
        return bool(self._do("check", list(keys)))

    def delete_key(self, key: str) -> bool:
        """Forget a value; whether it was there.

        >>> import flambeau as torch
        >>> store = torch.distributed.HashStore()
        >>> store.set("a", "1")
        >>> store.delete_key("a"), store.delete_key("b")
        (True, False)
        """
        return bool(self._do("delete_key", key))

    def num_keys(self) -> int:
        """How many values are kept.

        >>> import flambeau as torch
        >>> store = torch.distributed.HashStore()
        >>> store.set("a", "1")
        >>> store.num_keys()
        1
        """
        return int(self._do("num_keys"))

    def list_keys(self) -> list[str]:
        """The keys."""
        return list(self._do("list_keys"))

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put a value at the end of a queue."""
        self._do("queue_push", key, as_bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue: wait for one, or raise ``QueueEmptyError``."""
        found: bytes = self._do("queue_pop", key, self._seconds() if block else 0.0)
        return found

    def queue_len(self, key: str) -> int:
        """How many values are in a queue."""
        return int(self._do("queue_len", key))

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until as many have come here with the same key."""
        arrived = self.add(f"{key}/arrived", 1)
        if arrived == world_size:
            self.set(f"{key}/all", b"1")
        self.wait([f"{key}/all"], timeout)

    def has_extended_api(self) -> bool:
        """Whether ``append``, ``multi_get``, ``multi_set`` are single operations."""
        return False

    def clone(self) -> Store:
        """Another handle on the same table."""
        raise _missing("clone")


def _missing(name: str) -> Exception:
    """PyTorch's error for a store without an operation."""
    if name.startswith("queue") or name == "list_keys":
        return NotImplementedError(f"{'listKeys' if name == 'list_keys' else 'queue'} support is not "
                                   "implemented.")
    first, *rest = ({"num_keys": "get_num_keys"}.get(name, name)).split("_")
    return RuntimeError(f'Tried to call pure virtual function "::c10d::Store::{first}'
                        f'{"".join(map(str.capitalize, rest))}"')


class HashStore(Store):
    """A store for the threads of one process.

    >>> import flambeau as torch
    >>> store = torch.distributed.HashStore()
    >>> store.set("epoch", "3")
    >>> store.get("epoch"), store.add("steps", 5)
    (b'3', 5)
    """

    def __init__(self) -> None:
        self._table = Table()

    def _do(self, name: str, *args: Any) -> Any:
        return getattr(self._table, name)(*args)

    def has_extended_api(self) -> bool:
        """Whether several keys are set at once: they are."""
        return True

    def clone(self) -> HashStore:
        """Another handle on the same table."""
        other = HashStore()
        other._table, other._time = self._table, self._time
        return other


class PrefixStore(Store):
    """A store within another: its keys begin with a prefix there.

    >>> import flambeau as torch
    >>> whole = torch.distributed.HashStore()
    >>> torch.distributed.PrefixStore("worker", whole).set("state", "ready")
    >>> whole.get("worker/state")
    b'ready'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        self._prefix, self._store = f"{prefix}/", store

    @property
    def underlying_store(self) -> Store:
        """The store that it is in."""
        return self._store

    @property
    def _underlying_non_prefix_store(self) -> Store:
        inner = self._store
        while isinstance(inner, PrefixStore):
            inner = inner._store
        return inner

    @property
    def timeout(self) -> timedelta:
        """How long to wait for keys."""
        return self._store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long to wait for keys, for the whole store."""
        self._store.set_timeout(timeout)

    def _seconds(self, time_given: timedelta | None = None) -> float:
        return self._store._seconds(time_given)

    def _do(self, name: str, *args: Any) -> Any:
        if name == "list_keys":
            start = len(self._prefix)
            return [key[start:] for key in self._store.list_keys() if key.startswith(self._prefix)]
        if args:
            key = args[0]
            key = [self._prefix + each for each in key] if isinstance(key, list) else self._prefix + key
            args = (key, *args[1:])
        return self._store._do(name, *args)

    def has_extended_api(self) -> bool:
        """Whether the store that it is in has them."""
        return self._store.has_extended_api()

    def clone(self) -> PrefixStore:
        """The same prefix in another handle."""
        return PrefixStore(self._prefix[:-1], self._store.clone())


def remaining(end: float) -> float:
    """The seconds until a time of ``time.monotonic``."""
    return max(0.0, end - time.monotonic())
