"""Rprop: resilient backpropagation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import operators as ops
from ..operators.optimization import optimizer as rules
from ..tensor import Tensor
from ._arguments import check_lr
from ._counters import Counters, counter_tensor, number
from ._lists import step_lists
from ._rule_optimizer import RuleOptimizer
from .optimizer import ParamsT

__all__ = ["Rprop", "rprop"]


class Rprop(RuleOptimizer):
    r"""Resilient backpropagation (Riedmiller and Braun, 1993).

    Each element has a step size of its own: multiplied by :math:`\eta^+` while its gradient keeps the sign,
    by :math:`\eta^-` where it turns, and kept between the two `step_sizes`. The parameter moves by it against
    the sign of the gradient, and rests where the sign has turned.

    >>> import flambeau as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.Rprop([w], lr=0.25)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.75, 0.75]
    """

    rule = staticmethod(rules.rprop)
    capturable_on_xla = (True, True)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _state_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return "prev", "step_size"

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = number(group["lr"])
        size = complex(lr, lr) if param.is_complex() else lr
        return {
            "step": counter_tensor(0),
            "prev": ops.zeros_like(param),
            "step_size": ops.full_like(param, size),
        }

    def _advance(self, group: dict[str, Any], counters: Counters) -> tuple[Sequence[Any], dict[str, bool]]:
        counters["step"] += 1
        return (*group["etas"], *group["step_sizes"]), {"maximize": group["maximize"]}


def rprop(params: list[Tensor], grads: list[Tensor], prevs: list[Tensor], step_sizes: list[Tensor],
          state_steps: list[Tensor], foreach: bool | None = None, capturable: bool = False,
          maximize: bool = False, differentiable: bool = False, has_complex: bool = False, *,
          step_size_min: float, step_size_max: float, etaminus: float, etaplus: float) -> None:
    """One step of `Rprop` on lists of tensors, in place."""
    step_lists(Rprop, params, grads, {"prev": prevs, "step_size": step_sizes}, {"step": state_steps},
               maximize=maximize, differentiable=differentiable,
               etas=(etaminus, etaplus), step_sizes=(step_size_min, step_size_max))
