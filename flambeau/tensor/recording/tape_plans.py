"""Tape plans: what the derivatives of an operator keep of its operands and results.

A signature keeps them by the operands that want gradients (``Signature.tape_plans``); ``history.py`` follows
them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ... import dtypes
from ...graph.node import Signature
from ..tape import PATIENCE, PATIENCE_WITH_VIEWS, GradFn, TapeKind, TapePlan, grad_class

NO_GRADIENT: Any = TapePlan((), TapeKind((), False, PATIENCE), True, GradFn)


def tape_plan(signature: Signature, wanted: int, count: int) -> TapePlan:
    """The plan of a signature for the operands wanted (bit i for operand i of ``count``)."""
    plan: TapePlan | None = signature.tape_plans.get(wanted)
    if plan is None:
        plan = signature.keep_tape_plan(wanted, _made_plan(signature, _needs(wanted, count)))
    return plan


@lru_cache(1 << 12)
def _needs(wanted: int, count: int) -> tuple[bool, ...]:
    return tuple([bool(wanted >> i & 1) for i in range(count)])


def _made_plan(signature: Signature, needs: tuple[bool, ...]) -> TapePlan:
    """Which operands and outputs the rules for these operands keep."""
    operator = signature.operator
    results = tuple([i for i, g in enumerate(signature.outputs) if g.dtype.category >= dtypes.FLOATING
                     and (signature.single or i not in operator.non_differentiable_outputs)])
    if not results:
        return NO_GRADIENT
    if operator.grad_class.__class__ is str:
        operator.grad_class = grad_class(operator.grad_class)
    # Shapes decide nothing here: a view's operand is a tensor, others' forms say which of theirs are.
    key = signature.form if signature.form >= 0 else operator, needs, len(operator.derivatives)
    kind = _kinds.get(key)
    if kind is None:
        kind = _kind(signature, needs)
        if kind is None:
            return NO_GRADIENT
        _kinds[key] = kind
    return TapePlan(needs, kind, signature.single, operator.grad_class, results)


def _kind(signature: Signature, needs: tuple[bool, ...]) -> TapeKind | None:
    """What the rules for these operands keep; None where there are no rules."""
    operator = signature.operator
    patience = PATIENCE_WITH_VIEWS if operator.kind == "view" else PATIENCE
    if operator.variadic_derivative is not None:
        return TapeKind((), False, patience)
    rules = [d for d in operator.derivatives for i in d.operands if needs[i]]
    if not rules:
        return None
    kept = tuple(dict.fromkeys([k for d in rules for k in d.keeps]))
    return TapeKind(kept, any(d.frees(signature.geometries) for d in rules), patience)


# By form, or operator of views, operands that want gradients, and how many rules there are.
_kinds: dict[Any, TapeKind] = {}
