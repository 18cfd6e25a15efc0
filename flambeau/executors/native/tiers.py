"""When a graph's program is made.

Note: rent or buy. A graph is interpreted until what that cost so far, as a model has it, exceeds what its
program costs to make; and nothing is compiled before the process as a whole has interpreted enough for the
compiler to be worth starting. Both are functions of the graphs seen so far and of nothing else: not of a
clock, nor of what the disk holds. So a seeded script gives the same bits on every run. What a kernel costs
beside its call and its bytes stands at the operator's definition (``operators/declaration/prices.py``).

Note: newcomers. A search for an architecture trains one network after the other, each for some steps: to
interpret the first steps of each again and again, in order to find out whether it will come back, costs more
than most of them do. So lines are remembered: where graphs that had not come before came back, the next such
graph that ends on that line is bought at once. The same holds for graphs that came twice and went on to come.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import attrgetter

from ...graph.node import Node, Signature
from ...graph.site import Site

# All in modelled nanoseconds.
COMPILER = 30e6             # interpreted by the process before anything is compiled
PLANNED = 150e3             # to make a program of any size,
PLANNED_NODE = 20e3         # and of it one node's part
SHAPED = 100e3              # the same, where a program for other shapes is there
SHAPED_NODE = 10e3
FORMULA = 60e3              # the same, where all of it follows from a joint formula
OPERATOR = 8e3              # to interpret one operator
BYTE = 0.4                  # for each byte of its result

form_of = attrgetter("signature.form")
_MET = 50_000               # graphs that are known to have come
# Nodes of a program. Of a long loop in one graph the first piece, those in the middle, which are equal, and
# the last one are remembered together (known.py).
LARGEST = 16_000
_TOGETHER = 2       # prices that shapes which never come again pay before one of them is bought a program
_LATELY, _RARE = 32, 8      # shapes from which it is told whether they come back, and of how many one does
_MISSED, _CAME_BACK = 3, 4      # by how much a newcomer and its return change what is expected of its line,
_EXPECTED, _MOST = 5, 8         # from where on the next newcomer there is bought; the most
_LINES = 1 << 12                # of newcomers and their returns, that are remembered


class Rent:
    """What one graph, or all that differ in their shapes alone, cost so far."""

    __slots__ = ("spent",)

    def __init__(self, spent: float = 0.0) -> None:
        self.spent = spent


class Ledger:
    """What the process has interpreted so far.

    ``at_once``: what comes now is a part of a graph that has a program, and gets its own (Note: head starts).
    """

    def __init__(self) -> None:
        self.total = 0.0
        self.at_once = False
        self.met: dict[int, float] = {}     # what graphs of certain operators cost before they got an outline

    def is_early(self, nodes: list[Node]) -> bool:
        """Whether the process has not interpreted enough to start the compiler; puts a graph on the bill."""
        if self.total >= COMPILER:
            return False
        cost = interpreted(nodes)
        self.total += cost
        if self.total >= COMPILER:
            return False
        self._meet(_operators(map(form_of, nodes)), cost)
        return True

    def is_first(self, forms: Iterable[int], nodes: list[Node]) -> bool:
        """Whether no graph of these operators was met before; puts it on the bill.

        Many graphs never come back (those of samples that random transforms were applied to): an outline is
        not even made of them.
        """
        operators = _operators(forms)
        if operators in self.met:
            return False
        self._meet(operators, interpreted(nodes))
        return True

    def has_met(self, forms: Iterable[int]) -> bool:
        """Whether a graph of these operators was met before."""
        return _operators(forms) in self.met

    def spent_on(self, forms: Iterable[int]) -> float:
        """What graphs of these operators cost so far, as far as they have no outline."""
        return self.met.get(_operators(forms), 0.0)

    def pay(self, forms: Iterable[int]) -> None:
        """A program was made for a graph of these operators: the next one, should it differ, earns its own.

        Else graphs of the same operators that never come back would each have one made.
        """
        self.met[_operators(forms)] = 0.0

    def _meet(self, operators: int, cost: float) -> None:
        if len(self.met) >= _MET:
            self.met.clear()
        self.met[operators] = self.met.get(operators, 0.0) + cost

    def buys_at_once(self, nodes: list[Node]) -> bool:
        """Whether the program of a graph that comes for the first time is made."""
        return interpreted(nodes) > PLANNED + PLANNED_NODE * len(nodes)

    def lets_pass(self, nodes: list[Node]) -> bool:
        """Whether a program by formula, for shapes that are new, takes less than to interpret them."""
        return interpreted(nodes, FORMULA) > FORMULA

    def buys(self, rent: Rent, common: Rent, nodes: list[Node], has_pattern: bool, has_formula: bool) -> bool:
        """Whether the program of a graph is made now; else its interpretation is put on the bill.

        ``common``: what graphs cost that differ from it in their shapes alone; one of them has a program
        where it ``has_pattern``, and others may follow from a joint formula. So shapes that never come again
        (a sequence that grows) pay together for what they share, which are formulas, too.
        """
        if has_formula and self.lets_pass(nodes):
            return True
        enough = SHAPED + SHAPED_NODE * len(nodes)
        shared = _TOGETHER * enough if has_pattern else PLANNED + PLANNED_NODE * len(nodes)
        cost = interpreted(nodes, shared)
        rent.spent += cost
        common.spent += cost
        if common.spent <= shared and not (has_pattern and rent.spent > enough):
            return False
        common.spent = 0.0
        return True


class Newcomers:
    """Whether graphs that had not come before came back, by the lines on which they ended (Note: newcomers).

    Three kinds of coming are told apart: a newcomer's; one's after another newcomer that has not come back
    (the first step of an optimizer begins its states and is another graph than the others: it never comes
    back, and the newcomer after it does); and a second coming. ``_open``: the kind that was the latest on a
    line, until a graph comes back there; ``_latest``: the newcomer that was, until it comes again.
    """

    _NEW, _AFTER_ANOTHER, _SECOND = range(3)

    def __init__(self) -> None:
        self._expected: dict[tuple[Site | None, int], int] = {}
        self._open: dict[Site | None, int] = {}
        self._latest: dict[Site | None, tuple[Signature, ...]] = {}

    def will_return(self, site: Site | None, signatures: Iterable[Signature]) -> bool:
        """Whether the newcomer of these signatures that ends here is expected to come back."""
        if len(self._expected) >= _LINES:
            self.clear()
        self._latest[site] = tuple(signatures)
        return self._will_return(site, self._AFTER_ANOTHER if site in self._open else self._NEW)

    def will_stay(self, site: Site | None, signatures: Iterable[Signature]) -> bool:
        """Whether the graph that ends here comes for the second time, and is expected to come again."""
        if self._latest.get(site) != tuple(signatures):
            return False
        del self._latest[site]
        self.returned(site)
        return self._will_return(site, self._SECOND)

    def _will_return(self, site: Site | None, kind: int) -> bool:
        expected = self._expected.get((site, kind), 0)
        self._expected[site, kind] = max(expected - _MISSED, -_MOST)
        self._open[site] = kind
        return expected >= _EXPECTED

    def returned(self, site: Site | None) -> None:
        """A graph that ends here has come back."""
        kind = self._open.pop(site, None)
        if kind is not None:
            key = site, kind
            self._expected[key] = min(self._expected[key] + _CAME_BACK, _MOST)

    def clear(self) -> None:
        """Forget all lines."""
        self._expected.clear()
        self._open.clear()
        self._latest.clear()


class Returns:
    """Whether new shapes of a family of graphs that has a joint formula come back, as far as one can tell.

    Where few of the latest did, their programs are not kept (Note: passing programs).
    """

    __slots__ = ("_new", "_back")

    def __init__(self) -> None:
        self._new = self._back = 0

    def count_new(self) -> None:
        """Shapes came that had not been met."""
        self._new += 1
        if self._new >= 2 * _LATELY:
            self._new, self._back = self._new // 2, self._back // 2

    def count_back(self) -> None:
        """Shapes came for the second time."""
        self._back += 1

    def are_rare(self) -> bool:
        """Whether what is new most likely does not come back."""
        return self._new >= _LATELY and self._back * _RARE < self._new


def _operators(forms: Iterable[int]) -> int:
    """What graphs of the same operators have in common."""
    return hash(tuple(forms))


def interpreted(nodes: Iterable[Node], enough: float = math.inf) -> float:
    """The modelled time of the interpreter, or that of the first nodes that take longer than ``enough``."""
    total = 0.0
    for node in nodes:
        signature = node.signature
        assert signature is not None
        if not signature.price:
            signature.price = _price(signature)
        total += signature.price
        if total > enough:
            break
    return total


def _price(signature: Signature) -> float:
    more = signature.operator.price
    return OPERATOR + BYTE * signature.nbytes + (0.0 if more is None else more(signature))


ledger = Ledger()
newcomers = Newcomers()
