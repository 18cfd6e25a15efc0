"""The program runtime: memory that is overwritten or must not be, failures, threads, interrupts."""

from __future__ import annotations

import gc
import mmap
import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import config, nn
from flambeau.executors.native.programs import known as programs
from flambeau.executors.native.programs.execution import program, segment
from flambeau.executors.native.programs.patterns import outline, planning
from flambeau.executors.native.programs.patterns.layout import Shelf
from flambeau.executors.native.programs.runtime import team
from flambeau.nn import functional as F


def _net() -> tuple[Any, Any, Any, Any]:
    flambeau.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = flambeau.optim.Adam(model.parameters(), lr=0.01)
    return model, optimizer, flambeau.randn(5, 6), flambeau.randint(0, 3, (5,))


def _train(steps: int, tier: str) -> list[float]:
    losses = []
    with config.executor(tier):
        model, optimizer, x, y = _net()
        for _ in range(steps):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        losses += [p.sum().item() for p in model.parameters()]
    return losses


def test_training_is_the_interpreters() -> None:
    assert _train(8, "native") == pytest.approx(_train(8, "interpreter"), rel=1e-5, abs=1e-6)


def test_a_returning_graph_gets_its_program_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(programs, "_find", lambda *found, find=programs._find: made.append(1)
                        or find(*found))
    with config.executor("native"):
        model, optimizer, x, y = _net()
        for step in range(6):
            before = len(made)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            if step > 3:
                assert len(made) == before


def _sequence_net() -> Any:
    flambeau.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=0.0)
    model = nn.Sequential(nn.Embedding(50, 16), layer, nn.Linear(16, 3))
    return model, flambeau.optim.AdamW(model.parameters(), lr=1e-2)


def _lengths(lengths: Sequence[int], executor: str) -> list[float]:
    """Losses of a step with each length, in the order in which they come."""
    with config.executor(executor):
        model, optimizer = _sequence_net()
        losses = []
        for n in lengths:
            x = flambeau.arange(4 * n).reshape(4, n) % 50
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x).mean(1), flambeau.arange(4) % 3)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses


# 1 has no strides, 3, 4, 16 and 32 are other extents of the model, 300 makes sums large enough to be shared.
@pytest.mark.parametrize("lengths", [(7, 9, 300, 1, 4, 16, 32, 3, 11, 2), (1, 7, 300, 16),
                                     (16, 5, 1, 32, 300)])
def test_other_lengths_give_what_the_interpreter_gives(lengths: tuple[int, ...]) -> None:
    assert _lengths(lengths, "native") == pytest.approx(_lengths(lengths, "interpreter"), rel=1e-4)


def test_another_shape_is_not_scheduled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    plain = planning.schedule
    monkeypatch.setattr(planning, "schedule", lambda nodes: made.append(len(nodes)) or plain(nodes))
    _lengths(range(40, 50), "native")
    assert len(made) < 5    # the first step, and those before the optimizer's states are there


def test_what_somebody_else_holds_is_not_overwritten() -> None:
    with config.executor("native"):
        model, optimizer, x, y = _net()
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            kept = [p.detach().clone() for p in model.parameters()]
            seen = [p.detach().numpy().copy() for p in model.parameters()]
            arrays = [p.detach().numpy() for p in model.parameters()]
            optimizer.step()
            for clone, before, exposed, p in zip(kept, seen, arrays, model.parameters()):
                assert np.array_equal(clone.numpy(), before)
                assert not np.array_equal(p.detach().numpy(), before)
                assert np.array_equal(exposed, p.detach().numpy())  # PyTorch: the same memory


def test_writes_into_one_buffer_one_after_the_other() -> None:
    def compute() -> list[Any]:
        cache = flambeau.zeros(2, 3, 4)
        flambeau.synchronize()
        before = cache.clone()
        cache[0, :, 1] = flambeau.arange(3.0)
        middle = cache.clone()
        cache[1] = cache[0] * 2 + 1
        cache[0] += 1
        return [before.tolist(), middle.tolist(), cache.tolist()]
    with config.executor("interpreter"):
        want = compute()
    with config.executor("native"):
        assert compute() == compute() == want


def test_a_failing_kernel_stops_what_depends_on_it_only() -> None:
    with config.executor("native"):
        table = flambeau.ones(4, 3)
        good = flambeau.exp(table) * 2
        at = flambeau.tensor([1, 2]) * 3        # pending, and 6 is out of range
        bad = F.embedding(at, table) + 1
        after = good + 1
        with pytest.raises(IndexError, match="out of range"):
            bad.sum().item()
        assert np.allclose(after.numpy(), np.exp(1) * 2 + 1)
        assert np.allclose(good.numpy(), np.exp(1) * 2)


@pytest.mark.parametrize("behind", [False, True])
def test_interrupted(monkeypatch: pytest.MonkeyPatch, behind: bool) -> None:
    """Ctrl-C before or right after the native call: every value is computed once, nothing is lost."""
    with config.executor("native"):
        x = flambeau.ones(1000)
        flambeau.synchronize()
        start = segment._start

        def interrupt(program: int) -> None:
            if behind:
                start(program)
            raise KeyboardInterrupt
        y = x.mul_(3)
        z = y + 1
        with monkeypatch.context() as patched:
            patched.setattr(segment, "_start", interrupt)
            with pytest.raises(KeyboardInterrupt):
                flambeau.synchronize()
        assert z.tolist() == [4.0] * 1000 and x.tolist() == [3.0] * 1000


def test_out_of_memory_leaves_the_graph_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    with config.executor("native"):
        x = flambeau.ones(1000)
        flambeau.synchronize()
        z = flambeau.tanh(x) + 1
        with monkeypatch.context() as patched:
            def fail(size: int) -> None:
                raise MemoryError
            patched.setattr(program.arena, "reserve", fail)
            with pytest.raises(MemoryError):
                flambeau.synchronize()
        assert z.sum().item() == pytest.approx(1000 * (np.tanh(1) + 1), rel=1e-5)


def test_many_threads_look_at_once() -> None:
    results: list[float] = []

    def work(k: int) -> None:
        for _ in range(20):
            x = flambeau.full((300, 300), float(k))
            results.append((flambeau.tanh(x) * x).sum().item() / 90000 - k * float(np.tanh(k)))
    with config.executor("native"):
        workers = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert len(results) == 80 and max(map(abs, results)) < 1e-4


def test_values_die_with_their_tensors() -> None:
    from flambeau.graph.node import Node

    with config.executor("native"):
        for _ in range(3):
            _train(2, "native")
        gc.collect()
        before = sum(type(x) is Node for x in gc.get_objects())
        _train(4, "native")
        gc.collect()
        assert sum(type(x) is Node for x in gc.get_objects()) <= before


@pytest.mark.parametrize(("size", "rounds", "calls"), [(64, 160, False), (1 << 19, 2, True)])
def test_helpers_are_called_to_large_steps_alone(monkeypatch: pytest.MonkeyPatch, size: int, rounds: int,
                                                 calls: bool) -> None:
    called: list[int] = []
    opening = team.Team.open
    monkeypatch.setattr(team.Team, "open", lambda *found: called.append(1) or opening(*found))
    x = flambeau.arange(size) / size
    w = flambeau.eye(64) * 0.5
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(2)
    try:
        with config.executor("native"):
            for _ in range(6):
                y = x.view(-1, 64)
                for _ in range(rounds):
                    y = (y @ w).softmax(1).cumsum(1)
                found = y.sum().item()
    finally:
        flambeau.set_num_threads(before)
    with config.executor("interpreter"):
        y = x.view(-1, 64)
        for _ in range(rounds):
            y = (y @ w).softmax(1).cumsum(1)
        assert found == pytest.approx(y.sum().item(), rel=1e-4)
    assert bool(called) == calls


def test_an_outline_tells_graphs_apart() -> None:
    from flambeau.graph import pending

    def outline_of(compute: Any) -> tuple[Any, Any]:
        kept = compute()
        reading = outline.Reading(pending.nodes[::-1])
        found = outline.Outline(reading), reading
        del kept
        return found
    x, y = flambeau.ones(3), flambeau.ones(3)
    flambeau.synchronize()
    graphs = [lambda: (x * y) + x, lambda: (x * y) + y, lambda: (x * x) + x, lambda: (x + y) * x]
    for i, first in enumerate(graphs):
        shape, reading = outline_of(first)
        assert shape.is_of(reading)
        del reading
        flambeau.synchronize()
        for k, second in enumerate(graphs):
            other, reading = outline_of(second)
            assert (other.key() == shape.key()) == (i == k)
            # One in which two leaves are one is another graph: it may be planned as one, with equal reads.
            assert shape.is_of(reading) == (i == k)
            del reading
            flambeau.synchronize()


def test_an_operand_that_is_pending_is_no_leaf() -> None:
    """Signatures and reference counts agree: one graph holds its first result, the other reads it."""
    from flambeau.graph import pending

    x, y = flambeau.ones(3), flambeau.ones(3)
    flambeau.synchronize()
    held = x * 2
    last = y + 1
    reading = outline.Reading(pending.nodes[::-1])
    shape = outline.Outline(reading)
    assert shape.fits(reading.counts, reading.nodes, reading.flat)
    del held, last, reading
    flambeau.synchronize()
    last = (x * 2) + 1
    reading = outline.Reading(pending.nodes[::-1])
    assert not shape.fits(reading.counts, reading.nodes, reading.flat)
    del reading, last


def test_values_that_were_one_and_are_two_are_read_apart() -> None:
    """As coefficients of a schedule are: of one table in every step but the last."""
    def coefficients(a: Any, b: Any) -> float:
        return float(flambeau.stack([1 - a, 1 - b, a / b]).sum())

    table, one = flambeau.linspace(0.1, 0.9, 9), flambeau.tensor(1.0)
    expected = 0.9 + 0.1
    programs.clear()
    with config.executor("auto"):
        for rounds in range(12):
            for k in range(1 + 4 * rounds):
                coefficients(table[k % 7 + 1], table[k % 7 + 2])
            assert coefficients(table[0], one) == pytest.approx(expected)


def test_a_shelf_gives_no_byte_twice() -> None:
    shelf, rng, taken = Shelf(), np.random.default_rng(0), {}
    for _ in range(2000):
        if taken and rng.random() < 0.5:
            offset = rng.choice(list(taken))
            shelf.give(int(offset))
            del taken[int(offset)]
        else:
            size = int(rng.integers(1, 5000))
            offset = shelf.take(size)
            assert offset % 64 == 0 and offset + size <= shelf.size
            assert all(offset + size <= o or o + s <= offset for o, s in taken.items())
            taken[offset] = size
    for offset in list(taken):
        shelf.give(offset)
    assert shelf.take(shelf.size) == 0


def test_parameters_are_updated_where_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter that only its optimizer writes is not copied, though the forward pass reads it too."""
    with config.executor("native"):
        model, optimizer, x, y = _net()
        addresses = []
        for _ in range(5):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            addresses.append([p._storage.node.value.__array_interface__["data"][0]
                              for p in model.parameters()])
        assert addresses[2] == addresses[3] == addresses[4]


@pytest.mark.parametrize("keep", [True, False])
def test_the_arena_stays_or_goes(monkeypatch: pytest.MonkeyPatch, keep: bool) -> None:
    from flambeau.executors.native.programs.runtime import arena

    monkeypatch.setattr(arena, "KEEP", keep)
    monkeypatch.setattr(program, "KEEP", keep)
    with config.executor("native"):
        x = flambeau.arange(1000.0).reshape(10, 100)
        for _ in range(3):      # the sums are held; what they are made of lies in the arena
            total = (flambeau.softmax(x, 1) @ flambeau.softmax(x, 1).t()).sum()
            assert total.item() == pytest.approx(100 * 0.462117, rel=1e-4)
            assert (arena.arena.block is not None) == keep


def test_a_forked_process_has_memory_of_its_own() -> None:
    from flambeau.executors.native.programs.runtime.arena import Block

    for size in (1000, 5 << 20):
        block = Block(size)
        block.bytes[:4] = 1
        child = os.fork()
        if child == 0:
            block.bytes[:4] = 2
            os._exit(0)
        os.waitpid(child, 0)
        assert block.bytes[:4].tolist() == [1] * 4


def _wants_huge_pages(address: int) -> bool:
    """Whether the system was asked for huge pages there."""
    inside = False
    with open("/proc/self/smaps") as lines:
        for line in lines:
            first, *flags = line.split()
            if "-" in first:
                start, end = (int(x, 16) for x in first.split("-"))
                inside = start <= address < end
            elif inside and first == "VmFlags:":
                return "hg" in flags
    raise AssertionError("nothing lies there")


@pytest.mark.skipif(not os.path.exists("/sys/kernel/mm/transparent_hugepage"), reason="no huge pages")
def test_small_programs_have_small_pages() -> None:
    from flambeau.executors.native.programs.runtime.arena import Block
    from flambeau.executors.native.programs.runtime.results import NewArrays

    small, large = Block(5 << 20), Block(50 << 20)
    places = [small.address, large.address, large.address + (7 << 20), large.address + (20 << 20)]
    assert [*map(_wants_huge_pages, places)] == [False, False, False, True]
    arrays = NewArrays([7 << 20, 40 << 20], [np.dtype(np.int8)] * 2).make()
    assert [_wants_huge_pages(x.ctypes.data + (1 << 20)) for x in arrays] == [False, True]


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="this system takes no pages back")
def test_the_arena_gives_back_what_is_needed_no_more() -> None:
    from flambeau.executors.native.programs.runtime import arena

    own = arena.Arena()
    first = own.reserve(200 << 20)
    first.bytes[:200 << 20:4096] = 1
    own.reserve(100 << 20)
    for _ in range(2 * arena._LAST):
        assert own.reserve(70 << 20) is first
    assert first.bytes[:70 << 20:4096].all()
    assert not first.bytes[71 << 20:200 << 20].any()
    first.bytes[:100 << 20:4096] = 2    # a little more is kept
    for _ in range(2 * arena._LAST):
        own.reserve(90 << 20)
    assert first.bytes[:100 << 20:4096].all()
