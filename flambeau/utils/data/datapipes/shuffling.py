"""What both shufflers share: whether they shuffle, and with which seed."""

from __future__ import annotations

import random
from typing import Any, Self

from ..sampler import draw_seed
from .datapipe import IterDataPipe


class SeededPipe(IterDataPipe[Any]):
    """A pipe with a random generator of its own. A seed that is set holds for one epoch."""

    def __init__(self) -> None:
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> Self:
        """Shuffle, or let samples pass in order."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Self:
        """The seed of the next epoch."""
        self._seed = seed
        return self

    def _begin_epoch(self) -> None:
        """Seed the generator: as it was set, or by a draw from the default one."""
        self._rng.seed(draw_seed() if self._seed is None else self._seed)
        self._seed = None

    def _set_rng_state(self, state: Any) -> None:
        self._rng = random.Random()
        self._rng.setstate(state)
