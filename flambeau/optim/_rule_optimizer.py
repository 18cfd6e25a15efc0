"""RuleOptimizer: an optimizer whose step is one update rule, for all parameters of a group at once.

Note: counters. What a step needs to know of its number (the bias corrections of Adam, say) are plain numbers,
equal for all parameters that were stepped together. They are kept as Python numbers in the plan of a group,
one set for all its parameters, so that a step creates no tensor and reads none. ``optimizer.state`` shows
them as PyTorch does, as zero-dimensional tensors: they are written there whenever somebody asks for the
state, and read back by the step that follows, since whoever asked may have changed them. Those that
somebody still holds when that step begins are written by each step (``_counters.py``).
"""

from __future__ import annotations

import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, ClassVar

from .. import operators as ops
from ..autograd import enable_grad
from ..naming import own
from ..operators.optimization.multi_tensor import gradients, suits
from ..operators.pointwise.complex_numbers import as_reals
from ..tensor import Tensor
from ..tensor import state as mode
from ..tensor.overrides import active as sparse_possible
from ._apply import Rule, apply_rule
from ._arguments import check_fused_parameters
from ._columns import can_join, is_joined, join, separate, whole
from ._counters import Counters, Shown, counter_tensor, held, number, shown
from .optimizer import Optimizer


class Cohort:
    """Parameters of one group that share their counters, with their states as columns.

    ``at``: where they are among the group's parameters that have gradients; None if they are all of them.
    ``joined``: the columns as one tensor each (Note: joined states), or None. ``shown``: its counters that
    somebody holds.
    """

    __slots__ = ("params", "at", "states", "joined", "counters", "targets", "complex_at", "shown")

    def __init__(self, counters: Counters) -> None:
        self.counters = counters
        self.params: list[Tensor] = []
        self.at: list[int] | None = []
        self.states: list[list[Tensor] | None] = []
        self.joined: list[list[Tensor] | None] | None = None
        self.targets: list[Tensor] = []
        self.complex_at: list[int] = []
        self.shown: list[Shown] = []


class _Plan:
    """How a group is stepped while the same parameters have gradients and the same states are in use."""

    __slots__ = ("live", "names", "cohorts")

    def __init__(self, live: list[Tensor], names: tuple[str | None, ...], cohorts: list[Cohort]) -> None:
        self.live = live
        self.names = names
        self.cohorts = cohorts

    def fits(self, live: list[Tensor], names: tuple[str | None, ...]) -> bool:
        return len(live) == len(self.live) and names == self.names and all(map(operator.is_, live, self.live))


class RuleOptimizer(Optimizer):
    """Base of the optimizers that update each element of a parameter by itself.

    A subclass names its `rule` and its `counters`, and implements :meth:`_state_names` and :meth:`_advance`.
    The state of a parameter is made at its first step.
    """

    rule: ClassVar[Rule]
    counters: ClassVar[tuple[str, ...]] = ("step",)
    # What PyTorch's message on capturable=True names, for one tensor at a time and for all at once.
    capturable_tensors: ClassVar[tuple[str, str]] = ("params and state_steps",) * 2
    capturable_on_xla: ClassVar[tuple[bool, bool]] = (True, False)
    sparse_message: ClassVar[str] = "{} does not support sparse gradients"

    _plans: dict[int, _Plan]
    _laid_out: set[int]  # groups whose states were laid out before: only the first time they are joined
    _unpublished: dict[Tensor, Counters]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own(cls, "step")

    # -- what a subclass says
    # ------------------------------------------------------------------------------------

    def _state_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        """The names of the rule's states, in the rule's order; ``None`` for one not in use."""
        raise NotImplementedError

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The state of a parameter before its first step: counters, and zeros for the rule's states."""
        counters = self._read_counters({}, group)
        states = [name for name in self._state_names(group) if name is not None]
        return {**{name: counter_tensor(value, group.get("fused")) for name, value in counters.items()},
                **{name: ops.zeros_like(param) for name in states}}

    def _advance(self, group: dict[str, Any], counters: Counters) -> tuple[Sequence[Any], dict[str, bool]]:
        """Count this step in `counters`; return the rule's numbers and flags."""
        raise NotImplementedError

    def _read_counters(self, state: dict[str, Any], group: dict[str, Any]) -> Counters:
        """The counters of a parameter as its state shows them; zero before its first step."""
        return {name: float(number(state[name])) if name in state else 0.0 for name in self.counters}

    # -- the step
    # ------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; `closure` recomputes the loss, and its value is returned."""
        before = mode.enabled
        try:  # rather than a context manager: Ctrl-C may fall between any two function calls
            mode.enabled = bool(self.defaults.get("differentiable", False))
            loss = None
            if closure is not None:
                with enable_grad():
                    loss = closure()
            for index, group in enumerate(self.param_groups):
                self._step_group(index, group)
            return loss
        finally:
            mode.enabled = before

    def _step_group(self, index: int, group: dict[str, Any]) -> None:
        live = group["params"]
        grads = gradients(live)
        if True in map(operator.is_, grads, repeat(None)):
            live = [p for p, grad in zip(live, grads) if grad is not None]
            grads = gradients(live)
            if not live:
                return
        if sparse_possible() and any(grad._sparse for grad in grads):
            live, grads = self._step_sparse(index, live, grads, group)
            if not live:
                return
        names = self._state_names(group)
        plan = self._plans.get(index)
        if plan is None or not plan.fits(live, names) or self._take_back(plan):
            plan = self._make_plan(index, list(live), names, group)
        for cohort in plan.cohorts:
            numbers, flags = self._advance(group, cohort.counters)
            for one in cohort.shown:
                one.show(cohort.counters)
            own = grads if cohort.at is None else [grads[k] for k in cohort.at]
            for position in cohort.complex_at:
                own[position] = as_reals(own[position])
            self._update(cohort, own, numbers, flags)

    def _step_sparse(
        self, index: int, live: list[Tensor], grads: list[Tensor], group: dict[str, Any]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Step the parameters whose gradients are sparse; return the others, with their gradients."""
        dense = [(p, grad) for p, grad in zip(live, grads) if not grad._sparse]
        if not dense:
            self._drop_plan(index)
        for p, grad in zip(live, grads):
            if grad._sparse:
                self._step_one_sparse(p, grad, group)
        return [p for p, _ in dense], [grad for _, grad in dense]

    def _step_one_sparse(self, p: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        raise RuntimeError(self.sparse_message.format(type(self).__name__))

    def _shown_state(self, p: Tensor) -> dict[str, Any]:
        """The state of a parameter that is in no plan, counters included (Note: counters)."""
        for name, value in (self._unpublished.pop(p, None) or {}).items():
            if name in self._state[p]:
                self._state[p][name] = shown(self._state[p][name], value)
        found: dict[str, Any] = self._state[p]
        return found

    def _update(
        self, cohort: Cohort, grads: list[Tensor], numbers: Sequence[Any], flags: dict[str, bool]
    ) -> None:
        apply_rule(type(self).rule, cohort.targets, grads, cohort.states, numbers, flags, cohort.joined)

    def _options(self, group: dict[str, Any], *names: str) -> list[Any]:
        """Options of a group as Python numbers; as they are if the step itself is to be differentiated."""
        if group.get("differentiable"):
            return [group[name] for name in names]
        return [number(group[name]) for name in names]

    def _betas(self, group: dict[str, Any]) -> tuple[Any, Any]:
        beta1, beta2 = group["betas"]
        return (beta1, beta2) if group.get("differentiable") else (number(beta1), number(beta2))

    # -- plans
    # ---------------------------------------------------------------------------------------------------

    def _make_plan(
        self, index: int, live: list[Tensor], names: tuple[str | None, ...], group: dict[str, Any]
    ) -> _Plan:
        self._drop_plan(index)
        self._check_group(live, group)
        cohorts = self._cohorts_of(live, names, group)
        for cohort in cohorts:
            if len(cohorts) == 1:
                cohort.at = None
            self._lay_out(cohort, names, index not in self._laid_out)
            cohort.shown = held(self._state, cohort.params, self.counters)
        self._laid_out.add(index)
        plan = self._plans[index] = _Plan(live, names, cohorts)
        return plan

    def _cohorts_of(
        self, live: list[Tensor], names: tuple[str | None, ...], group: dict[str, Any]
    ) -> list[Cohort]:
        """The parameters by what they have counted; states that they have not yet are made."""
        cohorts: dict[tuple[Any, ...], Cohort] = {}
        times: Counter[Tensor] = Counter()
        for position, p in enumerate(live):
            state = self._state.get(p, {})
            counters = self._unpublished.pop(p, None) or self._read_counters(state, group)
            if any(state.get(name) is None for name in (*self.counters, *names) if name is not None):
                # Also where a changed option puts another state into use.
                for name, value in self._new_state(p, group).items():
                    if state.get(name) is None:
                        self._state[p][name] = value
            # A parameter given twice is stepped twice, one after the other.
            key = (*counters.values(), p.dtype if suits(p._geometry) else None, times[p])
            times[p] += 1
            cohort = cohorts.setdefault(key, Cohort(dict(counters)))
            cohort.params.append(p)
            assert cohort.at is not None
            cohort.at.append(position)
        return list(cohorts.values())

    def _lay_out(self, cohort: Cohort, names: tuple[str | None, ...], first: bool) -> None:
        """Fill the columns that the rule is applied to; complex tensors are pairs of real numbers to it."""
        cohort.complex_at = [i for i, p in enumerate(cohort.params) if p.is_complex()]
        columns = [
            cohort.params,
            *([self._state[p][name] for p in cohort.params] if name else None for name in names),
        ]
        for position in cohort.complex_at:
            for column in columns[1:]:
                if column is not None:
                    column[position] = as_reals(column[position])
        cohort.targets = [as_reals(p) if p.is_complex() else p for p in cohort.params]
        cohort.states = columns[1:]
        if not cohort.complex_at and not self.defaults.get("differentiable"):
            self._join(cohort, first)

    def _join(self, cohort: Cohort, first: bool) -> None:
        """Join the states, or find them joined, or take them apart (Note: joined states)."""
        used = [(k, column) for k, column in enumerate(cohort.states) if column is not None]
        if not all(is_joined(column) for _, column in used):
            move = join if first and all(can_join(x, cohort.params) for _, x in used) else separate
            for _, column in used:
                move(column)
            if move is separate:
                return
        if used:
            cohort.joined = [None if column is None else [whole(column)] for column in cohort.states]

    def _check_group(self, live: list[Tensor], group: dict[str, Any]) -> None:
        """What is worth checking only when something has changed."""
        if group.get("capturable"):
            tensors = self.capturable_tensors[bool(group.get("foreach"))]
            named = self.capturable_on_xla[bool(group.get("foreach"))]
            devices = "'cuda', 'xpu', 'hpu', 'privateuseone'" + (", 'xla'" if named else "")
            raise AssertionError(
                f"If capturable=True, {tensors} must be on supported devices: "
                f"[{devices}]."
            )
        if group.get("foreach") and group.get("differentiable"):
            raise AssertionError("_foreach ops don't support autograd")
        if group.get("fused"):
            check_fused_parameters(live)

    def _take_back(self, plan: _Plan) -> bool:
        """Take counters over that were written by those who hold them; whether there are any."""
        written = [(one, one.tensor.clone()) for cohort in plan.cohorts for one in cohort.shown
                   if one.is_written()]
        if written:
            self.state  # noqa: B018  (the others are shown as they are)
        for one, value in written:
            one.tensor.copy_(value)
        return bool(written)

    def _drop_plan(self, index: int) -> None:
        plan = self._plans.pop(index, None)
        if plan is not None:
            for cohort in plan.cohorts:
                for p in cohort.params:
                    self._unpublished[p] = cohort.counters

    # -- the state as others see it (Note: counters)
    # -------------------------------------------------------------

    @property
    def state(self) -> defaultdict[Any, Any]:
        """What is remembered of each parameter, as a dictionary of dictionaries keyed by the parameter."""
        for index in list(self._plans):
            self._drop_plan(index)
        for p, counters in self._unpublished.items():
            for name in self.counters:
                self._state[p][name] = shown(self._state[p].get(name), counters[name])
        self._unpublished.clear()
        return self._state

    @state.setter
    def state(self, value: defaultdict[Any, Any]) -> None:
        self._state = value
        self._plans = {}
        self._laid_out = set()
        self._unpublished = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name in ("foreach", "fused"):
                if name in self.defaults:
                    group.setdefault(name, None)
            for name in ("maximize", "differentiable", "capturable", "decoupled_weight_decay"):
                if name in self.defaults:
                    group.setdefault(name, False)
        fused = {p for group in self.param_groups if group.get("fused") for p in group["params"]}
        for p, of_param in self._state.items():
            if isinstance(of_param, dict):
                for name in self.counters:
                    if name in of_param and not isinstance(of_param[name], Tensor):
                        of_param[name] = counter_tensor(of_param[name], p in fused)
