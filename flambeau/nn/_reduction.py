"""Names of reductions of losses, as older libraries ask for them."""

from __future__ import annotations

import warnings

from ..operators.losses.loss import older_reduction

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction: 0 none, 1 mean, 2 sum.

    >>> import flambeau as torch
    >>> torch.nn._reduction.get_enum("mean")
    1
    """
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
                      stacklevel=2)
        return _NUMBERS["mean"]
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the two older options mean; each is True unless given."""
    found = older_reduction(size_average, reduce)
    if emit_warning:
        warnings.warn("size_average and reduce args will be deprecated, please use "
                      f"reduction='{found}' instead.", stacklevel=2)
    return found


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of ``legacy_get_string``."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]
