"""The one-cycle policy."""

from __future__ import annotations

import math
from typing import Any, Literal

from ..optimizer import Optimizer
from .momentum import set_momentum, uses_beta1
from .scheduler import LRScheduler, check_optimizer, one_for_each_group

__all__ = ["OneCycleLR"]


class OneCycleLR(LRScheduler):
    """One rise and one fall of the rate, batch by batch (Smith and Topin, 2017, https://arxiv.org/abs/1708.07120).

    From ``max_lr / div_factor`` to `max_lr` in `pct_start` of all steps, then down to the initial rate
    divided by `final_div_factor`; the momentum goes the opposite way. Call ``step`` after every batch.

    >>> import flambeau as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> for _ in range(2):
    ...     optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        max_lrs = one_for_each_group("max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for group, highest in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"] = highest / div_factor
                group["max_lr"] = highest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momenta(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _begin_momenta(self, base_momentum: Any, max_momentum: Any, last_epoch: int) -> None:
        """Set the momenta between which each group goes, unless a run is resumed."""
        self.use_beta1 = uses_beta1(self.optimizer)
        highest_momenta = one_for_each_group("max_momentum", max_momentum, self.optimizer)
        lowest_momenta = one_for_each_group("base_momentum", base_momentum, self.optimizer)
        if last_epoch == -1:
            groups = self.optimizer.param_groups
            for group, lowest, highest in zip(groups, lowest_momenta, highest_momenta, strict=True):
                set_momentum(group, highest, self.use_beta1)
                group["max_momentum"] = highest
                group["base_momentum"] = lowest

    def _anneal(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)
        return (end - start) * share + start

    def get_lr(self) -> list[Any]:
        """The rates at ``self.last_epoch``; the momentum is set on the way."""
        self._warn_unless_within_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is {self.total_steps}"
            )
        phase, share = self._locate(step)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                momentum = self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], share)
                set_momentum(group, momentum, self.use_beta1)
        return rates

    def _locate(self, step: int) -> tuple[dict[str, Any], float]:
        """The phase that `step` lies in, and the share of it that has passed."""
        start = 0.0
        for phase in self._schedule_phases[:-1]:
            if step <= phase["end_step"]:
                break
            start = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        return phase, (step - start) / (phase["end_step"] - start)


def _total_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is not None:
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    if not isinstance(epochs, int) or epochs <= 0:
        raise ValueError(f"Expected positive integer epochs, but got {epochs}")
    if not isinstance(steps_per_epoch, int) or steps_per_epoch <= 0:
        raise ValueError(f"Expected positive integer steps_per_epoch, but got {steps_per_epoch}")
    return epochs * steps_per_epoch


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """The phases by the names of their ends, which are options of the parameter groups."""

    def phase(end: float, lrs: tuple[str, str], momenta: tuple[str, str]) -> dict[str, Any]:
        return {
            "end_step": end,
            "start_lr": lrs[0],
            "end_lr": lrs[1],
            "start_momentum": momenta[0],
            "end_momentum": momenta[1],
        }

    falling, rising = ("max_momentum", "base_momentum"), ("base_momentum", "max_momentum")
    first = phase(float(pct_start * total_steps) - 1, ("initial_lr", "max_lr"), falling)
    if not three_phase:
        return [first, phase(total_steps - 1, ("max_lr", "min_lr"), rising)]
    return [
        first,
        phase(float(2 * pct_start * total_steps) - 2, ("max_lr", "initial_lr"), rising),
        phase(total_steps - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum")),
    ]
