"""Batch normalization (Ioffe and Szegedy, 2015)."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .. import functional as F
from ._constructor import own_constructor
from ._running_norm import _LazyNormBase, _NormBase
from .module import Module

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "SyncBatchNorm",
]  # fmt: skip


@own_constructor
class _BatchNorm(_NormBase):
    """y = (x - mean) / sqrt(var + eps) weight + bias, with mean and var of each channel over the batch.

    In evaluation, and only if they are tracked, the running averages take the place of the batch's.
    """

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        use_batch = self.training or (self.running_mean is None and self.running_var is None)
        use_running = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if use_running else None,
            self.running_var if use_running else None,
            self.weight,
            self.bias,
            use_batch,
            self._count_batch(),
            self.eps,
        )

    def _count_batch(self) -> float:
        """Count a training batch and return the weight it has in the running averages."""
        counter = self.num_batches_tracked
        if self.training and self.track_running_stats and counter is not None:
            counter.add_(1)
            if self.momentum is None:  # the plain average over all batches so far
                return 1.0 / float(counter)
        return 0.0 if self.momentum is None else self.momentum


class _Checks2dOr3d(_NormBase):
    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class _Checks4d(_NormBase):
    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class _Checks5d(_NormBase):
    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class BatchNorm1d(_Checks2dOr3d, _BatchNorm):
    """Batch normalization of (N, C) or (N, C, L).

    >>> import flambeau as torch
    >>> torch.nn.BatchNorm1d(3)(torch.randn(8, 3)).shape
    torch.Size([8, 3])
    """


class BatchNorm2d(_Checks4d, _BatchNorm):
    """Batch normalization of (N, C, H, W).

    >>> import flambeau as torch
    >>> torch.nn.BatchNorm2d(3, affine=False)(torch.randn(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """


class BatchNorm3d(_Checks5d, _BatchNorm):
    """Batch normalization of (N, C, D, H, W).

    >>> import flambeau as torch
    >>> torch.nn.BatchNorm3d(3)(torch.randn(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """


class LazyBatchNorm1d(_Checks2dOr3d, _LazyNormBase, _BatchNorm):
    """A BatchNorm1d whose `num_features` is learned from the first input.

    >>> import flambeau as torch
    >>> torch.nn.LazyBatchNorm1d()(torch.randn(8, 3)).shape
    torch.Size([8, 3])
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_Checks4d, _LazyNormBase, _BatchNorm):
    """A BatchNorm2d whose `num_features` is learned from the first input.

    >>> import flambeau as torch
    >>> torch.nn.LazyBatchNorm2d()(torch.randn(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_Checks5d, _LazyNormBase, _BatchNorm):
    """A BatchNorm3d whose `num_features` is learned from the first input.

    >>> import flambeau as torch
    >>> torch.nn.LazyBatchNorm3d()(torch.randn(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    cls_to_become = BatchNorm3d


class SyncBatchNorm(_BatchNorm):
    """Batch normalization of (N, C, ...) over all processes of a group; within one process, BatchNorm.

    >>> import flambeau as torch
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm1d(3))
    >>> type(torch.nn.SyncBatchNorm.convert_sync_batchnorm(net)[0]).__name__
    'SyncBatchNorm'
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")
        return super().forward(input)

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """Return `module` with every BatchNorm layer replaced by one that shares its parameters.

        >>> import flambeau as torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
        >>> type(torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]).__name__
        'SyncBatchNorm'
        """
        result = module
        if isinstance(module, _BatchNorm):
            result = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            result.weight, result.bias = module.weight, module.bias
            result.running_mean, result.running_var = module.running_mean, module.running_var
            result.num_batches_tracked = module.num_batches_tracked
            result.training = module.training
        children: list[tuple[str, Module]] = list(module.named_children())
        for name, child in children:
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
