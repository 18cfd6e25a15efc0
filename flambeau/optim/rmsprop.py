"""RMSprop."""

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

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(RuleOptimizer):
    r"""RMSprop (Hinton, 2012, lecture notes); `centered` is the variant of Graves (arXiv:1308.0850).

    .. math::
        v_t = \alpha v_{t-1} + (1 - \alpha) g_t^2, \qquad
        b_t = \mu b_{t-1} + g_t / (\sqrt{v_t} + \epsilon), \qquad \theta_t = \theta_{t-1} - \gamma b_t

    `centered` takes the square of the mean gradient from :math:`v_t`.

    >>> import flambeau as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([w], lr=0.05)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    rule = staticmethod(rules.rmsprop)
    capturable_on_xla = (True, True)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_eps(eps)
        check_at_least_zero(momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("momentum", 0)
            group.setdefault("centered", False)

    def _state_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return (
            "square_avg",
            "momentum_buffer" if group["momentum"] > 0 else None,
            "grad_avg" if group["centered"] else None,
        )

    def _advance(self, group: dict[str, Any], counters: Counters) -> tuple[Sequence[Any], dict[str, bool]]:
        counters["step"] += 1
        lr, weight_decay, momentum, alpha, eps = self._options(
            group, "lr", "weight_decay", "momentum", "alpha", "eps"
        )
        return (
            (lr, weight_decay, momentum, alpha, 1 - alpha, eps),
            {"maximize": group["maximize"], "decay": bool(weight_decay != 0)},
        )


def rmsprop(params: list[Tensor], grads: list[Tensor], square_avgs: list[Tensor], grad_avgs: list[Tensor],
            momentum_buffer_list: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None,
            maximize: bool = False, differentiable: bool = False, capturable: bool = False,
            has_complex: bool = False, *, lr: float, alpha: float, eps: float, weight_decay: float,
            momentum: float, centered: bool) -> None:
    """One step of `RMSprop` on lists of tensors, in place.

    >>> import flambeau as torch
    >>> from flambeau.optim.rmsprop import rmsprop
    >>> w, square, step = torch.ones(2), torch.zeros(2), torch.tensor(0.0)
    >>> options = dict(alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False)
    >>> rmsprop([w], [torch.ones(2)], [square], [], [], [step], lr=0.01, **options)
    >>> w
    tensor([0.9000, 0.9000])
    """
    step_lists(RMSprop, params, grads,
               {"square_avg": square_avgs, "momentum_buffer": momentum_buffer_list, "grad_avg": grad_avgs},
               {"step": state_steps}, maximize=maximize, differentiable=differentiable, lr=lr, alpha=alpha,
               eps=eps, weight_decay=weight_decay, momentum=momentum, centered=centered)
