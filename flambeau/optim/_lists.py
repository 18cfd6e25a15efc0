"""One step of an update rule on lists of tensors: the functional form of the optimizers.

Lists of states are in the order of the parameters; what the step counts (Note: counters) is written back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operators.pointwise.complex_numbers import as_reals
from ..tensor import Tensor
from ._apply import apply_rule
from ._counters import Counters, number
from ._rule_optimizer import RuleOptimizer

Lists = dict[str, Sequence[Any]]


def step_lists(kind: type[RuleOptimizer], params: Sequence[Tensor], grads: Sequence[Tensor], states: Lists,
               counters: Lists, *, fused: bool | None = None, grad_scale: Tensor | None = None,
               found_inf: Tensor | None = None, **group: Any) -> None:
    """Write one step into ``params``, ``states`` and ``counters``, under the options ``group``.

    In fused steps gradients are divided by ``grad_scale``; nothing happens if ``found_inf`` is not zero.
    """
    if not fused and (grad_scale is not None or found_inf is not None):
        raise AssertionError("Expected grad_scale and found_inf to be None")
    if found_inf is not None and found_inf.item():
        return
    if grad_scale is not None:
        grads = [grad / grad_scale for grad in grads]
    optimizer = object.__new__(kind)    # for its rule alone: it holds no parameters
    names = optimizer._state_names(group)
    cohorts: dict[tuple[float, ...], list[int]] = {}
    for i in range(len(params)):
        cohorts.setdefault(tuple(float(number(column[i])) for column in counters.values()), []).append(i)
    for counted, members in cohorts.items():
        now: Counters = dict(zip(counters, counted))
        numbers, flags = optimizer._advance(group, now)
        columns = [None if name is None else [_real(states[name][i]) for i in members] for name in names]
        own, given = ([_real(column[i]) for i in members] for column in (params, grads))
        apply_rule(kind.rule, own, given, columns, numbers, flags)
        for name, column in counters.items():
            for i in members:
                if isinstance(column[i], Tensor):
                    column[i].fill_(now[name])


def _real(x: Tensor) -> Tensor:
    """Complex tensors are pairs of real numbers to a rule."""
    return as_reals(x) if x.is_complex() else x
