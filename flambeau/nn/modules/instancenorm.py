"""Instance normalization (Ulyanov et al., 2016)."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from ...tensor import Tensor
from .. import functional as F
from ._running_norm import _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]  # fmt: skip


class _InstanceNorm(_NormBase):
    """y = (x - mean) / sqrt(var + eps) weight + bias, with mean and var of each channel of each sample."""

    _spatial_dims: ClassVar[int]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input: Tensor) -> None:
        unbatched, batched = self._spatial_dims + 1, self._spatial_dims + 2
        if input.dim() not in (unbatched, batched):
            raise ValueError(f"expected {unbatched}D or {batched}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.dim() == self._spatial_dims + 2
        self._check_channels(input, 1 if batched else 0)
        if batched:
            return self._normalize(input)
        return self._normalize(input.unsqueeze(0)).squeeze(0)

    def _check_channels(self, input: Tensor, dim: int) -> None:
        if input.size(dim) == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                f"{input.size(dim)}."
            )
        warnings.warn(
            f"input's size at dim={dim} does not match num_features. You can silence this warning by not "
            "passing in num_features, which is not used because affine=False",
            stacklevel=3,
        )

    def _normalize(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            self._refuse_old_statistics(state_dict, prefix, error_msgs)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def _refuse_old_statistics(self, state_dict: Any, prefix: str, error_msgs: list[str]) -> None:
        """Explain, instead of an unexpected key, that these layers once tracked statistics by default."""
        keys = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
        if not keys:
            return
        names = " and ".join(f'"{key}"' for key in keys)
        layer = type(self).__name__
        error_msgs.append(
            f"Unexpected running stats buffer(s) {names} for {layer} with track_running_stats=False. If "
            f"state_dict is a checkpoint saved before 0.4.0, this may be expected because {layer} does not "
            "track running stats by default since 0.4.0. Please remove these keys from state_dict. If the "
            f"running stats are actually needed, instead set track_running_stats=True in {layer} to enable "
            f"them. See the documentation of {layer} for details."
        )
        for key in keys:
            state_dict.pop(key)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of (N, C, L) or (C, L).

    >>> import flambeau as torch
    >>> torch.nn.InstanceNorm1d(3)(torch.randn(2, 3, 5)).shape
    torch.Size([2, 3, 5])
    """

    _spatial_dims = 1


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of (N, C, H, W) or (C, H, W).

    >>> import flambeau as torch
    >>> torch.nn.InstanceNorm2d(3, affine=True)(torch.randn(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    _spatial_dims = 2


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of (N, C, D, H, W) or (C, D, H, W).

    >>> import flambeau as torch
    >>> torch.nn.InstanceNorm3d(3)(torch.randn(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    _spatial_dims = 3


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm1d whose `num_features` is learned from the first input.

    >>> import flambeau as torch
    >>> torch.nn.LazyInstanceNorm1d()(torch.randn(2, 3, 5)).shape
    torch.Size([2, 3, 5])
    """

    cls_to_become = InstanceNorm1d
    _spatial_dims = 1


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm2d whose `num_features` is learned from the first input.

    >>> import flambeau as torch
    >>> torch.nn.LazyInstanceNorm2d()(torch.randn(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    cls_to_become = InstanceNorm2d
    _spatial_dims = 2


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm3d whose `num_features` is learned from the first input.

    >>> import flambeau as torch
    >>> torch.nn.LazyInstanceNorm3d()(torch.randn(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    cls_to_become = InstanceNorm3d
    _spatial_dims = 3
