"""Momentum under its two names: ``momentum`` (SGD, RMSprop) and the first of ``betas`` (Adam and its kin)."""

from __future__ import annotations

from typing import Any

from ..optimizer import Optimizer


def uses_beta1(optimizer: Optimizer) -> bool:
    """Whether the optimizer's momentum is its beta1; an error if it has none."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def set_momentum(group: dict[str, Any], momentum: float, beta1: bool) -> None:
    """Set a group's momentum, or the first of its betas."""
    if beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum
