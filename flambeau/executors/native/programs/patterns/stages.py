"""Stages of a program: nodes that one plan computes, and how they are planned for other shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .....graph.node import Signature
from ...plan import Plan
from .formulas import Record


class Planned:
    """Nodes that one plan computes, or the interpreter where there is none.

    ``form``: what ``planning.replan`` needs to know of several nodes to plan them for other shapes; None
    of one.
    """

    __slots__ = ("members", "plan", "form")

    def __init__(self, members: list[int], plan: Plan | None, form: tuple[Any, ...] | None) -> None:
        self.members = members
        self.plan = plan
        self.form = form


class Replan(NamedTuple):
    """The plan of a stage's members for other shapes, and for quantities (Note: formulas)."""

    plan: Callable[[Sequence[Signature]], Plan | None]
    record: Record
