"""``TCPStore``: a store that one process keeps and others reach over a connection.

A request is the name of a table's operation and its arguments, an answer its result or the error. Both are
lists of fields, each a kind, a length and bytes; nothing in them is code.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from .errors import DistNetworkError, DistStoreError, QueueEmptyError
from .stores import Store, remaining
from .table import WAITING, Table

_LENGTH = struct.Struct("<cq")
_ERRORS = {error.__name__: error for error in (QueueEmptyError, DistStoreError, ValueError)}
_OPERATIONS = frozenset(name for name in vars(Table) if not name.startswith("_"))
_JOINED = "init/"
_servers: weakref.WeakValueDictionary[int, _Server] = weakref.WeakValueDictionary()


def _packed(value: Any) -> bytes:
    """A value as a field: bytes, text, a number, nothing, or a list of fields."""
    if isinstance(value, (list, tuple)):
        kind, data = b"l", b"".join(map(_packed, value))
    elif isinstance(value, bytes):
        kind, data = b"b", value
    elif isinstance(value, str):
        kind, data = b"s", value.encode()
    elif value is None:
        kind, data = b"n", b""
    elif isinstance(value, float):
        kind, data = b"f", struct.pack("<d", value)
    else:
        kind, data = b"i", str(int(value)).encode()
    return _LENGTH.pack(kind, len(data)) + data


def _unpacked(kind: bytes, data: bytes) -> Any:
    if kind == b"l":
        found, at = [], 0
        while at < len(data):
            inner, length = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size + length
            found.append(_unpacked(inner, data[at - length:at]))
        return found
    readers: dict[bytes, Callable[[], Any]] = {
        b"b": lambda: data, b"s": data.decode, b"n": lambda: None, b"i": lambda: int(data),
        b"f": lambda: struct.unpack("<d", data)[0]}
    return readers[kind]()


def _received(connection: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            raise DistNetworkError("Failed to recv, got 0 bytes. Connection was likely closed. Did the "
                                   "remote server shutdown or crash?")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _message(connection: socket.socket) -> Any:
    kind, length = _LENGTH.unpack(_received(connection, _LENGTH.size))
    return _unpacked(kind, _received(connection, length))


class _Server:
    """Answers for a table, one thread for each connection."""

    def __init__(self, port: int, listening: socket.socket | None) -> None:
        self.table = Table()
        try:
            self._socket = listening or socket.create_server(("", port))
        except OSError as error:
            raise DistNetworkError(
                "The server socket has failed to listen on any local network address. "
                f"port: {port}, useIpv6: false, code: -{error.errno}, name: EADDRINUSE, message: address "
                "already in use") from None
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=_accepting, args=(self._socket, self.table), daemon=True).start()
        weakref.finalize(self, _closed, self._socket)


def _closed(listening: socket.socket) -> None:
    with contextlib.suppress(OSError):
        listening.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
    listening.close()


def _accepting(listening: socket.socket, table: Table) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_answering, args=(connection, table), daemon=True).start()


def _answering(connection: socket.socket, table: Table) -> None:
    with contextlib.suppress(OSError, DistNetworkError), connection:
        while True:
            name, *args = _message(connection)
            if name not in _OPERATIONS:
                return
            try:
                answer = ["", getattr(table, name)(*args)]
            except tuple(_ERRORS.values()) as error:
                answer = [type(error).__name__, str(error)]
            connection.sendall(_packed(answer))


class TCPStore(Store):
    """A store that the master process keeps; all reach it at ``host_name`` and ``port``.

    Port 0 takes a free one; the master waits until ``world_size`` processes are connected.

    >>> import flambeau as torch
    >>> master = torch.distributed.TCPStore("127.0.0.1", 0, 1, is_master=True)
    >>> worker = torch.distributed.TCPStore("127.0.0.1", master.port, is_master=False)
    >>> worker.set("epoch", "3")
    >>> master.get("epoch")
    b'3'
    """

    def __init__(self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
                 timeout: timedelta = timedelta(seconds=300), wait_for_workers: bool = True,
                 multi_tenant: bool = False, master_listen_fd: int | None = None,
                 use_libuv: bool = True) -> None:
        self._host, self._port, self._time = host_name, int(port), timeout
        self._server: _Server | None = None
        self.libuvBackend = use_libuv
        if is_master:
            listening = None if master_listen_fd is None else socket.socket(fileno=master_listen_fd)
            self._server = _servers.get(self._port) if multi_tenant else None
            self._server = self._server or _Server(self._port, listening)
            self._port = self._server.port
            if multi_tenant:
                _servers[self._port] = self._server
        self._lock = threading.Lock()
        self._connection = self._connected()
        self.add(_JOINED, 1)
        if self._server is not None and wait_for_workers and world_size:
            self._wait_for_workers(world_size)

    def _connected(self) -> socket.socket:
        end = time.monotonic() + self._seconds()
        while True:
            with contextlib.suppress(OSError):
                connection = socket.create_connection((self._host, self._port), max(remaining(end), 0.01))
                connection.settimeout(None)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                weakref.finalize(self, connection.close)
                return connection
            if not remaining(end):
                raise DistNetworkError(
                    f"The client socket has timed out after {round(self._seconds() * 1000)}ms while trying "
                    f"to connect to ({self._host}, {self._port}).")
            time.sleep(min(0.05, remaining(end)))

    def _wait_for_workers(self, world_size: int) -> None:
        end = time.monotonic() + self._seconds()
        while (joined := self.add(_JOINED, 0)) < world_size:
            if not remaining(end):
                raise DistStoreError(f"Timed out after {round(self._seconds()) + 1} seconds waiting for "
                                     f"clients. {joined}/{world_size} clients joined.")
            time.sleep(0.01)

    @property
    def host(self) -> str:
        """Where the master process is."""
        return self._host

    @property
    def port(self) -> int:
        """The port at which it listens."""
        return self._port

    def has_extended_api(self) -> bool:
        """Whether several keys are set at once: they are."""
        return True

    def _do(self, name: str, *args: Any) -> Any:
        try:
            with self._lock:
                self._connection.sendall(_packed([name, *args]))
                kind, result = _message(self._connection)
        except OSError as error:
            raise DistNetworkError(str(error.strerror or error)) from None
        if not kind:
            return result
        if kind == "DistStoreError" and name in WAITING:
            keys = args[0] if isinstance(args[0], list) else [args[0]]
            result = (f"wait timeout after {round(args[-1] * 1000)}ms, keys: "
                      + ", ".join(f"/{key}" for key in keys))
        raise _ERRORS[kind](result)

    def multi_set(self, keys: Any, values: Any) -> None:
        """Keep several values."""
        if len(keys) != len(values):
            raise DistStoreError("multiSet keys and values vectors must be of same size")
        super().multi_set(keys, values)

    def list_keys(self) -> list[str]:
        """The keys."""
        return [key for key in super().list_keys() if key != _JOINED]

    def clone(self) -> TCPStore:
        """Another connection to the same table."""
        other = TCPStore.__new__(TCPStore)
        other.__dict__.update(self.__dict__, _lock=threading.Lock())
        other._connection = other._connected()
        return other

    def __repr__(self) -> str:
        server = f"TCPServer(port={self._port})" if self._server else "<nullptr>"
        return f"TCPStore(client=TCPClient({self._host}, {self._port}), server={server})"
