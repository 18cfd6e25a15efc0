"""Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from ._lists import step_lists
from .adam import Adam
from .optimizer import ParamsT

__all__ = ["AdamW", "adamw"]


class AdamW(Adam):
    r"""Adam with decoupled weight decay (Loshchilov and Hutter, 2017, https://arxiv.org/abs/1711.05101).

    Before the step of :class:`Adam`, :math:`\theta_t = \theta_{t-1} (1 - \gamma \lambda)`.

    >>> import flambeau as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.AdamW([w], lr=0.5, weight_decay=0.1)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.4500, 0.4500], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def adamw(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
          max_exp_avg_sqs: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None,
          capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
          grad_scale: Tensor | None = None, found_inf: Tensor | None = None, has_complex: bool = False, *,
          amsgrad: bool, beta1: float | Tensor, beta2: float | Tensor, lr: float | Tensor,
          weight_decay: float, eps: float, maximize: bool) -> None:
    """One step of `AdamW` on lists of tensors, in place.

    >>> import flambeau as torch
    >>> from flambeau.optim.adamw import adamw
    >>> w, average, square, step = torch.ones(2), torch.zeros(2), torch.zeros(2), torch.tensor(0.0)
    >>> options = dict(amsgrad=False, beta1=0.9, beta2=0.999, weight_decay=0.1, eps=1e-8, maximize=False)
    >>> adamw([w], [torch.ones(2)], [average], [square], [], [step], lr=0.1, **options)
    >>> w
    tensor([0.8900, 0.8900])
    """
    step_lists(AdamW, params, grads,
               {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "max_exp_avg_sq": max_exp_avg_sqs},
               {"step": state_steps}, fused=fused, grad_scale=grad_scale, found_inf=found_inf,
               differentiable=differentiable, amsgrad=amsgrad, lr=lr, weight_decay=weight_decay, eps=eps,
               maximize=maximize, betas=(beta1, beta2), decoupled_weight_decay=True)
