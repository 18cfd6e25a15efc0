"""Adagrad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import operators as ops
from ..operators.optimization import optimizer as rules
from ..tensor import Tensor
from ._arguments import check_at_least_zero, check_eps, check_fused, check_lr
from ._counters import Counters, counter_tensor
from ._lists import step_lists
from ._rule_optimizer import RuleOptimizer
from .optimizer import ParamsT

__all__ = ["Adagrad", "adagrad"]


class Adagrad(RuleOptimizer):
    r"""Adagrad (Duchi, Hazan and Singer, JMLR 2011).

    .. math::
        s_t = s_{t-1} + g_t^2, \qquad
        \theta_t = \theta_{t-1} - \frac{\gamma}{1 + (t - 1) \eta} \frac{g_t}{\sqrt{s_t} + \epsilon}

    >>> import flambeau as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    rule = staticmethod(rules.adagrad)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_at_least_zero(
            lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value
        )
        check_eps(eps)
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        check_fused(fused, foreach, differentiable)
        # Unlike the others, Adagrad shows its state before the first step.
        for group in self.param_groups:
            for p in group["params"]:
                self._state[p] = self._new_state(p, group)

    def share_memory(self) -> None:
        """Move the accumulators to shared memory."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def _state_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return ("sum",)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        start = group["initial_accumulator_value"]
        start = complex(start, start) if param.is_complex() else start
        return {"step": counter_tensor(0, group["fused"]), "sum": ops.full_like(param, start)}

    def _advance(self, group: dict[str, Any], counters: Counters) -> tuple[Sequence[Any], dict[str, bool]]:
        counters["step"] = step = counters["step"] + 1
        lr, lr_decay, weight_decay, eps = self._options(group, "lr", "lr_decay", "weight_decay", "eps")
        return (
            (lr / (1 + (step - 1) * lr_decay), weight_decay, eps),
            {"maximize": group["maximize"], "decay": bool(weight_decay != 0)},
        )

    def _step_one_sparse(self, p: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        """The same rule, for the rows that have entries."""
        if group["fused"]:
            raise RuntimeError("`fused` does not support sparse grad or complex param")
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        lr, lr_decay, eps = self._options(group, "lr", "lr_decay", "eps")
        state = self._shown_state(p)
        state["step"] += 1
        grad = (-grad if group["maximize"] else grad).coalesce()
        total = state["sum"].add_(grad.pow(2))
        # The step is asked for only where it matters: what waits would be computed for it, tensor by tensor.
        size = lr / (1 + (state["step"].item() - 1) * lr_decay) if lr_decay else lr
        root = total.sparse_mask(grad).values().sqrt() + eps
        p.add_(grad._with(grad.values() / root), alpha=-size)


def adagrad(params: list[Tensor], grads: list[Tensor], state_sums: list[Tensor], state_steps: list[Tensor],
            fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
            has_sparse_grad: bool = False, foreach: bool | None = None, differentiable: bool = False,
            has_complex: bool = False, *, lr: float, weight_decay: float, lr_decay: float, eps: float,
            maximize: bool) -> None:
    """One step of `Adagrad` on lists of tensors, in place.

    >>> import flambeau as torch
    >>> from flambeau.optim.adagrad import adagrad
    >>> w, total, step = torch.ones(2), torch.zeros(2), torch.tensor(0.0)
    >>> options = dict(weight_decay=0, lr_decay=0, eps=1e-10, maximize=False)
    >>> adagrad([w], [torch.ones(2)], [total], [step], lr=0.1, **options)
    >>> w
    tensor([0.9000, 0.9000])
    """
    step_lists(Adagrad, params, grads, {"sum": state_sums}, {"step": state_steps}, fused=fused,
               grad_scale=grad_scale,
               found_inf=found_inf, differentiable=differentiable, lr=lr, weight_decay=weight_decay,
               lr_decay=lr_decay, eps=eps, maximize=maximize)
