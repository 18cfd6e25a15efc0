"""Stores: the same operations in a process, in a file and over a connection."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import flambeau as torch
from flambeau import distributed as dist

SHORT = timedelta(seconds=0.05)
MAKERS: dict[str, Callable[[Path], Any]] = {
    "hash": lambda folder: dist.HashStore(),
    "file": lambda folder: dist.FileStore(str(folder / "store"), 1),
    "tcp": lambda folder: dist.TCPStore("127.0.0.1", 0, 1, is_master=True),
    "prefix": lambda folder: dist.PrefixStore("part", dist.HashStore()),
}


@pytest.fixture(params=MAKERS)
def store(request: Any, tmp_path: Path) -> Any:
    return MAKERS[request.param](tmp_path)


def test_values(store: Any) -> None:
    store.set("a", "1")
    store.set("raw", b"\x00\xff")
    assert store.get("a") == b"1" and store.get("raw") == b"\x00\xff"
    assert (store.add("n", 3), store.add("n", -5), store.get("n")) == (3, -2, b"-2")
    store.append("text", "x")
    store.append("text", "y")
    assert store.get("text") == b"xy"
    store.multi_set(["p", "q"], ["1", "2"])
    assert store.multi_get(["p", "q"]) == [b"1", b"2"]
    assert store.check(["a", "p"]) and not store.check(["a", "zz"])
    assert store.delete_key("a") and not store.check(["a"])
    assert {"n", "p", "q", "raw", "text"} <= set(store.list_keys())
    assert store.num_keys() >= 5
    assert store.clone().get("p") == b"1"


def test_compare_set(store: Any) -> None:
    assert store.compare_set("c", "expected", "new") == b"expected" and not store.check(["c"])
    assert store.compare_set("c", "", "new") == b"new"
    assert store.compare_set("c", "other", "newer") == b"new"
    assert store.compare_set("c", "new", "newer") == b"newer" == store.get("c")


def test_waiting_ends(store: Any) -> None:
    store.set_timeout(SHORT)
    assert store.timeout == SHORT
    for ask in (lambda: store.get("missing"), lambda: store.wait(["missing"]),
                lambda: store.wait(["missing"], SHORT), lambda: store.multi_get(["missing"])):
        with pytest.raises(RuntimeError, match=r"[Tt]imeout"):
            ask()


def test_waiting_for_another_thread(store: Any) -> None:
    other = store.clone()
    timer = threading.Timer(0.05, lambda: other.set("late", "here"))
    timer.start()
    store.wait(["late"])
    assert store.get("late") == b"here"
    both = [threading.Thread(target=handle.barrier, args=("all", 2)) for handle in (store, store.clone())]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(10)
        assert not thread.is_alive()


def test_queues(store: Any) -> None:
    if not store.has_extended_api():
        with pytest.raises(NotImplementedError, match="queue support is not implemented"):
            store.queue_push("Q", "1")
        return
    store.queue_push("Q", "1")
    store.queue_push("Q", "2")
    assert (store.queue_len("Q"), store.queue_pop("Q"), store.queue_pop("Q", False)) == (2, b"1", b"2")
    with pytest.raises(dist.QueueEmptyError, match="queue is empty"):
        store.queue_pop("Q", False)


def test_wrong_values(store: Any) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        store.set("a", 1)
    store.set("word", "q")
    with pytest.raises(ValueError, match="stoll"):
        store.add("word", 1)


def _count(port: int) -> None:
    dist.TCPStore("127.0.0.1", port, is_master=False).add("here", 1)


def test_other_processes_reach_a_tcp_store() -> None:
    master = dist.TCPStore("127.0.0.1", 0, is_master=True)
    workers = [multiprocessing.get_context("spawn").Process(target=_count, args=(master.port,)) for _ in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert master.get("here") == b"2" and master.list_keys() == ["here"]


def test_failed_connections() -> None:
    master = dist.TCPStore("127.0.0.1", 0, is_master=True)
    with pytest.raises(dist.DistNetworkError, match="EADDRINUSE"):
        dist.TCPStore("127.0.0.1", master.port, is_master=True)
    again = dist.TCPStore("127.0.0.1", 0, is_master=True, multi_tenant=True)
    same = dist.TCPStore("127.0.0.1", again.port, is_master=True, multi_tenant=True)
    again.set("a", "1")
    assert same.get("a") == b"1"
    with pytest.raises(dist.DistStoreError, match=r"waiting for clients\. 1/2 clients joined"):
        dist.TCPStore("127.0.0.1", 0, 2, True, timeout=SHORT)
    with pytest.raises(dist.DistNetworkError, match=r"while trying to connect to \(127.0.0.1, 1\)"):
        dist.TCPStore("127.0.0.1", 1, 2, False, timeout=SHORT)


def test_a_prefix_in_a_prefix() -> None:
    whole = torch.distributed.HashStore()
    inner = dist.PrefixStore("a", dist.PrefixStore("b", whole))
    inner.set("k", "v")
    assert whole.list_keys() == ["b/a/k"] and inner.list_keys() == ["k"]
    assert inner._underlying_non_prefix_store is whole


def test_the_last_file_store_deletes_its_file(tmp_path: Path) -> None:
    first, second = (dist.FileStore(str(tmp_path / "store"), 2) for _ in "ab")
    first.set("a", "1")
    del first
    assert second.get("a") == b"1"
    del second
    assert not (tmp_path / "store").exists()


class Written(dist.Store):
    """A store of a user's, with some of the methods."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, bytes] = {}
        self.waited: list[Any] = []

    def set(self, key: str, value: Any) -> None:
        self.values[key] = value if isinstance(value, bytes) else value.encode()

    def get(self, key: str) -> bytes:
        return self.values[key]

    def wait(self, keys: Any, timeout: timedelta | None = None) -> None:
        self.waited.append((keys, timeout))


MISSING: list[tuple[str, tuple[Any, ...], type[Exception], str]] = [
    ("add", ("n", 1), RuntimeError, 'pure virtual function "::c10d::Store::add"'),
    ("num_keys", (), RuntimeError, 'pure virtual function "::c10d::Store::getNumKeys"'),
    ("delete_key", ("a",), RuntimeError, "::c10d::Store::deleteKey"),
    ("clone", (), RuntimeError, "::c10d::Store::clone"),
    ("queue_push", ("a", "b"), NotImplementedError, "queue support is not implemented."),
    ("list_keys", (), NotImplementedError, "listKeys support is not implemented."),
]


def test_stores_of_users() -> None:
    store = Written()
    for number, part in enumerate((store, dist.PrefixStore("p", store),
                                   dist.PrefixStore("q", dist.PrefixStore("p", store)))):
        part.set("a", str(number))
        part.multi_set(["x", "y"], ["1", "2"])
        assert part.get("a") == str(number).encode() and part.multi_get(["y", "x"]) == [b"2", b"1"]
        part.wait(["a"])
        assert not part.has_extended_api() and part.timeout == timedelta(seconds=300)
        for call, arguments, error, message in MISSING:
            with pytest.raises(error, match=message):
                getattr(part, call)(*arguments)
    assert set(store.values) == {at + key for at in ("", "p/", "p/q/") for key in "axy"}
    dist.PrefixStore("p", store).wait(["b"], timedelta(seconds=1))
    assert store.waited == [(["a"], None), (["p/a"], None), (["p/q/a"], None),
                            (["p/b"], timedelta(seconds=1))]
