"""Dropout: elements or channels set to zero at random (Srivastava et al. 2014); a self-normalizing kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...graph.geometry import Geometry, contiguous, dense_like
from ...tensor import Tensor, assign, record
from ...tensor.warned import warn
from ..calls.arguments import type_in_words
from ..declaration.definition import pointwise_operator
from ..declaration.domain import not_implemented
from ..declaration.registry import api, no_tensor
from ..pointwise.arithmetic import mul
from .random import BERNOULLI, drawn

# The negative saturation value of SELU (Klambauer et al. 2017), to which alpha dropout sets elements.
_ALPHA = 1.7580993408473766

# What is kept is noted in a byte for each element, of which memory has fewer than of numbers.
DROPPED = pointwise_operator("dropped", lambda m, input, kept, factor:
                             m.multiply(input, m.where(m.not_equal(kept, 0), factor, 0)),
                             grad_name="MulBackward0", casts=True)


@DROPPED.derivative("input", keeps="kept factor")
def _(ctx: Any, grad: Tensor, kept: Tensor, factor: float) -> Tensor:
    return record(DROPPED, (grad, kept, factor))


def _check(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _noise_geometry(x: Tensor, features: bool, dtype: dtypes.dtype) -> Geometry:
    # The noise of elements lies in memory as x does: numbers are drawn in the order of memory.
    g = x._geometry
    if features and g.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    if g.dtype.category < dtypes.FLOATING:
        raise RuntimeError("result type Float can't be cast to the desired output type "
                           f"{dtypes.SCALAR_NAMES[g.dtype]}")
    if features:
        return contiguous((*g.shape[:2], *([1] * (g.ndim - 2))), dtype, g.device)
    return dense_like(g.shape, g, dtype)


def _require_flag(training: Any, called: str) -> None:
    if training.__class__ is not bool:
        raise TypeError(f"{called}(): argument 'train' (position 3) must be bool, not "
                        f"{type_in_words(training)}")


def _drop(x: Tensor, p: float, training: bool, features: bool) -> Tensor:
    if p != p:  # PyTorch's layers let it pass and its kernel refuses it
        raise RuntimeError("dropout probability has to be between 0 and 1, but got nan")
    if not training or p == 0 or x.numel() == 0:
        return x
    if x._geometry.dtype.is_complex:
        raise not_implemented("bernoulli_scalar_cpu_", x._geometry.dtype)
    if p == 1:
        return mul(x, x.new_zeros(()))
    kept = 1.0 - float(p)
    noise = drawn(BERNOULLI, None, (kept,), _noise_geometry(x, features, dtypes.bool_))
    factor = 1.0 / kept if x._geometry.dtype is dtypes.float64 else float(np.float32(1.0) / np.float32(kept))
    return record(DROPPED, (x, noise, factor))


@api("nn.functional", judge="never")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements set to zero with probability p, the others divided by 1 - p.

    >>> import flambeau as torch
    >>> torch.nn.functional.dropout(torch.ones(3), training=False)
    tensor([1., 1., 1.])
    """
    if input.__class__ is not Tensor and not isinstance(input, Tensor):
        return no_tensor("nn.functional", "dropout", input, p, training)
    _check(p)
    _require_flag(training, "dropout")
    result = _drop(input, p, training, False)
    return assign(input, result, "dropout_") if inplace and result is not input else result


@api("torch", name="dropout", inplace=True, judge="never")
def _torch_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``torch.dropout``: the positional form.

    >>> import flambeau as torch
    >>> torch.dropout(torch.ones(3), 0.5, train=False)
    tensor([1., 1., 1.])
    """
    if not isinstance(input, Tensor):
        return no_tensor("torch", "dropout", input, p, train)
    _require_flag(train, "dropout")
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    return _drop(input, p, train, False)


def _features(input: Tensor, p: float, training: bool, inplace: bool, dims: int) -> Tensor:
    _check(p)
    if input.ndim not in (dims + 1, dims + 2):
        warn(f"dropout{dims}d: Received a {input.ndim}-D input to dropout{dims}d, which is "
             "deprecated and will result in an error in a future release. To retain the behavior "
             f"and silence this warning, please use dropout instead. Note that dropout{dims}d "
             f"exists to provide channel-wise dropout on inputs with {dims} spatial dimensions, a "
             f"channel dimension, and an optional batch dimension (i.e. {dims + 1}D or {dims + 2}D "
             "inputs).")
    if dims == 2 and input.ndim == 3:
        warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
             "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
             "dim. This behavior will change in a future release to interpret the input as one "
             "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
             "dropout behavior, please switch to using dropout1d instead.")
    _require_flag(training, "feature_dropout")
    batched = input.ndim == dims + 2 or dims == 2
    result = _drop(input if batched else input.unsqueeze(0), p, training, True)
    result = result if batched else result.squeeze(0)
    return assign(input, result, "feature_dropout_") if inplace and result is not input else result


@api("nn.functional")
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of (N, C, L) or (C, L) set to zero.

    >>> import flambeau as torch
    >>> torch.nn.functional.dropout1d(torch.ones(2, 3), training=False)
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    _check(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note "
                           "that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial "
                           "dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D "
                           "inputs).")
    _require_flag(training, "feature_dropout")
    batched = input.ndim == 3
    result = _drop(input if batched else input.unsqueeze(0), p, training, True)
    result = result if batched else result.squeeze(0)
    return assign(input, result, "feature_dropout_") if inplace and result is not input else result


@api("nn.functional")
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of (N, C, H, W) set to zero (Tompson et al. 2015).

    >>> import flambeau as torch
    >>> torch.nn.functional.dropout2d(torch.ones(1, 2, 3, 3), training=False).shape
    torch.Size([1, 2, 3, 3])
    """
    return _features(input, p, training, inplace, 2)


@api("nn.functional")
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of (N, C, D, H, W) set to zero.

    >>> import flambeau as torch
    >>> torch.nn.functional.dropout3d(torch.ones(1, 2, 3, 3, 3), training=False).shape
    torch.Size([1, 2, 3, 3, 3])
    """
    return _features(input, p, training, inplace, 3)


def _alpha_drop(x: Tensor, p: float, training: bool, features: bool) -> Tensor:
    if p != p:
        raise RuntimeError("dropout probability has to be between 0 and 1, but got nan")
    if not training or p == 0 or x.numel() == 0:
        return x
    if p == 1:
        return mul(x, x.new_zeros(()))
    noise = drawn(BERNOULLI, None, (float(1 - p),), _noise_geometry(x, features, x._geometry.dtype))
    scale = 1.0 / ((_ALPHA * _ALPHA * p + 1) * (1 - p)) ** 0.5
    shift = (noise - 1) * (_ALPHA * scale) + _ALPHA * scale * p
    return x * (noise * scale) + shift


@api("nn.functional", judge="first")
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance of SELU networks (Klambauer et al. 2017).

    >>> import flambeau as torch
    >>> torch.nn.functional.alpha_dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    _check(p)
    result = _alpha_drop(input, p, training, False)
    return assign(input, result, "alpha_dropout_") if inplace and result is not input else result


@api("nn.functional", judge="first")
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False,
                          inplace: bool = False) -> Tensor:
    """Alpha dropout of whole channels.

    >>> import flambeau as torch
    >>> torch.nn.functional.feature_alpha_dropout(torch.ones(1, 2, 1), training=False).shape
    torch.Size([1, 2, 1])
    """
    _check(p)
    result = _alpha_drop(input, p, training, True)
    return assign(input, result, "feature_alpha_dropout_") if inplace and result is not input else result


def _positional(function: Any, name: str) -> None:
    def positional(input: Tensor, p: float, train: bool) -> Tensor:
        return function(input, p, train)
    positional.__name__ = name
    positional.__doc__ = f"``torch.{name}``: the positional form."
    api("torch", inplace=True, judge="first")(positional)


_positional(lambda x, p, train: _alpha_drop(x, p, train, False), "alpha_dropout")
_positional(lambda x, p, train: _drop(x, p, train, True), "feature_dropout")
_positional(lambda x, p, train: _alpha_drop(x, p, train, True), "feature_alpha_dropout")
