"""Adamax: Adam with the infinity norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operators.optimization import optimizer as rules
from ..tensor import Tensor
from ._arguments import check_at_least_zero, check_betas, check_eps, check_lr
from ._counters import Counters
from ._lists import step_lists
from ._rule_optimizer import RuleOptimizer
from .optimizer import ParamsT

__all__ = ["Adamax", "adamax"]


class Adamax(RuleOptimizer):
    r"""Adamax, the variant of Adam with the infinity norm (Kingma and Ba, 2014, section 7.1).

    .. math::
        u_t = \max(\beta_2 u_{t-1}, |g_t| + \epsilon), \qquad
        \theta_t = \theta_{t-1} - \frac{\gamma}{1 - \beta_1^t} \frac{m_t}{u_t}

    >>> import flambeau as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.Adamax([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    rule = staticmethod(rules.adamax)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_eps(eps)
        check_betas(betas)
        check_at_least_zero(weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _state_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return "exp_avg", "exp_inf"

    def _advance(self, group: dict[str, Any], counters: Counters) -> tuple[Sequence[Any], dict[str, bool]]:
        counters["step"] = step = counters["step"] + 1
        lr, weight_decay, eps = self._options(group, "lr", "weight_decay", "eps")
        beta1, beta2 = self._betas(group)
        return (
            (lr / (1 - beta1**step), weight_decay, 1 - beta1, beta2, eps),
            {"maximize": group["maximize"], "decay": bool(weight_decay != 0)},
        )


def adamax(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_infs: list[Tensor],
           state_steps: list[Tensor], foreach: bool | None = None, maximize: bool = False,
           differentiable: bool = False, capturable: bool = False, has_complex: bool = False, *,
           eps: float, beta1: float, beta2: float, lr: float, weight_decay: float) -> None:
    """One step of `Adamax` on lists of tensors, in place."""
    step_lists(Adamax, params, grads, {"exp_avg": exp_avgs, "exp_inf": exp_infs}, {"step": state_steps},
               maximize=maximize, differentiable=differentiable, eps=eps, lr=lr, weight_decay=weight_decay,
               betas=(beta1, beta2))
