"""RAdam: Adam with a rectified learning rate."""

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

__all__ = ["RAdam", "radam"]


class RAdam(RuleOptimizer):
    r"""RAdam (Liu et al., 2019, https://arxiv.org/abs/1908.03265).

    With :math:`\rho_\infty = 2 / (1 - \beta_2) - 1` and
    :math:`\rho_t = \rho_\infty - 2 t \beta_2^t / (1 - \beta_2^t)`, the step of Adam is multiplied by

    .. math:: r_t = \sqrt{\frac{(\rho_t - 4)(\rho_t - 2)\rho_\infty}{(\rho_\infty - 4)(\rho_\infty -
    2)\rho_t}}

    where :math:`\rho_t > 5`; before that it is plain momentum, :math:`\gamma \hat m_t`.

    >>> import flambeau as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.RAdam([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    rule = staticmethod(rules.radam)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
                "differentiable": differentiable,
            },
        )

    def _state_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return "exp_avg", "exp_avg_sq"

    def _advance(self, group: dict[str, Any], counters: Counters) -> tuple[Sequence[Any], dict[str, bool]]:
        counters["step"] = step = counters["step"] + 1
        lr, weight_decay, eps = self._options(group, "lr", "weight_decay", "eps")
        beta1, beta2 = self._betas(group)
        correction2 = 1 - beta2**step
        most = 2 / (1 - beta2) - 1
        samples = most - 2 * step * beta2**step / correction2
        rectify = bool(samples > 5.0)
        rectification = (
            ((samples - 4) * (samples - 2) * most / ((most - 4) * (most - 2) * samples)) ** 0.5
            if rectify
            else 1.0
        )
        numbers = (
            lr,
            weight_decay,
            1 - lr * weight_decay,
            1 - beta1,
            beta2,
            1 - beta2,
            1 - beta1**step,
            correction2**0.5,
            rectification,
            eps,
        )
        return numbers, {
            "maximize": group["maximize"],
            "decay": bool(weight_decay != 0),
            "decoupled": group["decoupled_weight_decay"],
            "rectify": rectify,
        }


def radam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
          state_steps: list[Tensor], decoupled_weight_decay: bool = False, foreach: bool | None = None,
          differentiable: bool = False, capturable: bool = False, has_complex: bool = False,
          maximize: bool = False, *, beta1: float, beta2: float, lr: float, weight_decay: float,
          eps: float) -> None:
    """One step of `RAdam` on lists of tensors, in place."""
    step_lists(RAdam, params, grads, {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs},
               {"step": state_steps}, decoupled_weight_decay=decoupled_weight_decay,
               differentiable=differentiable, maximize=maximize, lr=lr, weight_decay=weight_decay, eps=eps,
               betas=(beta1, beta2))
