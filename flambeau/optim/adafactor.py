"""Adafactor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import operators as ops
from ..tensor import Tensor
from ..type_info import finfo
from ._arguments import check_lr
from ._counters import Counters, counter_tensor, number
from ._rule_optimizer import Cohort, RuleOptimizer
from .optimizer import ParamsT

__all__ = ["Adafactor"]


class Adafactor(RuleOptimizer):
    r"""Adafactor (Shazeer and Stern, 2018, https://arxiv.org/abs/1804.04235).

    The second moment of a matrix (N, M) is kept as a row (N, 1) and a column (1, M):

    .. math::
        R_t &= \hat\beta_t R_{t-1} + (1 - \hat\beta_t) \overline{G_t^2}_{rows}, \qquad
        C_t = \hat\beta_t C_{t-1} + (1 - \hat\beta_t) \overline{G_t^2}_{columns}, \qquad
        \hat V_t = R_t C_t / \overline{R_t} \\
        U_t &= G_t / \sqrt{\hat V_t}, \qquad
        \theta_t = \theta_{t-1} - \alpha_t U_t / \max(1, \mathrm{RMS}(U_t) / d)

    with :math:`\hat\beta_t = 1 - t^\tau` and
    :math:`\alpha_t = \max(\epsilon_2, \mathrm{RMS}(\theta_{t-1})) \min(\gamma, 1/\sqrt t)`.

    >>> import flambeau as torch
    >>> w = torch.ones(2, 2, requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> optimizer.state[w]["row_var"].shape
    torch.Size([2, 1])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )

    def _check_group(self, live: list[Tensor], group: dict[str, Any]) -> None:
        super()._check_group(live, group)
        if any(p.is_complex() for p in live):
            raise RuntimeError("Adafactor does not support complex parameters")

    def _state_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return ()

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if param.dim() < 2:
            return {"step": counter_tensor(0), "variance": ops.zeros_like(param)}
        return {
            "step": counter_tensor(0),
            "row_var": param.new_zeros((*param.shape[:-1], 1)),
            "col_var": param.new_zeros((*param.shape[:-2], 1, param.shape[-1])),
        }

    def _advance(self, group: dict[str, Any], counters: Counters) -> tuple[Sequence[Any], dict[str, bool]]:
        counters["step"] = step = counters["step"] + 1
        lr = number(group["lr"])
        return (
            (
                1 - lr * number(group["weight_decay"]),
                step ** group["beta2_decay"],
                min(lr, 1 / step**0.5),
                *group["eps"],
                group["d"],
            ),
            {"maximize": group["maximize"], "decay": bool(group["weight_decay"] != 0)},
        )

    def _update(
        self, cohort: Cohort, grads: list[Tensor], numbers: Sequence[Any], flags: dict[str, bool]
    ) -> None:
        for param, grad in zip(cohort.params, grads, strict=True):
            _update_one(
                param,
                -grad if flags["maximize"] else grad,
                self._state[param],
                *numbers,
                decay=flags["decay"],
            )


def _update_one(
    param: Tensor,
    grad: Tensor,
    state: dict[str, Any],
    shrink: float,
    one_minus_beta2: float,
    size: float,
    eps1: float | None,
    eps2: float,
    d: float,
    *,
    decay: bool,
) -> None:
    """One parameter's step. Its scale is the root mean square of the values before weight decay."""
    if eps1 is None:
        eps1 = finfo(param.dtype).eps
    alpha = _root_mean_square(param).clamp(min=eps2) * size
    if decay:
        param.mul_(shrink)
    if grad.dim() < 2:
        variance = state["variance"]
        variance.lerp_(grad.square(), one_minus_beta2)
        estimate = variance.clone()
    else:
        row_var, col_var = state["row_var"], state["col_var"]
        row_var.lerp_(grad.norm(dim=-1, keepdim=True).square().div_(grad.size(-1)), one_minus_beta2)
        col_var.lerp_(grad.norm(dim=-2, keepdim=True).square().div_(grad.size(-2)), one_minus_beta2)
        estimate = (row_var @ col_var).div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=eps1))
    update = estimate.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
    param.sub_(update * (alpha / (_root_mean_square(update) / d).clamp(min=1.0)))


def _root_mean_square(x: Tensor) -> Tensor:
    return x.norm(2) / x.numel() ** 0.5
