"""Note: first draws. A program draws its data, or a memory of examples, before its first step, which is the
first look that is not for drawing. Nothing is gained by waiting: they would be a part of the first step's
graph alone, which would never come back. So draws at the very beginning of a graph are a graph of their own
until then, and are computed along the way where that takes long. Large ones wait: parameters, perhaps, that
are loaded over.
"""

from __future__ import annotations

from ..graph import pending

# Modelled, in nanoseconds.
_DRAW = 20e3
_ELEMENT = 30.0
_WORTH = 5e5        # of a look
_LARGEST = 1 << 17  # elements
_NODES = 3          # of a draw: itself, its values, the generator's new state

CAUSES = ("parameters", "draws")    # of looks that draw


class FirstDraws:
    """How much was drawn since the last look, until the first look that is not for drawing.

    ``nodes``: so many that were recorded first are draws and nothing else; ``cost``: to compute them.
    """

    def __init__(self) -> None:
        self.waits = True
        self.nodes = 0
        self.cost = 0.0

    def count(self, elements: int) -> bool:
        """A draw was recorded; whether it should be computed now, with those before it."""
        if elements > _LARGEST or len(pending.nodes) != self.nodes + _NODES:
            return False
        self.nodes += _NODES
        self.cost += _DRAW + _ELEMENT * elements
        return self.cost >= _WORTH

    def end(self, cause: str) -> int:
        """A look begins; how many draws it should compute first, as a graph of their own."""
        nodes, self.nodes, self.cost = self.nodes, 0, 0.0
        if cause in CAUSES:
            return 0
        self.waits = False
        return nodes if nodes < len(pending.nodes) else 0


first_draws = FirstDraws()
