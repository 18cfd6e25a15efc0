"""Head starts: the first part of a graph runs while the rest of it is recorded.

Note: head starts. Where a program looks at a value again and again (a token at a time), its kernels wait for
the graph to be recorded, and recording waits for the kernels. So a graph that came again and again at one
line is cut where few values cross: once its first part has been recorded, a helping thread begins to run it
(Note: driving ahead), and the look waits for both. The nodes that were begun stay pending until then: whoever
wants a value has to look, and a look ends what was begun first. Where to cut, and whether that pays, follows
from the graphs that came and from the cost model, not from a clock. Both parts are graphs as others are.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from ..config import settings
from ..executors import native
from ..executors.native.tiers import form_of
from ..graph import pending
from ..graph.node import Node
from ..graph.site import Site

LEAST_NODES = 24        # of a graph that may be worth a head start
_LEAST_TIME = 60e3      # modelled nanoseconds of the graph
_ROUNDS = 16            # in which as many nodes were recorded for one line, before its graph is cut
_CROSSING = 2           # values that the second part reads of the first one, at most
_EARLIEST, _LATEST = 0.45, 0.75     # the share of nodes in the first part
_LINES = 1 << 12        # that are remembered
_MISSES = 1000          # first parts that were not known, beside two for each that was, before no more is cut


class _Line:
    """A line that looks: how many nodes it computed the last time, and how often it was as many since.

    ``first_part``: the forms of the nodes that are begun ahead, if any are; ``taken``, ``missed``: how often
    they were, and how often they could not be. ``is_settled``: it is known whether any are.
    """

    __slots__ = ("nodes", "rounds", "first_part", "taken", "missed", "is_settled")

    def __init__(self) -> None:
        self.nodes = self.rounds = self.taken = self.missed = 0
        self.first_part: list[int] = []
        self.is_settled = False


class HeadStarts:
    """The lines that look at large graphs, and what was begun for the next look.

    ``at``: how many nodes the first part of the next graph has; 0: it is not begun ahead. ``part``: how many
    nodes were computed ahead for the next look, the last one recorded at ``site``; ``begun``: what runs.
    ``is_curious``: the line that is expected came often enough for its next graph to be studied. ``graphs``:
    what begins known graphs.
    """

    def __init__(self) -> None:
        self.lines: dict[Site, _Line] = {}
        self.expected: _Line | None = None
        self.expected_at: Site | None = None
        self.is_curious = False
        self.at = self.part = 0
        self.begun: Any = None
        self.site: Site | None = None
        self.graphs: Any = None

    def study(self, nodes: list[Node], site: Site) -> None:
        """A look begins: whether the graph of this line, which came often, is to be cut from now on."""
        self.is_curious = False
        line = self.lines.get(site)
        if line is None or line.is_settled or line.rounds < _ROUNDS:
            return
        line.rounds = 0
        if len(nodes) != line.nodes:
            return
        graphs = native.known_graphs()
        time = graphs.modelled(nodes) if graphs is not None and settings.threads > 1 else None
        if time is None:
            return
        line.is_settled = True
        if time >= _LEAST_TIME:
            line.first_part = [*map(form_of, nodes[:_cut_of(nodes)])]
            self.graphs = graphs

    def count(self, site: Site, computed: int) -> None:
        """A line has looked, and so many nodes were computed natively."""
        computed, self.part = computed + self.part, 0
        if computed < LEAST_NODES:
            return
        line = self.expected if site == self.expected_at else self.lines.get(site)
        if line is None:
            line = self._new_line(site)
        line.rounds = line.rounds + 1 if line.nodes == computed else 0
        line.nodes = computed
        if line.missed > _MISSES + 2 * line.taken:
            line.first_part = []
        self.expected, self.expected_at, self.at = line, site, len(line.first_part)
        self.is_curious = line.rounds >= _ROUNDS and not line.is_settled and settings.threads > 1
        if self.at:
            settings.check_at = self.at - 1

    def _new_line(self, site: Site) -> _Line:
        if len(self.lines) >= _LINES:
            self.forget()
        line = self.lines[site] = _Line()
        return line

    def forget(self) -> None:
        """Let no line have looked."""
        self.lines.clear()
        self.expected_at = None

    def is_due(self, nodes: list[Node]) -> bool:
        """As many nodes are pending as the first part has; whether they are it."""
        self.at = 0
        assert self.expected is not None
        return [*map(form_of, nodes)] == self.expected.first_part

    def begin(self, nodes: list[Node]) -> bool:
        """Let the first part run, which is pending, if it is a graph that is known; whether it does."""
        assert self.expected is not None
        self.part, self.site = len(nodes), nodes[-1].site
        self.begun = entry = self.graphs.known(nodes)   # first, as an interrupt may fall between
        if entry is not None and entry.ahead.begin(nodes):
            self.expected.taken += 1
            return True
        self.begun = None
        self.expected.missed += 1
        return False

    def finish(self, live: list[Node]) -> list[Node]:
        """End what was begun: the nodes that failed."""
        failed: list[Node] = self.graphs.finish(self.begun, pending.nodes, live)
        self.begun = None   # last, for the same reason
        return failed


def _cut_of(nodes: list[Node]) -> int:
    """Behind how many nodes to cut a graph; 0 if too many values would cross."""
    place = {id(node): i for i, node in enumerate(nodes)}
    last = [*range(len(nodes))]     # by which each is read
    for i, node in enumerate(nodes):
        for operand in node.operands:
            if (k := place.get(id(operand))) is not None:
                last[k] = i
    change = [0] * (len(nodes) + 1)
    for i, reader in enumerate(last):
        change[i + 1] += 1
        change[reader + 1] -= 1
    crossing = [*accumulate(change)]
    first, after = int(len(nodes) * _EARLIEST), int(len(nodes) * _LATEST)
    middle = (first + after) // 2
    best = min(range(first, after), key=lambda cut: (crossing[cut], abs(cut - middle)))
    return best if crossing[best] <= _CROSSING else 0


head_starts = HeadStarts()
