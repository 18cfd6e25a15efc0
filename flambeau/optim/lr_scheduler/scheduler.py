"""LRScheduler: what all learning rate schedules share."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any
from weakref import ref

from ...tensor import Tensor
from ..optimizer import Optimizer

__all__ = ["EPOCH_DEPRECATION_WARNING", "LRScheduler"]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being "
    "deprecated where possible. Please use `scheduler.step()` to step the "
    "scheduler. During the deprecation, if epoch is different from None, the "
    "closed form is used instead of the new chainable form, where available. "
    "Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_HOW_TO = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def copied(value: Any) -> Any:
    """A learning rate that later changes of a tensor do not reach."""
    return value.clone() if isinstance(value, Tensor) else value


def assign(group: dict[str, Any], name: str, value: Any) -> None:
    """Set an option of a group; a tensor keeps its identity and gets the value."""
    if isinstance(group.get(name), Tensor):
        group[name].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[name] = value


def one_for_each_group(name: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """`value` as a list with an entry for each parameter group."""
    groups = optimizer.param_groups
    if isinstance(value, list | tuple):
        if len(value) != len(groups):
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. "
                f"{name} has {len(value)} values, param_groups has {len(groups)}."
            )
        return list(value)
    return [value] * len(groups)


def check_optimizer(optimizer: Any) -> None:
    """Raise TypeError for what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Base class of the schedules: a subclass gives the rates at ``self.last_epoch`` with :meth:`get_lr`.

    Making a scheduler takes the first step (to epoch 0); each :meth:`step` goes one epoch further. A subclass
    may offer ``_get_closed_form_lr``, which does not depend on the rates of the epoch before.

    >>> import flambeau as torch
    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base / 2 ** self.last_epoch for base in self.base_lrs]
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", copied(group["lr"]))
        else:
            _require_initial_lr(optimizer)
        self.base_lrs: list[Any] = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer.

        >>> import flambeau as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.)
        >>> schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
        >>> optimizer.step(); schedule.step()
        >>> schedule.state_dict()["last_epoch"]
        1
        """
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` returned, here or in PyTorch.

        >>> import flambeau as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.)
        >>> schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
        >>> resumed = torch.optim.lr_scheduler.StepLR(optimizer, step_size=9)
        >>> resumed.load_state_dict(schedule.state_dict()); resumed.step_size
        2
        """
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step set, one for each parameter group.

        >>> import flambeau as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.)
        >>> schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
        [0.5]
        """
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates at ``self.last_epoch``, one for each parameter group.

        >>> import flambeau as torch
        >>> class Halved(torch.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [lr * 0.5 ** self.last_epoch for lr in self.base_lrs]
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
        >>> scheduler = Halved(optimizer)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.05]
        """
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to `epoch` (deprecated).

        Call it after ``optimizer.step()``, once for each epoch (or batch, if the schedule counts batches).

        >>> import flambeau as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.)
        >>> schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> for _ in range(2):
        ...     optimizer.step(); schedule.step()
        >>> optimizer.param_groups[0]["lr"]
        0.25
        """
        if self._step_count == 1:
            self._warn_about_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _warn_about_order(self) -> None:
        step: Any = self.optimizer.step
        if not hasattr(step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                f"`lr_scheduler.step()`. {_HOW_TO}",
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and "
                "later, you should call them in the opposite order: `optimizer.step()` before "
                "`lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first "
                f"value of the learning rate schedule. {_HOW_TO}",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        with _within_step(self):
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form = getattr(self, "_get_closed_form_lr", None)
                values = self.get_lr() if closed_form is None else closed_form()
        self._set_lrs(values)

    def _set_lrs(self, values: list[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            assign(group, "lr", lr)
        self._last_lr: list[Any] = [copied(group["lr"]) for group in self.optimizer.param_groups]

    # -- help for subclasses
    # -------------------------------------------------------------------------------------

    def _current(self) -> list[Any]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def _scaled(self, factor: float) -> list[Any]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _warn_unless_within_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )


@contextmanager
def _within_step(scheduler: LRScheduler) -> Iterator[None]:
    scheduler._get_lr_called_within_step = True
    try:
        yield
    finally:
        scheduler._get_lr_called_within_step = False


def _require_initial_lr(optimizer: Optimizer) -> None:
    for index, group in enumerate(optimizer.param_groups):
        if "initial_lr" not in group:
            raise KeyError(
                f"param 'initial_lr' is not specified in param_groups[{index}] when resuming scheduler with "
                "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 "
                "for a fresh training run (not recommended)"
            )


def _watch_steps(optimizer: Any) -> None:
    """Note on the optimizer that it has been stepped, for the warning about the order of the two steps."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    step = optimizer.step.__func__
    # A strong reference would be a cycle, and keep the parameters until the garbage collector comes by.
    weak = ref(optimizer)

    @wraps(step)
    def watched(*args: Any, **kwargs: Any) -> Any:
        self = weak()
        self._opt_called = True  # type: ignore[union-attr]
        return step.__get__(self, type(self))(*args, **kwargs)

    watched._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = watched


def lambda_states(functions: list[Any]) -> list[dict[str, Any] | None]:
    """What can be saved of functions: the attributes of callable objects."""
    return [
        None if isinstance(function, types.FunctionType) else dict(function.__dict__)
        for function in functions
    ]
