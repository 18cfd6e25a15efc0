"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import operators as ops
from ..operators.optimization import optimizer as rules
from ..tensor import Tensor
from ._arguments import check_fused
from ._counters import Counters
from ._lists import step_lists
from ._rule_optimizer import RuleOptimizer
from .optimizer import ParamsT

__all__ = ["SGD", "sgd"]


class SGD(RuleOptimizer):
    r"""Stochastic gradient descent, optionally with momentum (Sutskever et al., ICML 2013).

    With learning rate :math:`\gamma`, momentum :math:`\mu` and dampening :math:`\tau`

    .. math:: b_t = \mu b_{t-1} + (1 - \tau) g_t, \qquad \theta_t = \theta_{t-1} - \gamma b_t

    where :math:`b_1 = g_1`; with `nesterov`, :math:`g_t + \mu b_t` takes the place of :math:`b_t`.

    >>> import flambeau as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.25, momentum=0.5)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     w.sum().backward()
    ...     optimizer.step()
    >>> w.tolist()
    [0.375, 0.375]
    """

    rule = staticmethod(rules.sgd)
    counters = ()

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if lr < 0.0:    # not "unless at least 0": NaN is let through, as in PyTorch
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)

    def _state_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return ("momentum_buffer" if group["momentum"] != 0 else None,)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"momentum_buffer": ops.zeros_like(param)} if group["momentum"] != 0 else {}

    def _read_counters(self, state: dict[str, Any], group: dict[str, Any]) -> Counters:
        # Not shown in the state: the buffer's presence says it.
        return {"started": float(state.get("momentum_buffer") is not None)}

    def _advance(self, group: dict[str, Any], counters: Counters) -> tuple[Sequence[Any], dict[str, bool]]:
        lr, weight_decay, momentum, dampening = self._options(
            group, "lr", "weight_decay", "momentum", "dampening"
        )
        gain = 1 - dampening if counters["started"] else 1.0  # the first buffer is the whole gradient
        counters["started"] = 1.0
        flags = {
            "maximize": group["maximize"],
            "decay": bool(weight_decay != 0),
            "nesterov": group["nesterov"],
        }
        return (lr, weight_decay, momentum, gain), flags

    def _step_one_sparse(self, p: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        """The same rule; the buffer of a sparse gradient is sparse, and only rows with entries change."""
        if group["fused"]:
            raise RuntimeError("`_fused_sgd` does not support sparse gradients")
        lr, weight_decay, momentum, dampening = self._options(
            group, "lr", "weight_decay", "momentum", "dampening"
        )
        if group["maximize"]:
            grad = -grad
        if weight_decay != 0:
            grad = grad.add(p, alpha=weight_decay)
        if momentum != 0:
            state = self._state[p]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        p.add_(grad, alpha=-lr)


def sgd(params: list[Tensor], d_p_list: list[Tensor], momentum_buffer_list: list[Tensor | None],
        has_sparse_grad: bool = False, foreach: bool | None = None, fused: bool | None = None,
        grad_scale: Tensor | None = None, found_inf: Tensor | None = None, *, weight_decay: float,
        momentum: float, lr: float, dampening: float, nesterov: bool, maximize: bool) -> None:
    """One step of `SGD` on lists of tensors, in place; buffers that are None are made.

    >>> import flambeau as torch
    >>> from flambeau.optim.sgd import sgd
    >>> w, grad = torch.ones(2), torch.tensor([1.0, 2.0])
    >>> options = dict(weight_decay=0, momentum=0, dampening=0, nesterov=False, maximize=False)
    >>> sgd([w], [grad], [None], lr=0.1, **options)
    >>> w
    tensor([0.9000, 0.8000])
    """
    started = [float(buffer is not None) for buffer in momentum_buffer_list]
    if momentum != 0:
        for i, p in enumerate(params):
            if momentum_buffer_list[i] is None:
                momentum_buffer_list[i] = ops.zeros_like(p)
    step_lists(SGD, params, d_p_list, {"momentum_buffer": momentum_buffer_list}, {"started": started},
               fused=fused, grad_scale=grad_scale, found_inf=found_inf, weight_decay=weight_decay,
               momentum=momentum, lr=lr, dampening=dampening, nesterov=nesterov, maximize=maximize)
