"""ASGD: averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operators.optimization import optimizer as rules
from ..tensor import Tensor
from ._arguments import check_at_least_zero, check_lr
from ._counters import Counters, number, rounded
from ._lists import step_lists
from ._rule_optimizer import RuleOptimizer
from .optimizer import ParamsT

__all__ = ["ASGD", "asgd"]


class ASGD(RuleOptimizer):
    r"""Averaged stochastic gradient descent (Polyak and Juditsky, 1992; constants as Bottou's).

    .. math::
        \theta_t = (1 - \lambda \eta_t) \theta_{t-1} - \eta_t g_t, \qquad
        \bar\theta_t = \bar\theta_{t-1} + \mu_t (\theta_t - \bar\theta_{t-1})

    with :math:`\eta_{t+1} = \gamma / (1 + \lambda \gamma t)^\alpha` and
    :math:`\mu_{t+1} = 1 / \max(1, t - t_0)`.
    The average is ``optimizer.state[param]["ax"]``.

    >>> import flambeau as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.ASGD([w], lr=0.5, lambd=0.0)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> optimizer.state[w]["ax"].tolist()
    [0.5, 0.5]
    """

    rule = staticmethod(rules.asgd)
    capturable_tensors = (
        "params, mus, etas, and state_steps",
        "params, mus, etas, and state_steps",
    )
    counters = ("step", "eta", "mu")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_at_least_zero(weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _state_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return ("ax",)

    def _read_counters(self, state: dict[str, Any], group: dict[str, Any]) -> Counters:
        if "eta" in state:
            return super()._read_counters(state, group)
        return {"step": 0.0, "eta": rounded(number(group["lr"])), "mu": 1.0}

    def _advance(self, group: dict[str, Any], counters: Counters) -> tuple[Sequence[Any], dict[str, bool]]:
        counters["step"] = step = counters["step"] + 1
        lr, weight_decay, lambd, alpha, t0 = self._options(
            group, "lr", "weight_decay", "lambd", "alpha", "t0"
        )
        eta, mu = counters["eta"], counters["mu"]
        counters["eta"] = rounded(number(lr / (1 + lambd * lr * step) ** alpha))
        counters["mu"] = rounded(1 / max(1, step - t0))
        return (
            (eta, weight_decay, 1 - lambd * eta, mu),
            {"maximize": group["maximize"], "decay": bool(weight_decay != 0), "averaging": mu != 1},
        )


def asgd(params: list[Tensor], grads: list[Tensor], axs: list[Tensor], mus: list[Tensor],
         etas: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None,
         maximize: bool = False, differentiable: bool = False, capturable: bool = False,
         has_complex: bool = False, *, lambd: float, lr: float, t0: float, alpha: float,
         weight_decay: float) -> None:
    """One step of `ASGD` on lists of tensors, in place."""
    step_lists(ASGD, params, grads, {"ax": axs}, {"step": state_steps, "eta": etas, "mu": mus},
               maximize=maximize, differentiable=differentiable, lambd=lambd, lr=lr, t0=t0, alpha=alpha,
               weight_decay=weight_decay)
