"""The native executor: fused loops compiled with LLVM, the interpreter's kernels in between.

This module is what others see of it. It imports no compiler before a graph is worth one (``tiers.py``);
``run.py`` computes a graph. The folders, each of which imports from those above it alone:

    llvm/           writing LLVM code, and making machine code of it
    products/ attention/ recurrent/ movement/ optimizer/ draws/ matrices/ normalization/ convolution/ sorting/
                    kernels that are written out, a kind in each, and how large ones are cut into tasks
    templates/      which of these kernels compute an operator, with which arguments: its plan
    fusion/         kernels from operators' own definitions: which nodes become one, and its plan
    programs/       all plans of a graph as one native call, and how a graph is known again
    batches/        batches of samples, apart from programs

A plan (``plan.py``) is what they have in common: addresses of kernels, and a block of arguments for each.
Shapes are arguments, too: by ``quantity.py`` plans for further shapes follow from formulas. ``arguments.py``
and ``vectors.py`` are for kernels that are written out.
"""

from __future__ import annotations

import functools
import gc
import importlib.util
import logging
from collections.abc import Callable
from typing import Any

from ... import sources  # it knows when the process started
from ...config import settings
from ...graph.node import Node
from .. import interpreter
from ..interpreter.blas import rest_between_products
from .tiers import form_of, ledger

_log = logging.getLogger("flambeau")
_execute: Callable[[list[Node], bool], list[Node]] | None = None


def run(nodes: list[Node]) -> list[Node]:
    """Compute nodes, last one first, natively wherever there is a kernel, compiled now if it is new."""
    return (_execute or _executor())(nodes, True)


def auto(nodes: list[Node]) -> list[Node]:
    """Compute nodes, last one first, by the interpreter until a program pays (Note: rent or buy)."""
    if ledger.is_early(nodes):
        _expect_programs()
        return interpreter.run(nodes)
    # The same decision as the native executor's, which need not be imported for a graph that comes once.
    if _execute is None and not ledger.buys_at_once(nodes) and ledger.is_first(map(form_of, nodes), nodes):
        return interpreter.run(nodes)
    return (_execute or _executor())(nodes, False)


def expect_steps() -> None:
    """Be ready for graphs that come back: a program that has a model will have steps."""
    if settings.executor == "auto" and _executor() is not _interpret:
        _prepare_steps()


@functools.cache
def _prepare_steps() -> None:
    """What the first step would have to do: find out what notes depend on, and load the native loop."""
    from .llvm.compiling import machine, notes  # the native executor has imported them
    from .llvm.compiling.code import is_noted  # likewise
    from .programs.runtime import runtime  # likewise
    notes.expect()
    if machine.is_known() and is_noted(runtime.entries):    # what is not on disk may never be needed
        runtime.entries()
    gc.collect(0)   # what has been made stays: the first step would be interrupted to look through it


def is_loaded() -> bool:
    """Whether the native executor was imported."""
    return _execute is not None and _execute is not _interpret


def _no_replay(pending: list[Node], live: list[Node], arrays: list[Any] | None = None) -> list[Node] | None:
    return None


class _NoBook:
    """What is asked until there is a native executor: no graph is known."""

    @staticmethod
    def look_up(pending: list[Node]) -> None:
        """See ``book``."""


def recorder(steps: Any, first: int) -> Callable[[list[Any]], list[Node]] | None:
    """What records a known sequence of nodes at once (``glances/sequences.py``), if programs are made."""
    if not is_loaded():
        return None
    from .programs.glances.sequences import recorder as native  # the native executor has imported llvmlite
    return native(steps, first)


# Its ``look_up`` computes what is pending if that is a short graph that is known, and says of how many nodes;
# None if it is not: then nothing was done. A list is to be handed on to ``replay``: a kernel has failed.
book: Any = _NoBook
# Computes what is pending (first one first) if that is a graph whose program is known at once. Returns what
# ``run`` does; None if it is not: then nothing was done. On an interrupt the nodes not yet computed are in
# the other list, last one first, if they are not pending any more.
replay: Callable[..., list[Node] | None] = _no_replay


def _promised(nodes: list[Node]) -> int:
    return sum([node.signature.nbytes for node in nodes if node.signature is not None])


def _promise_natively() -> None:
    global promised
    from .programs.glances.promises import counter  # the native executor has imported llvmlite
    promised = counter() or promised


# How many bytes pending nodes promise.
promised: Callable[[list[Node]], int] = _promised
# What is done once a graph has come back, in the same shapes or in others: more of them will.
on_return: list[Callable[[], None]] = [_promise_natively]


def known_graphs() -> Any:
    """What begins known graphs (``known``, ``finish`` and ``modelled`` of ``run.py``), if any are known."""
    if not is_loaded():
        return None
    from . import run as graphs  # it has been imported
    return graphs


@functools.cache
def _expect_programs() -> None:
    if importlib.util.find_spec("llvmlite") is not None:
        rest_between_products()


def _executor() -> Callable[[list[Node], bool], list[Node]]:
    """The native executor; llvmlite is imported by the first call."""
    global _execute, book, replay
    if _execute is None:
        try:
            from .run import book as known_graphs  # likewise
            from .run import replay as known_again  # likewise
            from .run import run as native  # needs llvmlite, which may not be there
            _execute, book, replay = native, known_graphs, known_again
            rest_between_products()     # also where no graph was early
        except ImportError as error:
            _log.warning("the native tier needs llvmlite (%s): interpreting instead", error)
            _execute = _interpret
    return _execute


def _interpret(nodes: list[Node], forced: bool) -> list[Node]:
    return interpreter.run(nodes)


__all__ = ["auto", "book", "expect_steps", "is_loaded", "known_graphs", "on_return", "promised", "recorder",
           "replay", "run"]
