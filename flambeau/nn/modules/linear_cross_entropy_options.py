"""How `linear_cross_entropy` cuts its batch into pieces."""

from __future__ import annotations

from dataclasses import dataclass

from ... import dtypes
from ...dtypes import dtype

__all__ = ["LinearCrossEntropyOptions"]

_POLICIES = ("accurate", "balanced", "compact", "auto")
_ACCUMULATION = (None, dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_RATIO = "aspect_ratio:"
_AUTOMATIC = f"{_RATIO}2"


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """Compute the loss in pieces of the batch, never holding the logits (N, C) of all of it.

    A piece has `batch_chunk_size` rows, or as many that its logits are at most r times as large as the whole
    input (`chunking_method="aspect_ratio:r"`; "auto" is r = 2, None is one piece). Gradients of 16-bit
    weights are summed over the pieces in `acc_dtype`: by default in float32, in the weights' type with
    `acc_policy="compact"`. `allow_retain_graph` is accepted; backward can always be repeated.

    >>> import flambeau as torch
    >>> options = torch.nn.LinearCrossEntropyOptions(batch_chunk_size=2)
    >>> x, w, y = torch.ones(5, 3), torch.zeros(4, 3), torch.tensor([0, 1, 2, 3, 0])
    >>> torch.nn.functional.linear_cross_entropy(x, w, y, options=options)
    tensor(1.3863)
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: dtype | None = None

    def __post_init__(self) -> None:
        size, method = self.batch_chunk_size, self.chunking_method
        if size is not None and (not isinstance(size, int) or size <= 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size}")
        if method not in (None, "auto") and self._ratio(method) <= 0:
            raise ValueError(f"invalid chunking_method: {method!r}")
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.acc_dtype not in _ACCUMULATION:
            allowed = ", ".join(str(each) for each in _ACCUMULATION)
            raise ValueError(
                f"acc_dtype must be one of {{{allowed}}}, got {self.acc_dtype}. Pass acc_dtype=None to let "
                "the op pick automatically."
            )

    @staticmethod
    def _ratio(method: str | None) -> int:
        """The r of "aspect_ratio:r", 0 for what is none."""
        text = str(method).removeprefix(_RATIO)
        return int(text) if str(method).startswith(_RATIO) and text.isdigit() else 0

    def rows_of_piece(self, batch: int, in_features: int, classes: int) -> int:
        """How many rows of the batch a piece has."""
        if self.batch_chunk_size is not None:
            return self.batch_chunk_size
        if self.chunking_method is None:
            return max(batch, 1)
        ratio = self._ratio(_AUTOMATIC if self.chunking_method == "auto" else self.chunking_method)
        return max(1, ratio * batch * in_features // max(classes, 1))

    def accumulation_dtype(self, given: dtype) -> dtype:
        """The type in which gradients are summed for operands of the type ``given``."""
        low = given in dtypes.LOW_PRECISION
        if self.acc_dtype is None:
            return dtypes.float32 if low and self.acc_policy != "compact" else given
        if self.acc_dtype is not given and not (low and self.acc_dtype is dtypes.float32):
            raise RuntimeError(
                "linear_cross_entropy supports float32 acc_dtype with float16/bfloat16 inputs, but got "
                f"{self.acc_dtype} acc_dtype and {given} inputs."
            )
        return self.acc_dtype
