"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operators.optimization import optimizer as rules
from ..tensor import Tensor
from ._arguments import check_at_least_zero, check_betas, check_eps, check_lr
from ._counters import Counters, rounded
from ._lists import step_lists
from ._rule_optimizer import RuleOptimizer
from .optimizer import ParamsT

__all__ = ["NAdam", "nadam"]


class NAdam(RuleOptimizer):
    r"""NAdam (Dozat, 2016, "Incorporating Nesterov Momentum into Adam").

    With :math:`\mu_t = \beta_1 (1 - 0.96^{t \psi} / 2)`

    .. math::
        \hat m_t = \frac{\mu_{t+1} m_t}{1 - \prod_{i=1}^{t+1} \mu_i}
        + \frac{(1 - \mu_t) g_t}{1 - \prod_{i=1}^t \mu_i},
        \qquad \theta_t = \theta_{t-1} - \gamma \hat m_t / (\sqrt{\hat v_t} + \epsilon)

    >>> import flambeau as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.NAdam([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.4718, 0.4718], requires_grad=True)
    """

    rule = staticmethod(rules.nadam)
    capturable_tensors = (
        "params, mu_products and state_steps",
        "params, mu_products, and state_steps",
    )
    counters = ("step", "mu_product")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_at_least_zero(weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def _state_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return "exp_avg", "exp_avg_sq"

    def _read_counters(self, state: dict[str, Any], group: dict[str, Any]) -> Counters:
        counters = super()._read_counters(state, group)
        return counters if "mu_product" in state else {**counters, "mu_product": 1.0}

    def _advance(self, group: dict[str, Any], counters: Counters) -> tuple[Sequence[Any], dict[str, bool]]:
        counters["step"] = step = counters["step"] + 1
        lr, weight_decay, eps, momentum_decay = self._options(
            group, "lr", "weight_decay", "eps", "momentum_decay"
        )
        beta1, beta2 = self._betas(group)
        mu = beta1 * (1 - 0.5 * 0.96 ** (step * momentum_decay))
        mu_next = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * momentum_decay))
        counters["mu_product"] = product = rounded(counters["mu_product"] * rounded(mu))
        numbers = (
            lr * (1 - mu) / (1 - product),
            lr * mu_next / (1 - product * mu_next),
            weight_decay,
            1 - lr * weight_decay,
            1 - beta1,
            beta2,
            1 - beta2,
            1 - beta2**step,
            eps,
        )
        return numbers, {
            "maximize": group["maximize"],
            "decay": bool(weight_decay != 0),
            "decoupled": group["decoupled_weight_decay"],
        }


def nadam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
          mu_products: list[Tensor], state_steps: list[Tensor], decoupled_weight_decay: bool = False,
          foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
          has_complex: bool = False, maximize: bool = False, *, beta1: float, beta2: float, lr: float,
          weight_decay: float, momentum_decay: float, eps: float) -> None:
    """One step of `NAdam` on lists of tensors, in place."""
    step_lists(NAdam, params, grads, {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs},
               {"step": state_steps, "mu_product": mu_products},
               decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable,
               maximize=maximize, lr=lr, weight_decay=weight_decay, momentum_decay=momentum_decay, eps=eps,
               betas=(beta1, beta2))
