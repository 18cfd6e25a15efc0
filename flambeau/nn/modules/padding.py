"""Layers that enlarge the borders of their input."""

from __future__ import annotations

from typing import ClassVar

from ...naming import own
from ...tensor import Tensor
from .. import functional as F
from ._constructor import own_constructor
from .module import Module
from .utils import _ntuple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _PadNd(Module):
    """What all padding layers share: `padding` is one amount or (left, right, top, bottom, front, back)."""

    _spatial_dims: ClassVar[int]
    _mode: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__bases__ == (_PadNd,):
            own(cls, "forward")

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._spatial_dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    """Padding with one value."""

    value: float

    def __init__(self, padding: int | tuple[int, ...], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


@own_constructor
class ConstantPad1d(_ConstantPadNd):
    """Pad (N, C, L) or (C, L) with a value.

    >>> import flambeau as torch
    >>> torch.nn.ConstantPad1d((1, 2), 3.5)(torch.zeros(1, 1))
    tensor([[3.5000, 0.0000, 3.5000, 3.5000]])
    """

    _spatial_dims = 1


@own_constructor
class ConstantPad2d(_ConstantPadNd):
    """Pad (N, C, H, W) or (C, H, W) with a value.

    >>> import flambeau as torch
    >>> torch.nn.ConstantPad2d((1, 0, 2, 0), 3.5)(torch.zeros(1, 1, 1)).shape
    torch.Size([1, 3, 2])
    """

    _spatial_dims = 2


@own_constructor
class ConstantPad3d(_ConstantPadNd):
    """Pad (N, C, D, H, W) or (C, D, H, W) with a value.

    >>> import flambeau as torch
    >>> torch.nn.ConstantPad3d(1, 3.5)(torch.zeros(1, 1, 1, 1)).shape
    torch.Size([1, 3, 3, 3])
    """

    _spatial_dims = 3


class _ZeroPadNd(_ConstantPadNd):
    """Padding with zeros."""

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


@own_constructor
class ZeroPad1d(_ZeroPadNd):
    """Pad (N, C, L) or (C, L) with zeros.

    >>> import flambeau as torch
    >>> torch.nn.ZeroPad1d(1)(torch.ones(1, 1))
    tensor([[0., 1., 0.]])
    """

    _spatial_dims = 1


@own_constructor
class ZeroPad2d(_ZeroPadNd):
    """Pad (N, C, H, W) or (C, H, W) with zeros; negative amounts crop.

    >>> import flambeau as torch
    >>> torch.nn.ZeroPad2d((1, 1, 2, -1))(torch.ones(1, 4, 4)).shape
    torch.Size([1, 5, 6])
    """

    _spatial_dims = 2


@own_constructor
class ZeroPad3d(_ZeroPadNd):
    """Pad (N, C, D, H, W) or (C, D, H, W) with zeros.

    >>> import flambeau as torch
    >>> torch.nn.ZeroPad3d(1)(torch.ones(1, 1, 1, 1)).sum()
    tensor(1.)
    """

    _spatial_dims = 3


class _ReflectionPadNd(_PadNd):
    """Padding with the input mirrored at its border, which is not repeated."""

    _mode = "reflect"


@own_constructor
class ReflectionPad1d(_ReflectionPadNd):
    """Pad (N, C, L) or (C, L) with the mirrored input.

    >>> import flambeau as torch
    >>> torch.nn.ReflectionPad1d(2)(torch.tensor([[0.0, 1.0, 2.0]]))
    tensor([[2., 1., 0., 1., 2., 1., 0.]])
    """

    _spatial_dims = 1


@own_constructor
class ReflectionPad2d(_ReflectionPadNd):
    """Pad (N, C, H, W) or (C, H, W) with the mirrored input.

    >>> import flambeau as torch
    >>> torch.nn.ReflectionPad2d((1, 1, 2, 0))(torch.zeros(1, 3, 3)).shape
    torch.Size([1, 5, 5])
    """

    _spatial_dims = 2


@own_constructor
class ReflectionPad3d(_ReflectionPadNd):
    """Pad (N, C, D, H, W) or (C, D, H, W) with the mirrored input.

    >>> import flambeau as torch
    >>> torch.nn.ReflectionPad3d(1)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _spatial_dims = 3


class _ReplicationPadNd(_PadNd):
    """Padding with the value at the border."""

    _mode = "replicate"


@own_constructor
class ReplicationPad1d(_ReplicationPadNd):
    """Pad (N, C, L) or (C, L) by repeating the border.

    >>> import flambeau as torch
    >>> torch.nn.ReplicationPad1d(2)(torch.tensor([[0.0, 1.0]]))
    tensor([[0., 0., 0., 1., 1., 1.]])
    """

    _spatial_dims = 1


@own_constructor
class ReplicationPad2d(_ReplicationPadNd):
    """Pad (N, C, H, W) or (C, H, W) by repeating the border.

    >>> import flambeau as torch
    >>> torch.nn.ReplicationPad2d((1, 1, 2, 0))(torch.zeros(1, 3, 3)).shape
    torch.Size([1, 5, 5])
    """

    _spatial_dims = 2


@own_constructor
class ReplicationPad3d(_ReplicationPadNd):
    """Pad (N, C, D, H, W) or (C, D, H, W) by repeating the border.

    >>> import flambeau as torch
    >>> torch.nn.ReplicationPad3d(1)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _spatial_dims = 3


class _CircularPadNd(_PadNd):
    """Padding as if the input repeated itself."""

    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        unbatched, batched = self._spatial_dims + 1, self._spatial_dims + 2
        if input.dim() not in (unbatched, batched):
            raise ValueError(f"expected {unbatched}D or {batched}D input (got {input.dim()}D input)")
        return super().forward(input)


@own_constructor
class CircularPad1d(_CircularPadNd):
    """Pad (N, C, L) or (C, L) with the values of the other end.

    >>> import flambeau as torch
    >>> torch.nn.CircularPad1d(1)(torch.tensor([[0.0, 1.0, 2.0]]))
    tensor([[2., 0., 1., 2., 0.]])
    """

    _spatial_dims = 1


@own_constructor
class CircularPad2d(_CircularPadNd):
    """Pad (N, C, H, W) or (C, H, W) with the values of the other side.

    >>> import flambeau as torch
    >>> torch.nn.CircularPad2d((1, 1, 2, 0))(torch.zeros(1, 3, 3)).shape
    torch.Size([1, 5, 5])
    """

    _spatial_dims = 2


@own_constructor
class CircularPad3d(_CircularPadNd):
    """Pad (N, C, D, H, W) or (C, D, H, W) with the values of the other side.

    >>> import flambeau as torch
    >>> torch.nn.CircularPad3d(1)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _spatial_dims = 3
