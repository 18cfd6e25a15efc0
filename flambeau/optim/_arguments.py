"""Checks of constructor arguments that several optimizers share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensor import Tensor


def check_lr(lr: Any, message: str = "Invalid learning rate: {}") -> None:
    """A learning rate is a number >= 0 or a tensor with one element."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(message.format(lr))


def check_at_least_zero(**values: Any) -> None:
    """Each keyword names an argument; the message is ``Invalid <name> value: <value>``."""
    for name, value in values.items():
        if not 0.0 <= value:
            raise ValueError(f"Invalid {name} value: {value}")


def check_eps(eps: Any) -> None:
    """Raise where epsilon is negative."""
    if not 0.0 <= eps:
        raise ValueError(f"Invalid epsilon value: {eps}")


def check_betas(betas: Sequence[Any]) -> None:
    """Raise where a decay rate is not in [0, 1)."""
    for index in (0, 1):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """`fused` and `foreach` choose an implementation in PyTorch; here they are only checked."""
    if not fused:
        return
    if differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_fused_parameters(params: Sequence[Tensor]) -> None:
    """PyTorch's fused steps take real numbers alone."""
    for p in params:
        if not p.is_floating_point():
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                "['mps', 'cuda', 'xpu', 'hpu', 'cpu', 'mtia', 'privateuseone'] but "
                f"{p.dtype} and {p.device.type}"
            )
