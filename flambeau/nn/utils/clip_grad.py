"""Limiting gradients before an optimizer's step."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from ... import linalg
from ... import operators as ops
from ...autograd import no_grad
from ...operators.optimization import gradient_norms as together
from ...operators.optimization.multi_tensor import gradients
from ...tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

Tensors = Tensor | Iterable[Tensor]


def _as_list(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Tensors) -> list[Tensor]:
    return [grad for grad in gradients(_as_list(parameters)) if grad is not None]


def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of the vector of the tensors' norms, the norm of all values together.

    >>> import flambeau as torch
    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    with no_grad():
        every = _as_list(tensors)
        norm_type = float(norm_type)
        if not every:
            return ops.tensor(0.0)
        if together.suit(every):
            total = together.total_norm(every, norm_type)
        else:
            norms = ops.stack([linalg.vector_norm(tensor, norm_type) for tensor in every])
            total = linalg.vector_norm(norms, norm_type)
        if error_if_nonfinite and bool(ops.logical_or(total.isnan(), total.isinf())):
            raise RuntimeError(
                f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
                "cannot be clipped. To disable this error and scale the gradients by the non-finite norm "
                "anyway, set `error_if_nonfinite=False`"
            )
        return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiply the gradients in place by min(1, max_norm / (total_norm + 1e-6)).

    >>> import flambeau as torch
    >>> w = torch.nn.Parameter(torch.zeros(1))
    >>> w.grad = torch.tensor([4.0])
    >>> torch.nn.utils.clip_grads_with_norm_(w, 2.0, torch.tensor(4.0))
    >>> w.grad
    tensor([2.0000])
    """
    with no_grad():
        _scale(_gradients(parameters), float(max_norm), total_norm)


def _scale(every: list[Tensor], max_norm: float, total_norm: Tensor) -> None:
    # Multiplying by 1 where nothing is clipped costs less than asking whether something is.
    if together.suit(every) and together.clip_gradients(every, total_norm, max_norm):
        return
    factor = ops.clamp(max_norm / (total_norm + 1e-6), max=1.0)
    for gradient in every:
        gradient.mul_(factor.to(gradient.device))


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients in place so that their common norm is at most `max_norm`; return the norm before.

    >>> import flambeau as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_([w], max_norm=1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    every = _as_list(parameters)
    if not every and not isinstance(parameters, Tensor | list | tuple):
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    own = _gradients(every)
    total_norm = get_total_norm(own, norm_type, error_if_nonfinite, foreach)
    with no_grad():
        _scale(own, float(max_norm), total_norm)
    return total_norm


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """Call `clip_grad_norm_`, with a warning that this name is deprecated.

    >>> import flambeau as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> w = torch.ones(1, requires_grad=True)
    >>> w.grad = torch.tensor([3.0])
    >>> torch.nn.utils.clip_grad_norm([w], 1.0), w.grad
    (tensor(3.), tensor([1.0000]))
    """
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(*args, **kwargs)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Limit every value of the gradients to [-clip_value, clip_value], in place.

    >>> import flambeau as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([-3.0, 0.5])
    >>> torch.nn.utils.clip_grad_value_([w], 1.0)
    >>> w.grad
    tensor([-1.0000,  0.5000])
    """
    limit = float(clip_value)
    with no_grad():
        every = _gradients(parameters)
        if together.suit(every) and together.limit_gradients(every, limit):
            return
        for gradient in every:
            gradient.clamp_(min=-limit, max=limit)
