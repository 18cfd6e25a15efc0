"""The bases of all losses."""

from __future__ import annotations

import warnings

from ...tensor import Tensor
from ._own_constructor import OwnConstructor
from .module import Module


def _legacy_reduction(size_average: bool | None, reduce: bool | None) -> str:
    """Translate the two booleans that `reduction` replaced."""
    if reduce is False:
        reduction = "none"
    elif size_average is False:
        reduction = "sum"
    else:
        reduction = "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
        stacklevel=5,
    )
    return reduction


class _Loss(Module):
    """A loss with a reduction."""

    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = _legacy_reduction(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss with a weight for each class."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class _MarginLoss(OwnConstructor, _Loss):
    """A loss with a margin, which comes first among its arguments."""

    margin: float

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin
