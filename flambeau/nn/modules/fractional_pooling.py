"""Maximum pooling with window boundaries drawn at random (Graham, 2014)."""

from __future__ import annotations

from typing import Any, ClassVar

from ...tensor import Tensor
from .. import functional as F
from ._constructor import own_constructor
from .module import Module
from .utils import _ntuple, _triple


class _FractionalMaxPoolNd(Module):
    """What the two fractional poolings share: the output is given as a size or as a ratio of the input's."""

    _spatial_dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        per_dim = _ntuple(self._spatial_dims)
        self.kernel_size = per_dim(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = per_dim(output_size) if output_size is not None else None
        self.output_ratio = per_dim(output_ratio) if output_ratio is not None else None
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{type(self).__name__} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _arguments(self) -> tuple[Any, ...]:
        return (
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            self._random_samples,
        )


@own_constructor
class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Maximum over random windows; (N, C, H, W) -> (N, C, H_out, W_out), N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.FractionalMaxPool2d(2, output_ratio=0.5)(torch.zeros(1, 1, 8, 8)).shape
    torch.Size([1, 1, 4, 4])
    """

    _spatial_dims = 2

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool2d(input, *self._arguments())


@own_constructor
class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Maximum over random windows; (N, C, D, H, W) -> (N, C, D_out, H_out, W_out), N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.FractionalMaxPool3d(2, output_size=3)(torch.zeros(1, 1, 8, 8, 8)).shape
    torch.Size([1, 1, 3, 3, 3])
    """

    _spatial_dims = 3

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        if any(extent <= 0 for extent in _triple(kernel_size)):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        super().__init__(kernel_size, output_size, output_ratio, return_indices, _random_samples)

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool3d(input, *self._arguments())
