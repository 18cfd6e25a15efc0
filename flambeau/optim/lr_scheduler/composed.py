"""Schedules made of schedules: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler, copied

__all__ = ["ChainedScheduler", "SequentialLR"]


class _Composed(LRScheduler):
    """A scheduler whose state dict holds those of its parts."""

    _schedulers: list[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, with the state dicts of the parts under ``_schedulers``."""
        state = {
            key: value for key, value in self.__dict__.items() if key not in ("optimizer", "_schedulers")
        }
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` returned, here or in PyTorch."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=False):
            scheduler.load_state_dict(state)


class SequentialLR(_Composed):
    """One scheduler after the other: the next takes over, from its beginning, at each of the `milestones`.

    >>> import flambeau as torch
    >>> from flambeau.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> warmup, decay = ConstantLR(optimizer, factor=0.1), ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = SequentialLR(optimizer, [warmup, decay], milestones=[2])
    >>> for _ in range(3):
    ...     optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        for index, scheduler in enumerate(schedulers):
            _check_part("SequentialLR", scheduler, index, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the "
                f"number of milestone points, but got number of schedulers {len(schedulers)} and the "
                f"number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # The parts have taken their first steps when they were made: undo them, and take that of the first
        # alone.
        for group in optimizer.param_groups:
            group["lr"] = copied(group["initial_lr"])
        self.recursive_undo()
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def recursive_undo(self, scheduler: LRScheduler | None = None) -> None:
        """Undo the first steps of the parts, and of the parts of parts."""
        current = self if scheduler is None else scheduler
        if hasattr(current, "_schedulers"):
            for part in current._schedulers:
                self.recursive_undo(part)
        else:
            current.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch with the scheduler whose turn it is.

        >>> import flambeau as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        >>> schedulers = torch.optim.lr_scheduler
        >>> parts = [schedulers.ConstantLR(optimizer, 0.5), schedulers.ExponentialLR(optimizer, 0.1)]
        >>> after = schedulers.SequentialLR(optimizer, parts, milestones=[1])
        >>> before = after.get_last_lr()
        >>> optimizer.step(); after.step(); before, after.get_last_lr()
        ([0.5], [1.0])
        """
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _check_part(whole: str, scheduler: Any, index: int, optimizer: Optimizer) -> None:
    if not hasattr(scheduler, "optimizer"):
        raise TypeError(f"{whole} at index {index} should have `optimizer` as its attribute.")
    if isinstance(scheduler, ReduceLROnPlateau):
        raise ValueError(
            f"{whole} does not support `ReduceLROnPlateau` scheduler as it requires additional "
            "kwargs to be specified when calling `step`, but got one at index "
            f"{index} in the given schedulers sequence."
        )
    if scheduler.optimizer != optimizer:
        raise ValueError(
            f"{whole} expects all schedulers to belong to the same optimizer, but got scheduler "
            f"{type(scheduler).__name__} at index {index} has {scheduler.optimizer}, which is "
            f"different from {type(optimizer).__name__}."
        )


class ChainedScheduler(_Composed):
    """All schedulers at once, each continuing from what the one before has set.

    >>> import flambeau as torch
    >>> from flambeau.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ChainedScheduler([ConstantLR(optimizer, factor=0.5), ExponentialLR(optimizer, gamma=0.5)])
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        for index, scheduler in enumerate(schedulers):
            _check_part("ChainedScheduler", scheduler, index, optimizer)
        self._schedulers = list(schedulers)
        self.optimizer = optimizer
        self._last_lr = _rates(self._schedulers[-1].optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Take a step of every scheduler.

        >>> import flambeau as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        >>> schedulers = torch.optim.lr_scheduler
        >>> both = schedulers.ChainedScheduler([schedulers.ExponentialLR(optimizer, 0.5),
        ...                                     schedulers.ConstantLR(optimizer, 0.1, total_iters=5)])
        >>> optimizer.step(); both.step(); both.get_last_lr()
        [0.05]
        """
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = _rates(self._schedulers[-1].optimizer)


def _rates(optimizer: Optimizer) -> list[Any]:
    return [copied(group["lr"]) for group in optimizer.param_groups]
