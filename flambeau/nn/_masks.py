"""Masks as attention takes them: numbers that are added, minus infinity where a mask is true."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..dtypes import bool_, dtype
from ..tensor import Tensor


def _none_or_dtype(input: Tensor | None) -> dtype | None:
    """The dtype of a tensor that may be None."""
    if input is None or isinstance(input, Tensor):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask: Tensor | None, mask_name: str, other_type: dtype | None, other_name: str,
                    target_type: dtype, check_other: bool = True) -> Tensor | None:
    """A mask as numbers that are added: a boolean one becomes minus infinity where it is true.

    >>> import flambeau as torch
    >>> mask = torch.tensor([True, False])
    >>> torch.nn.functional._canonical_mask(mask, "mask", None, "", torch.float32)
    tensor([-inf, 0.])
    """
    if mask is None:
        return None
    if mask.dtype != bool_ and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for "
                      "both instead.", stacklevel=2)
    if mask.dtype != bool_:
        return mask
    found: Any = mask.new_zeros(mask.shape, dtype=target_type).masked_fill_(mask, -math.inf)
    return found
