"""Which plans compute a graph, and which compute one that differs from it in shapes alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....graph.node import Node, Signature
from ...fusion.binding import bind
from ...fusion.following import Followed, joined
from ...fusion.refit import Fit
from ...fusion.schedule import References, Unit, kernel, schedule
from ...fusion.side_by_side import SideBySide, side_by_side
from .stages import Planned, Replan


def planned(nodes: list[Node]) -> list[Planned]:
    """What computes the nodes (last one first), in order: a function of their outline and signatures."""
    found: list[Planned] = []
    for unit in side_by_side(joined(schedule(nodes), nodes), nodes):
        plan = unit.plan
        if unit.fused and unit.space is not None:
            own = [s for k in unit.members for s in [nodes[k].signature] if s is not None]
            plan = bind(unit, own, unit.space, unit.dims)
        found.append(Planned(unit.members, plan, _form(unit) if plan is not None else None))
    return found


def replan(stage: Planned, signatures: Sequence[Signature]) -> Replan:
    """How a stage of several nodes, which have these signatures, is planned for others."""
    assert stage.form is not None
    if stage.form[0] == "side by side":
        together = SideBySide(stage.members)
        return Replan(together.plan_for, together.record)
    if stage.form[0] == "followed":
        return _followed(stage, signatures)
    fit = Fit(_unit(stage.members, stage.form), signatures)
    return Replan(fit.plan, fit.record)


def _form(unit: Unit) -> tuple[Any, ...] | None:
    """What other shapes of a unit have in common: text and numbers, for ``replan``."""
    if isinstance(unit, Followed):
        return "followed", _form(unit.kernel), unit.source, unit.kept
    if isinstance(unit, SideBySide):
        return ("side by side",)
    if unit.references is None:
        return None
    return "fused", unit.references.operands, unit.stored, unit.dims, unit.levels


def _unit(members: list[int], form: tuple[Any, ...]) -> Unit:
    _, operands, stored, dims, levels = form
    return kernel(members, References(operands), stored, dims, levels)


def _followed(stage: Planned, signatures: Sequence[Signature]) -> Replan:
    assert stage.form is not None
    _, form, source, kept = stage.form
    product, *members = stage.members
    unit = Followed(product, _unit(members, form), source, kept)
    unit.fit = Fit(unit.kernel, signatures[1:])
    return Replan(unit.plan_for, unit.record)
