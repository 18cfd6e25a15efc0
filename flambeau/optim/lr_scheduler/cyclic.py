"""Cyclical learning rates."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any, Literal

from ..optimizer import Optimizer
from .momentum import set_momentum, uses_beta1
from .scheduler import LRScheduler, assign, check_optimizer, one_for_each_group

__all__ = ["CyclicLR"]


class CyclicLR(LRScheduler):
    """Between two rates and back, cycle by cycle (Smith, 2015, https://arxiv.org/abs/1506.01186).

    A cycle climbs for `step_size_up` steps and descends for `step_size_down`. The height is constant in mode
    ``triangular``, halved each cycle in ``triangular2``, and ``gamma ** step`` in ``exp_range``; `scale_fn`
    takes their place. With `cycle_momentum` the momentum goes the opposite way.

    >>> import flambeau as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.0, max_lr=1.0, step_size_up=2)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = one_for_each_group("base_lr", base_lr, optimizer)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                assign(group, "lr", lr)
        self.max_lrs = one_for_each_group("max_lr", max_lr, optimizer)
        up = float(step_size_up)
        down = float(step_size_down) if step_size_down is not None else up
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._init_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_momentum(self, base_momentum: Any, max_momentum: Any, last_epoch: int) -> None:
        self.use_beta1 = uses_beta1(self.optimizer)
        self.base_momentums = one_for_each_group("base_momentum", base_momentum, self.optimizer)
        self.max_momentums = one_for_each_group("max_momentum", max_momentum, self.optimizer)
        if last_epoch == -1:
            for highest, lowest, group in zip(
                self.max_momentums, self.base_momentums, self.optimizer.param_groups, strict=True
            ):
                set_momentum(group, highest, self.use_beta1)
                group["max_momentum"] = highest
                group["base_momentum"] = lowest

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is not None:
            return
        self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"

    def scale_fn(self, x: float) -> float:
        """The height of a cycle as a share of the full one.

        >>> import flambeau as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1, momentum=0.9)
        >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 1.0, mode="triangular2")
        >>> scheduler.scale_fn(1), scheduler.scale_fn(2), scheduler.scale_fn(3)
        (1.0, 0.5, 0.25)
        """
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        scales = {
            "triangular": self._triangular_scale_fn,
            "triangular2": self._triangular2_scale_fn,
            "exp_range": self._exp_range_scale_fn,
        }
        return scales[self.mode](x)

    def _triangular_scale_fn(self, x: float) -> float:
        return 1.0

    def _triangular2_scale_fn(self, x: float) -> float:
        return 1 / (2.0 ** (x - 1))

    def _exp_range_scale_fn(self, x: float) -> float:
        return self.gamma**x

    def get_lr(self) -> list[Any]:
        """The rates at ``self.last_epoch``; the momentum is set on the way.

        >>> import flambeau as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1, momentum=0.9)
        >>> torch.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 1.0).get_last_lr()
        [0.1]
        """
        self._warn_unless_within_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        climbed = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale_at = cycle if self.scale_mode == "cycle" else self.last_epoch
        rates = []
        for lowest, highest in zip(self.base_lrs, self.max_lrs, strict=True):
            height = (highest - lowest) * climbed
            rates.append(lowest + height * self.scale_fn(scale_at))
        if self.cycle_momentum:
            for lowest, highest, group in zip(
                self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True
            ):
                height = (highest - lowest) * climbed
                set_momentum(group, highest - height * self.scale_fn(scale_at), self.use_beta1)
        return rates

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of a `scale_fn`, the attributes of a callable object."""
        state = super().state_dict()
        scale_fn = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None
        if scale_fn is not None and not isinstance(scale_fn, types.FunctionType):
            state["_scale_fn_custom"] = scale_fn.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` returned; a `scale_fn` stays that of this scheduler."""
        state_dict = dict(state_dict)
        attributes = state_dict.pop("_scale_fn_custom")
        super().load_state_dict(state_dict)
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        self._init_scale_fn()
