"""Helping threads keep off the processor of who calls them, unless somebody else says where they run."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

import flambeau
from flambeau import config
from flambeau.executors.native.programs.runtime.places import KNOWN, NOBODY_MINDS, Places
from flambeau.executors.native.programs.runtime.team import team

pytestmark = pytest.mark.skipif(not KNOWN or len(os.sched_getaffinity(0)) < 2,
                                reason="needs two processors and a system that tells threads' places")


@pytest.fixture
def thread() -> Iterator[int]:
    """The number of a thread that waits."""
    over = threading.Event()
    one = threading.Thread(target=over.wait)
    one.start()
    assert one.native_id is not None
    yield one.native_id
    over.set()
    one.join()


def test_a_helper_may_run_everywhere_else(thread: int) -> None:
    allowed = os.sched_getaffinity(thread)
    places = Places()
    places.add(thread)
    for processor in sorted(allowed):
        assert places.keep_off(processor) == processor
        assert os.sched_getaffinity(thread) == allowed - {processor}


def test_a_mask_of_somebody_elses_stays(thread: int) -> None:
    first, second, *_ = sorted(os.sched_getaffinity(thread))
    places = Places()
    places.add(thread)
    places.keep_off(first)
    os.sched_setaffinity(thread, {first})
    assert places.keep_off(second) == NOBODY_MINDS
    os.sched_setaffinity(thread, {second})
    assert places.keep_off(second) == NOBODY_MINDS
    assert os.sched_getaffinity(thread) == {second}


def test_a_helper_with_one_processor_stays_there(thread: int) -> None:
    first = min(os.sched_getaffinity(thread))
    os.sched_setaffinity(thread, {first})
    places = Places()
    places.add(thread)
    assert places.keep_off(first) == NOBODY_MINDS
    assert os.sched_getaffinity(thread) == {first}


def test_many_helpers_are_left_alone(thread: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flambeau.executors.native.programs.runtime.places._MOST", 0)
    allowed = os.sched_getaffinity(thread)
    places = Places()
    places.add(thread)
    assert places.keep_off(min(allowed)) == NOBODY_MINDS
    assert os.sched_getaffinity(thread) == allowed


def test_programs_follow_their_caller() -> None:
    """The caller moves between programs; its own mask is never changed by them."""
    own, threads = os.sched_getaffinity(0), flambeau.get_num_threads()
    x, sums = flambeau.randn(600, 600), []
    flambeau.set_num_threads(2)
    try:
        with config.executor("native"):
            team().stop()   # helpers begin with this thread's mask
            (x @ x).tanh().sum().item()
            for processor in (*sorted(own), *sorted(own)):
                os.sched_setaffinity(0, {processor})
                sums.append((x @ x).tanh().sum().item())
                assert os.sched_getaffinity(0) == {processor}
                assert all(processor not in os.sched_getaffinity(helper.native_id)
                           for helper in team()._threads if helper.native_id)
    finally:
        os.sched_setaffinity(0, own)
        flambeau.set_num_threads(threads)
    assert team()._threads
    assert len(set(sums)) == 1
