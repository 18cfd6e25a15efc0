"""Looking: computing what is pending because somebody needs a value.

Note: exposed memory. Once outsiders can see a buffer (``from_numpy``, ``numpy()``), an operator that reads it
reads a snapshot taken at that moment, and in-place results are written into that buffer at once. Exposure
ends when nobody outside holds the buffer any more, which its reference count tells.
"""

from __future__ import annotations

import os
import sys
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..config import settings
from ..executors import interpreter, native, null
from ..executors.freed import touch_ahead
from ..executors.measure import measured, ran
from ..executors.native.tiers import LARGEST, ledger
from ..graph import pending
from ..graph.node import Failure, Node, constant
from ..graph.site import Site, describe, is_library_file, user_frame
from ..graph.storage import Storage
from ..graph.verify import verify
from .explain import listeners, looks
from .first_draws import first_draws
from .head_starts import LEAST_NODES, head_starts

# An executor takes nodes (last one first), empties the list and returns the nodes that failed.
# Others plug in here.
EXECUTORS: dict[str, Callable[[list[Node]], list[Node]]] = {
    "auto": native.auto,
    "interpreter": interpreter.run,
    "native": native.run,
    "null": null.run,
}

_CHECK_EVERY = 64       # pending nodes, from which on the budget is looked at
_clock, _frame = time.perf_counter, sys._getframe
_lock, _nodes = pending.lock, pending.nodes


def user_site() -> Site:
    """Code and instruction of the nearest caller outside flambeau, who is not the caller of this."""
    return user_frame(_frame(2))


def compute_pending(cause: str, keep: int = 0) -> None:
    """Compute everything pending that is still reachable, but the ``keep`` nodes recorded last."""
    if _nodes:
        _look(cause, keep, 3)


def _look(cause: str, keep: int, inside: int) -> None:
    """``compute_pending``: a graph that the book has, or any other. (Note: hot functions)

    ``inside``: how many frames, this one included, are surely not the user's.
    """
    if head_starts.begun is not None:
        _end_head_start()
    if keep or not settings.by_book or pending.watchers or first_draws.waits or head_starts.is_curious:
        return _look_closely(cause, keep, None, len(_nodes), inside + 1)
    with _lock:
        began = _clock()
        recorded = len(_nodes)
        found = native.book.look_up(_nodes)
        if found.__class__ is not int:
            return _look_closely(cause, 0, found, recorded, inside + 1)
        if _budget.counted:
            _budget.start_again()
        frame = _frame(inside)
        code = frame.f_code
        site = user_frame(frame) if is_library_file.get(code.co_filename, True) else (code, frame.f_lasti)
        looks.append((cause, site, recorded, found, _clock() - began, "native", ()))
        if head_starts.part or found >= LEAST_NODES:
            head_starts.count(site, found)
        if listeners:
            for listener in listeners:
                listener(looks[-1])


def _look_closely(cause: str, keep: int, arrays: Any, recorded: int, inside: int) -> None:
    """Compute what the book does not have; ``arrays``: of a graph in it, in which a kernel has failed.

    ``recorded``: how many nodes there were before those that nobody needs were let go of.
    """
    if first_draws.waits and (drawn := first_draws.end(cause)):
        compute_pending("draws", len(_nodes) - drawn)
        recorded = len(_nodes)
    with _lock:
        began = _clock()
        site = user_frame(_frame(inside))
        head_starts.study(_nodes, site)
        ledger.at_once = head_starts.part > 0
        computed, failures = _compute(keep, arrays)
        _budget.start_again()
        if not computed:
            return
        tier = ran[0] if len(ran) == 1 else _tier()
        if cause != _AHEAD:
            head_starts.count(site, computed)
        looks.append((cause, site, recorded - keep, computed, _clock() - began, tier, tuple(measured)))
        measured.clear()
        for listener in listeners:
            listener(looks[-1])
    if failures is not None:
        raise failures


def _begin_ahead() -> None:
    """The first part of a graph that is cut may have been recorded (Note: head starts)."""
    with _lock:
        if not head_starts.is_due(_nodes):
            return
        if settings.threads > 1 and settings.by_book and not (pending.watchers or listeners) \
                and head_starts.begin(_nodes):
            return
        compute_pending(_AHEAD)


def _end_head_start() -> None:
    """Wait for what was begun."""
    with _lock:
        if head_starts.begun is None:   # another thread was faster
            return
        began, recorded, live = _clock(), head_starts.part, list[Node]()
        failed = head_starts.finish(live)
        looks.append((_AHEAD, head_starts.site, recorded, recorded, _clock() - began, "native", ()))
    if failed:
        raise _with_lines(failed)


_AHEAD = "head start"


def _compute(keep: int, arrays: Any) -> tuple[int, BaseException | None]:
    """How many nodes were computed, and the first error."""
    live: list[Node] = []
    failed: list[Node] | None = None
    computed = len(_nodes)
    try:
        ran.clear()
        if not (keep or settings.verify or pending.watchers) and settings.executor in _WITH_PROGRAMS \
                and computed <= LARGEST:
            failed = native.replay(_nodes, live, arrays)
        if failed is None:
            pending.take_live(live, keep)
            computed = len(live)
            failed = _execute(live) if live else []
    except BaseException:
        # Interrupted: what is left is still pending, in order, before anything recorded since.
        if live and not (_nodes and _nodes[0] is live[-1]):
            _nodes[:0] = live[::-1]
        raise
    return computed, _with_lines(failed) if failed else None


_WITH_PROGRAMS = frozenset(("auto", "native"))


def _tier() -> str:
    """What computed the graph, as ``explain`` shows it."""
    if not ran:
        return "interpreter" if settings.executor in ("auto", "native") else settings.executor
    return ", ".join(dict.fromkeys(reversed(ran)))


def _execute(live: list[Node]) -> list[Node]:
    run = EXECUTORS.get(settings.executor)
    if run is None:
        raise RuntimeError(f"flambeau has no executor '{settings.executor}' yet; there is "
                           f"{sorted(EXECUTORS)}")
    if settings.verify:
        verify(live)
    return run(live)


def _with_lines(failed: list[Node]) -> BaseException:
    """The first of the errors, each with its line."""
    for node in failed:
        _with_line(node.value.error, node)
    error: BaseException = failed[0].value.error
    return error


def _with_line(error: BaseException, node: Node) -> BaseException:
    note = f"This operation was recorded at {describe(node.site)}"
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
    return error


values_read = [0]  # how often a value was asked for: a change tells that code depended on one


def value_of(storage: Storage, cause: str, inside: int = 3) -> np.ndarray[Any, Any]:
    """The flat value of a storage, computed now if it is pending.

    ``inside``: as many frames are surely not the user's, this one and one that it calls included.
    """
    values_read[0] += 1
    node = storage.node
    if node.value is None:
        _look(cause, 0, inside)
        if node.value is None:  # another thread is computing it, or had not appended it yet
            with pending.lock:
                compute_pending(cause)
    value = node.value
    if value.__class__ is Failure:
        raise value.error
    return value


class _Budget:
    """Note: the pending budget. A loop that never looks is cut where it has been before: once more bytes are
    promised than allowed, the next node that is recorded where the first pending one was begins a new graph.
    So the graphs are whole rounds of the loop, and come back. Where no line comes round again, twice the
    budget is the end.
    """

    cut_by = 0      # number of pending nodes at which to cut at any line; 0 while the budget is not used up
    counted = 0     # pending nodes of which it is known
    promised = 0    # how many bytes they promise

    def start_again(self) -> None:
        """Forget what is pending: it has just been taken away."""
        self.cut_by = self.counted = self.promised = 0
        settings.check_at = 0 if settings.eager else _CHECK_EVERY

    def count(self, nodes: list[Node]) -> int:
        """The bytes that pending nodes promise."""
        fresh = nodes[self.counted:]
        self.counted += len(fresh)
        self.promised += native.promised(fresh)
        return self.promised


_budget = _Budget()
_NODE_LIMIT = 200_000   # pending nodes, however little their results take


def check_budget() -> None:
    """Called by recording when enough nodes are pending (Note: the pending budget).

    The next check is due after a few more nodes, fewer the larger the results are.
    """
    if settings.eager:
        compute_pending("eager")
        return
    nodes = pending.nodes
    count = len(nodes)
    if count == head_starts.at:
        _begin_ahead()
    if _budget.cut_by and count > 1:
        if nodes[-1].site == nodes[0].site:
            _cut(keep=1)
        elif count >= _budget.cut_by:
            _cut(keep=0)
        return
    promised = _budget.count(nodes)
    if promised > settings.budget_bytes or count > _NODE_LIMIT:
        _budget.cut_by = 2 * count
        settings.check_at = 0
        return
    average = promised // max(count, 1) + 1
    room = (settings.budget_bytes - promised) // average
    settings.check_at = count + max(1, min(room, max(_CHECK_EVERY, count)))


def _cut(keep: int) -> None:
    _budget.start_again()
    compute_pending("budget", keep)


def look_at_step_end() -> None:
    """The end of an optimizer's step: compute what is pending; a loop that never looks stays bounded."""
    compute_pending("step")


def look_at_parameters(storages: Iterable[Storage], are_learnt: bool = False) -> None:
    """An optimizer takes parameters, or they are to be evaluated: compute what is pending, if any is.

    So the drawing of a model's first weights is a graph of its own, which never comes back, and no part of
    the first step. What was loaded over them before is not drawn. Where they ``are_learnt``, pages for what
    that takes are found ahead (Note: pages ahead).
    """
    native.expect_steps()
    found, waiting = [*storages], set(map(id, pending.nodes))
    if waiting and any(id(storage.node) in waiting for storage in found):
        compute_pending("parameters")
    if are_learnt and settings.threads > 1:
        touch_ahead(_PAGES_AHEAD * sum([storage.size * storage.geometry.dtype.itemsize for storage in found]))


_PAGES_AHEAD = 4    # of a parameter: its gradient, two states, and what is computed on the way


def look_at_declaration() -> None:
    """A function that records no history is declared: what is pending is a model that it will evaluate."""
    if first_draws.waits and pending.nodes:
        native.expect_steps()
        compute_pending("parameters")


def look_at_draws(elements: int) -> None:
    """A factory drew so many numbers: compute them with those before (Note: first draws)."""
    if first_draws.waits and first_draws.count(elements):
        compute_pending("draws")


def synchronize() -> None:
    """Compute everything pending now.

    >>> import flambeau as torch
    >>> y = torch.ones(3) + 1
    >>> torch.synchronize()
    """
    compute_pending("synchronize")


def expose(storage: Storage, cause: str) -> np.ndarray[Any, Any]:
    """The buffer of a storage for outsiders, no longer shared with copies that are equal so far."""
    value = value_of(storage, cause)
    if not storage.exposed:
        if sys.getrefcount(storage.node) > pending.UNHELD or not value.flags.writeable:
            value = value.copy() if value.base is None else np.array(value)
            storage.node = constant(value)
        storage.exposed = True
    return value


_addresses: weakref.WeakKeyDictionary[Storage, int] = weakref.WeakKeyDictionary()


def address(storage: Storage) -> int:
    """Where a storage's buffer lies: told once, it stays while the value does, whoever reads that meanwhile.

    Programs know tensors by it. Who reads an exposed storage and finds that nobody outside holds its buffer
    (``snapshot``) takes it for shared from then on; ``expose`` would move the storage to a copy.
    """
    value = value_of(storage, "data_ptr")
    found = int(value.ctypes.data)
    if not storage.exposed and _addresses.get(storage) != found:
        exposed = expose(storage, "data_ptr")
        if exposed is not value:
            found = int(exposed.ctypes.data)
    _addresses[storage] = found
    return found


# References to a buffer that nobody outside holds: its node, a local variable and getrefcount's argument.
_UNSEEN = pending.UNHELD + 1


def snapshot(storage: Storage) -> Node:
    """A node with the present value of an exposed storage."""
    node = storage.node
    value = node.value
    if value is None or value.__class__ is Failure:
        return node
    if storage.owner is None and value.base is None and sys.getrefcount(value) <= _UNSEEN:
        storage.exposed = False
        return node
    if storage.owner is not None and value.base is not None and value.base.base is None \
            and (storage.owner is value.base or sys.getrefcount(storage.owner) <= pending.UNHELD) \
            and sys.getrefcount(value) <= _UNSEEN and sys.getrefcount(value.base) <= _UNSEEN:
        storage.exposed = False
        return node
    return constant(value.copy())


def write_through(storage: Storage, node: Node) -> None:
    """Let the exposed buffer of ``storage`` take the value of ``node`` now."""
    target = storage.node.value
    storage_node = storage.node
    compute_pending("exposed")
    value = node.value
    if value.__class__ is Failure:
        raise value.error
    target[...] = value
    storage.node = storage_node


def _before_fork() -> None:
    """The new process has no helper that would end what was begun."""
    if head_starts.begun is not None:
        _end_head_start()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)
