"""Adadelta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operators.optimization import optimizer as rules
from ..tensor import Tensor
from ._arguments import check_at_least_zero, check_eps, check_lr
from ._counters import Counters
from ._lists import step_lists
from ._rule_optimizer import RuleOptimizer
from .optimizer import ParamsT

__all__ = ["Adadelta", "adadelta"]


class Adadelta(RuleOptimizer):
    r"""Adadelta (Zeiler, 2012, https://arxiv.org/abs/1212.5701).

    .. math::
        v_t &= \rho v_{t-1} + (1 - \rho) g_t^2, \qquad
        \Delta_t = \frac{\sqrt{u_{t-1} + \epsilon}}{\sqrt{v_t + \epsilon}} g_t \\
        u_t &= \rho u_{t-1} + (1 - \rho) \Delta_t^2, \qquad \theta_t = \theta_{t-1} - \gamma \Delta_t

    >>> import flambeau as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.Adadelta([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9984, 0.9984], requires_grad=True)
    """

    rule = staticmethod(rules.adadelta)
    capturable_on_xla = (False, False)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_eps(eps)
        check_at_least_zero(weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "capturable": capturable,
                "foreach": foreach,
                "differentiable": differentiable,
            },
        )

    def _state_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return "square_avg", "acc_delta"

    def _advance(self, group: dict[str, Any], counters: Counters) -> tuple[Sequence[Any], dict[str, bool]]:
        counters["step"] += 1
        lr, weight_decay, rho, eps = self._options(group, "lr", "weight_decay", "rho", "eps")
        return (
            (lr, weight_decay, rho, 1 - rho, eps),
            {"maximize": group["maximize"], "decay": bool(weight_decay != 0)},
        )


def adadelta(params: list[Tensor], grads: list[Tensor], square_avgs: list[Tensor],
             acc_deltas: list[Tensor], state_steps: list[Tensor], capturable: bool = False,
             foreach: bool | None = None, differentiable: bool = False, has_complex: bool = False, *,
             lr: float, rho: float, eps: float, weight_decay: float, maximize: bool) -> None:
    """One step of `Adadelta` on lists of tensors, in place."""
    step_lists(Adadelta, params, grads, {"square_avg": square_avgs, "acc_delta": acc_deltas},
               {"step": state_steps}, differentiable=differentiable, lr=lr, rho=rho, eps=eps,
               weight_decay=weight_decay, maximize=maximize)
