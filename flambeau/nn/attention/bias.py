"""Causal masks that know what they are, for queries and keys of different number (``nn.attention.bias``).

>>> import flambeau as torch
>>> from flambeau.nn.attention.bias import causal_lower_right
>>> q, k = torch.ones(1, 2, 4), torch.ones(1, 3, 4)
>>> torch.nn.functional.scaled_dot_product_attention(q, k, k, attn_mask=causal_lower_right(2, 3)).shape
torch.Size([1, 2, 4])
"""

from __future__ import annotations

import warnings
from enum import IntEnum
from typing import Any

from ... import operators as ops
from ...dtypes import bool_
from ...tensor import Tensor

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Which corner of the mask (L, S) the diagonal starts from; for L = S both are the same.

    UPPER_LEFT: query i attends to keys 0 ... i. LOWER_RIGHT: the last query attends to all keys.
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask (L, S), true where attention is allowed; a tensor to whoever does not know it."""

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        diagonal = seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0
        mask = ops.ones(seq_len_q, seq_len_kv, dtype=bool_).tril(diagonal)
        found: Any = Tensor._make_subclass(cls, mask)
        found.variant, found.seq_len_q, found.seq_len_kv = variant, seq_len_q, seq_len_kv
        return found

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        if variant == CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!",
                stacklevel=3,
            )


def causal_upper_left(*size: int) -> CausalBias:
    """The mask (L, S) in which query i attends to keys 0 ... i.

    >>> from flambeau.nn.attention.bias import causal_upper_left
    >>> causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_two(size, "causal_upper_left"))


def causal_lower_right(*size: int) -> CausalBias:
    """The mask (L, S) in which query i attends to keys 0 ... S - L + i.

    >>> from flambeau.nn.attention.bias import causal_lower_right
    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return CausalBias(CausalVariant.LOWER_RIGHT, *_two(size, "causal_lower_right"))


def _two(size: tuple[int, ...], function: str) -> tuple[int, int]:
    if len(size) != 2:
        raise AssertionError(f"{function} only supports 2D tensors")
    return size[0], size[1]
