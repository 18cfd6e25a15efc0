"""Muon: momentum orthogonalized by Newton-Schulz iterations."""

from __future__ import annotations

import math
from typing import Any

from .. import operators as ops
from ..dtypes import bfloat16
from ..tensor import Tensor
from ._arguments import check_lr
from ._counters import number
from ._parameterwise import ParameterwiseOptimizer
from .optimizer import ParamsT

__all__ = ["Muon"]


class Muon(ParameterwiseOptimizer):
    r"""Muon (Jordan et al., 2024, https://kellerjordan.github.io/posts/muon/), for matrices (N, M) alone.

    .. math::
        B_t = \mu B_{t-1} + (1 - \mu) G_t, \qquad
        \theta_t = (1 - \gamma \lambda) \theta_{t-1} - \gamma' \, \mathrm{orthogonalized}(B_t)

    The momentum is brought near the closest orthogonal matrix by :math:`X \mapsto a X + (b A + c A^2) X`,
    :math:`A = X X^T`, in bfloat16. The rate :math:`\gamma'` is :math:`\gamma \sqrt{\max(1, N / M)}`, or
    :math:`0.2 \gamma \sqrt{\max(N, M)}` with ``adjust_lr_fn="match_rms_adamw"`` (arXiv:2502.16982).

    >>> import flambeau as torch
    >>> w = torch.ones(2, 3, requires_grad=True)
    >>> optimizer = torch.optim.Muon([w], lr=0.1)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not momentum >= 0.0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn is not None and adjust_lr_fn not in ("original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(
            params,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "nesterov": nesterov,
                "ns_coefficients": ns_coefficients,
                "eps": eps,
                "ns_steps": ns_steps,
                "adjust_lr_fn": adjust_lr_fn,
            },
        )
        for p in self._parameters():
            if p.dim() != 2:
                raise ValueError(
                    f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                )

    def _step_one(self, p: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        if grad.is_sparse:
            raise RuntimeError("Muon does not support sparse gradients")
        state = self.state[p]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = ops.zeros_like(grad)
        buffer = state["momentum_buffer"]
        momentum, lr = group["momentum"], number(group["lr"])
        buffer.lerp_(grad, 1 - momentum)
        direction = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = _orthogonalized(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - lr * number(group["weight_decay"]))
        p.add_(update, alpha=-_adjusted(lr, group["adjust_lr_fn"], p))


def _orthogonalized(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """Newton-Schulz iterations on the matrix, laid so that it has no more rows than columns."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.to(bfloat16)
    if tall:
        x = x.T
    x = x / x.norm().clamp(min=eps)  # the iteration converges for singular values up to 1
    for _ in range(steps):
        gram = x @ x.T
        polynomial = ops.addmm(gram, gram, gram, beta=b, alpha=c)
        x = ops.addmm(x, polynomial, x, beta=a)
    return x.T if tall else x


def _adjusted(lr: float, how: str | None, p: Tensor) -> float:
    rows, columns = p.shape
    if how == "match_rms_adamw":
        return lr * 0.2 * math.sqrt(max(rows, columns))
    return lr * math.sqrt(max(1, rows / columns))
