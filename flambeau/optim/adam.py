"""Adam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operators.optimization import optimizer as rules
from ..tensor import Tensor
from ._arguments import check_at_least_zero, check_betas, check_eps, check_fused, check_lr
from ._counters import Counters
from ._lists import step_lists
from ._rule_optimizer import RuleOptimizer
from .optimizer import ParamsT

__all__ = ["Adam", "adam"]


class Adam(RuleOptimizer):
    r"""Adam (Kingma and Ba, 2014, https://arxiv.org/abs/1412.6980).

    .. math::
        m_t &= \beta_1 m_{t-1} + (1 - \beta_1) g_t, \qquad v_t = \beta_2 v_{t-1} + (1 - \beta_2) g_t^2 \\
        \theta_t &= \theta_{t-1} - \gamma \hat m_t / (\sqrt{\hat v_t} + \epsilon), \qquad
        \hat m_t = m_t / (1 - \beta_1^t), \quad \hat v_t = v_t / (1 - \beta_2^t)

    `amsgrad` divides by the largest :math:`v` so far (Reddi et al., ICLR 2018); `decoupled_weight_decay`
    shrinks the parameters by :math:`\gamma \lambda` instead of adding :math:`\lambda \theta` to the gradient.

    >>> import flambeau as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    rule = staticmethod(rules.adam)
    sparse_message = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if len(betas) > 1 and not isinstance(betas, str):
            _check_tensor_options(lr, betas, foreach=bool(foreach), capturable=capturable)
        check_lr(lr)
        check_eps(eps)
        check_betas(betas)
        check_at_least_zero(weight_decay=weight_decay)
        _check_kind_of_betas(betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("amsgrad", False)

    def _state_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return "exp_avg", "exp_avg_sq", "max_exp_avg_sq" if group["amsgrad"] else None

    def _advance(self, group: dict[str, Any], counters: Counters) -> tuple[Sequence[Any], dict[str, bool]]:
        counters["step"] = step = counters["step"] + 1
        lr, weight_decay, eps = self._options(group, "lr", "weight_decay", "eps")
        beta1, beta2 = self._betas(group)
        numbers = (
            lr / (1 - beta1**step),
            weight_decay,
            1 - lr * weight_decay,
            1 - beta1,
            beta2,
            1 - beta2,
            (1 - beta2**step) ** 0.5,
            eps,
        )
        return numbers, {
            "maximize": group["maximize"],
            "decay": bool(weight_decay != 0),
            "decoupled": group["decoupled_weight_decay"],
        }


def _check_kind_of_betas(betas: Any) -> None:
    """An integer is neither a float nor a tensor."""
    if not any(isinstance(betas[0], kind) and isinstance(betas[1], kind) for kind in (float, Tensor)):
        raise ValueError("betas must be either both floats or both Tensors")


def _check_tensor_options(lr: Any, betas: Sequence[Any], *, foreach: bool, capturable: bool) -> None:
    names = {"lr": lr, "betas[0]": betas[0], "betas[1]": betas[1]}
    for name, value in names.items():
        if isinstance(value, Tensor) and foreach and not capturable:
            raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")


def adam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
         max_exp_avg_sqs: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None,
         capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
         grad_scale: Tensor | None = None, found_inf: Tensor | None = None, has_complex: bool = False,
         decoupled_weight_decay: bool = False, *, amsgrad: bool, beta1: float | Tensor,
         beta2: float | Tensor, lr: float | Tensor, weight_decay: float, eps: float,
         maximize: bool) -> None:
    """One step of `Adam` on lists of tensors, in place.

    >>> import flambeau as torch
    >>> from flambeau.optim.adam import adam
    >>> w, average, square, step = torch.ones(2), torch.zeros(2), torch.zeros(2), torch.tensor(0.0)
    >>> options = dict(amsgrad=False, beta1=0.9, beta2=0.999, weight_decay=0, eps=1e-8, maximize=False)
    >>> adam([w], [torch.ones(2)], [average], [square], [], [step], lr=0.1, **options)
    >>> w
    tensor([0.9000, 0.9000])
    """
    step_lists(Adam, params, grads,
               {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "max_exp_avg_sq": max_exp_avg_sqs},
               {"step": state_steps}, fused=fused, grad_scale=grad_scale, found_inf=found_inf,
               differentiable=differentiable, decoupled_weight_decay=decoupled_weight_decay,
               amsgrad=amsgrad, lr=lr, weight_decay=weight_decay, eps=eps, maximize=maximize,
               betas=(beta1, beta2))
