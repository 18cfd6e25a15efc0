"""What computed a look's graph, and how fast, kernel by kernel, while ``config.kernel_times`` is on."""

from __future__ import annotations

from types import CodeType
from typing import NamedTuple


class KernelTime(NamedTuple):
    """One kernel of one run.

    ``modelled`` and ``seconds``: the time that the cost model expects, and that it took; 0 where the model
    has none. ``flops`` and ``traffic`` (bytes) are the model's.
    """

    name: str
    tier: str
    site: tuple[CodeType, int] | None
    seconds: float
    modelled: float = 0.0
    flops: float = 0.0
    traffic: float = 0.0


measured: list[KernelTime] = []

# How the current look's graph is computed, if not by the interpreter: "native", and before it whether its
# program is "new", or made of one for "new shapes".
ran: list[str] = []
