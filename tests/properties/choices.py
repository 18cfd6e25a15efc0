"""Hypothesis' choices without the numbers that it collects from the source under test.

Hypothesis draws, at times, a number that occurs in a module of the project. Then every edited line gives
other programs, and a failing one is found on another machine than where the line was edited.
"""

from __future__ import annotations

from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.internal.constants_ast import Constants

BACKEND = "without-local-constants"


class WithoutLocalConstants(HypothesisProvider):
    """The same choices for the same test, whatever the source says."""

    @property
    def _local_constants(self) -> Constants:
        return Constants()


AVAILABLE_PROVIDERS[BACKEND] = f"{__name__}.{WithoutLocalConstants.__qualname__}"
