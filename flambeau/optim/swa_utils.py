"""Averages of a model's weights over training (stochastic weight averaging, exponential moving averages)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any, Literal

from .. import operators as ops
from ..autograd import no_grad
from ..devices import device as Device
from ..dtypes import int64 as long
from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm
from ..operators.optimization.multi_tensor import UnsuitableTensor, multi_tensor
from ..operators.optimization.optimizer import moving_average
from ..tensor import Tensor
from .lr_scheduler.scheduler import LRScheduler, one_for_each_group
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverage = Callable[[Any, Any, Any], None]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _ema(average: Tensor, current: Tensor, decay: float) -> Tensor:
    return decay * average + (1 - decay) * current


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """An exponential moving average of lists of tensors: ``decay average + (1 - decay) current``.

    >>> import flambeau as torch
    >>> average = torch.optim.swa_utils.get_ema_multi_avg_fn(0.5)
    >>> kept = [torch.tensor([1.0])]
    >>> average(kept, [torch.tensor([3.0])], 1); kept
    [tensor([2.])]
    """
    _check_decay(decay)

    def ema_update(ema_param_list: Any, current_param_list: Any, _: Any) -> None:
        with no_grad():
            if _averaged_together(ema_param_list, current_param_list, 1 - decay):
                return
            for average, current in zip(ema_param_list, current_param_list, strict=True):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(current, 1 - decay)
                else:
                    average.copy_(_ema(average, current, decay))

    return ema_update


def _averaged_together(averages: Sequence[Tensor], current: Sequence[Tensor], weight: float) -> bool:
    """Move averages towards tensors by one operator; false, and nothing is done, where that does not suit."""
    if not averages or len(averages) != len(current) or weight >= 0.5:
        return False
    try:
        multi_tensor(moving_average, averages, current, [], (weight,), {})
    except UnsuitableTensor:
        return False
    return True


def get_swa_multi_avg_fn() -> MultiAverage:
    """The equal average of lists of tensors: ``average += (current - average) / (num_averaged + 1)``.

    >>> import flambeau as torch
    >>> average = torch.optim.swa_utils.get_swa_multi_avg_fn()
    >>> kept = [torch.tensor([1.0])]
    >>> average(kept, [torch.tensor([4.0])], torch.tensor(2)); kept
    [tensor([2.])]
    """

    def swa_update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        with no_grad():
            weight = 1 / (num_averaged + 1)
            for average, current in zip(averaged_param_list, current_param_list, strict=True):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(current, weight.to(average.dtype) if isinstance(weight, Tensor) else weight)
                else:
                    average.copy_(average + (current - average) * weight)

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """An exponential moving average of one tensor: ``decay average + (1 - decay) current``.

    >>> import flambeau as torch
    >>> average = torch.optim.swa_utils.get_ema_avg_fn(0.9)
    >>> average(torch.tensor(1.0), torch.tensor(2.0), 5)
    tensor(1.1000)
    """
    _check_decay(decay)

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            return _ema(ema_param, current_param, decay)

    return ema_update


def get_swa_avg_fn() -> Average:
    """The equal average of one tensor: ``average + (current - average) / (num_averaged + 1)``.

    >>> import flambeau as torch
    >>> average = torch.optim.swa_utils.get_swa_avg_fn()
    >>> average(torch.tensor(1.0), torch.tensor(4.0), torch.tensor(2))
    tensor(2.)
    """

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are the average of those given to :meth:`update_parameters`.

    The average is the equal one (Izmailov et al., 2018, https://arxiv.org/abs/1803.05407) unless `avg_fn`
    (one tensor at a time) or `multi_avg_fn` (lists of tensors) says otherwise. Buffers are copied, or with
    ``use_buffers=True`` averaged.

    >>> import flambeau as torch
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0):
    ...     _ = torch.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item()
    1.5
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: int | Device | None = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", ops.tensor(0, dtype=long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(2, 1)
        >>> averaged = torch.optim.swa_utils.AveragedModel(layer)
        >>> torch.equal(averaged(torch.ones(3, 2)), layer(torch.ones(3, 2)))
        True
        """
        return self.module(*args, **kwargs)

    def _averaged_tensors(self, module: Module) -> list[Tensor]:
        buffers: Iterable[Tensor] = module.buffers() if self.use_buffers else ()
        return [tensor.detach() for tensor in itertools.chain(module.parameters(), buffers)]

    def update_parameters(self, model: Module) -> None:
        """Take the current parameters of `model` into the average.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(1, 1, bias=False)
        >>> averaged = torch.optim.swa_utils.AveragedModel(layer)
        >>> for value in (1.0, 3.0):
        ...     _ = torch.nn.init.constant_(layer.weight, value)
        ...     averaged.update_parameters(layer)
        >>> averaged.module.weight.item(), averaged.n_averaged.item()
        (2.0, 2)
        """
        ours = self._averaged_tensors(self.module)
        theirs = [
            tensor.to(own.device) for own, tensor in zip(ours, self._averaged_tensors(model), strict=True)
        ]
        if self.n_averaged == 0:
            for own, tensor in zip(ours, theirs, strict=True):
                own.copy_(tensor)
        elif self.avg_fn is not None:
            for own, tensor in zip(ours, theirs, strict=True):
                own.copy_(self.avg_fn(own, tensor, self.n_averaged.to(own.device)))
        else:
            average = self.multi_avg_fn if self.multi_avg_fn is not None else get_swa_multi_avg_fn()
            average(ours, theirs, self.n_averaged)
        if not self.use_buffers:
            for buffer, other in zip(self.module.buffers(), model.buffers(), strict=True):
                buffer.detach().copy_(other.detach().to(buffer.device))
        self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: int | Device | None = None) -> None:
    """Recompute the running statistics of the batch normalizations in `model` by one pass over `loader`.

    A batch that is a list or a tuple has the input first.

    >>> import flambeau as torch
    >>> norm = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], norm)
    >>> norm.running_mean
    tensor([2.])
    """
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None  # an equal average over the batches
    with no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, list | tuple) else batch
            model(x if device is None else x.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneal the rate of each group to `swa_lr` within `anneal_epochs`, then keep it.

    >>> import flambeau as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, 0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        for lr, group in zip(
            one_for_each_group("swa_lr", swa_lr, optimizer), optimizer.param_groups, strict=True
        ):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """How much of the way to `swa_lr` lies behind after `step` steps."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list[Any]:
        self._warn_unless_within_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            swa_lr, lr = group["swa_lr"], group["lr"]
            first = swa_lr if before == 1 else (lr - before * swa_lr) / (1 - before)
            rates.append(swa_lr * now + first * (1 - now))
        return rates
