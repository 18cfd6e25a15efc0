"""Scaled dot-product attention.

    softmax(q k^T scale + mask) v                                   (Vaswani et al. 2017)

One operator with its backward as another, so that an executor can run them without ever storing the scores;
the derivative is also written on tensors, for when it is differentiated again. With dropout both take in
addition which weights are kept, drawn before.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import c_name
from ...graph.geometry import Geometry, contiguous, dense_like, intern
from ...graph.recent import Recent
from ...graph.strides import row_major_strides
from ...tensor import Tensor, record, state
from ..declaration import prices
from ..declaration.definition import arithmetic_dtype, broadcast_shapes, operand_dtype, operator
from ..declaration.registry import api
from ..random.dropout import dropout
from ..random.random import BERNOULLI, drawn


def _contiguous_geometry(operands: Any, attributes: Any) -> Any:
    q, _, v = operands[:3]
    _check_mask(operands)
    return contiguous((*q.shape[:-1], v.shape[-1]), q.dtype, q.device)


def _attention_geometry(operands: Any, attributes: Any) -> Any:
    """In memory as the query is, where PyTorch computes attention without storing the scores."""
    q, k, v, mask = operands[:4]
    if _is_flash(q, k, v, mask):
        _check_mask(operands)
        return dense_like(q.shape, q, q.dtype)
    return _contiguous_geometry(operands, attributes)


def _check_mask(operands: Any) -> None:
    q, k, _, mask = operands[:4]
    if mask is type(None):
        return
    scores = (*q.shape[:-1], k.shape[-2])
    common = broadcast_shapes([scores, mask.shape])
    if common != scores:
        raise RuntimeError(f"output with shape {list(scores)} doesn't match the broadcast shape "
                           f"{list(common)}")


def _is_flash(q: Any, k: Any, v: Any, mask: Any) -> bool:
    return (q.ndim == 4 and q.strides[-1] == k.strides[-1] == v.strides[-1] == 1
            and q.shape[-1] == v.shape[-1] and (mask is type(None) or mask.ndim in (2, 4)))


def _of_queries(shared: Any, query: Any) -> Any:
    """Keys or values repeated for the heads of queries that share them."""
    if shared.ndim < 3 or shared.shape[-3] == query.shape[-3]:
        return shared
    return shared.repeat(query.shape[-3] // shared.shape[-3], axis=-3)


def _of_keys(grad: Any, shared: Any) -> Any:
    """The sum of gradients over the heads of queries that share keys or values."""
    if grad.shape == shared.shape:
        return grad
    return grad.reshape((*shared.shape[:-2], -1, *shared.shape[-2:])).sum(-3)


def _probabilities(m: Any, q: Any, k: Any, mask: Any, scale: Any, causal: bool) -> Any:
    """softmax(q k^T scale + mask): rows that may attend to nothing give zeros."""
    scores = m.matmul(q, _of_queries(k, q).swapaxes(-1, -2))
    scores *= scale
    if causal:
        allowed = np.tril(np.ones(scores.shape[-2:], bool))
        scores = np.where(allowed, scores, np.asarray(-np.inf, scores.dtype))
    if mask is not None:
        scores += mask
    top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    scores -= np.where(np.isfinite(top), top, 0)
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    scores /= np.where(total == 0, 1, total)
    return scores


@operator("scaled_dot_product_attention", _attention_geometry, compute=operand_dtype,
          grad_name="ScaledDotProductFlashAttentionForCpuBackward0", price=prices.product)
def ATTENTION(m: Any, query: Any, key: Any, value: Any, mask: Any, scale: Any, causal: bool) -> Any:
    """(..., H, L, E), (..., G, S, E) and (..., G, S, F) give (..., H, L, F); G is H or divides it."""
    weights = _probabilities(m, query, key, mask, query.dtype.type(scale), causal)
    return m.matmul(weights, _of_queries(value, query))


def _contiguous_gradients(operands: Any, attributes: Any) -> Any:
    return tuple(contiguous(g.shape, g.dtype, g.device) for g in operands[1:4])


def _attention_backward_geometry(operands: Any, attributes: Any) -> Any:
    """In memory (N, L, H, E), where PyTorch computes attention without storing the scores."""
    if not _is_flash(*operands[1:5]):
        return _contiguous_gradients(operands, attributes)
    return tuple(_heads_inside(g) for g in operands[1:4])


def _heads_inside(g: Any) -> Any:
    n, heads, length, width = g.shape
    a, b, c, d = row_major_strides((n, length, heads, width))
    return intern(g.shape, (a, c, b, d), 0, g.dtype, g.device)


@operator("scaled_dot_product_attention_dropout", _contiguous_geometry, compute=operand_dtype,
          grad_name="UnsafeViewBackward0")
def ATTENTION_DROPOUT(m: Any, query: Any, key: Any, value: Any, mask: Any, kept: Any, scale: Any, factor: Any,
                      causal: bool) -> Any:
    """Attention whose weights are multiplied with ``kept`` (..., L, S), zeros and ones, and ``factor``."""
    weights = _probabilities(m, query, key, mask, query.dtype.type(scale), causal)
    weights *= kept
    weights *= query.dtype.type(factor)
    return m.matmul(weights, _of_queries(value, query))


@operator("scaled_dot_product_attention_backward", _attention_backward_geometry, compute=operand_dtype,
          price=prices.product)
def ATTENTION_BACKWARD(m: Any, grad: Any, query: Any, key: Any, value: Any, mask: Any, scale: Any,
                       causal: bool) -> Any:
    """Gradients by query, key and value; the probabilities are computed anew."""
    return _gradients(m, grad, query, key, value, mask, None, scale, causal)


@operator("scaled_dot_product_attention_dropout_backward", _contiguous_gradients, compute=operand_dtype)
def ATTENTION_DROPOUT_BACKWARD(m: Any, grad: Any, query: Any, key: Any, value: Any, mask: Any, kept: Any,
                               scale: Any, factor: Any, causal: bool) -> Any:
    """Gradients of attention with dropout."""
    return _gradients(m, grad, query, key, value, mask, kept * query.dtype.type(factor), scale, causal)


def _gradients(m: Any, grad: Any, query: Any, key: Any, value: Any, mask: Any, noise: Any, scale: Any,
               causal: bool) -> Any:
    scale = query.dtype.type(scale)
    p = _probabilities(m, query, key, mask, scale, causal)
    weights = p if noise is None else p * noise
    grad_value = m.matmul(weights.swapaxes(-1, -2), grad)
    grad_scores = m.matmul(grad, _of_queries(value, query).swapaxes(-1, -2))
    if noise is not None:
        grad_scores *= noise
    grad_scores -= (grad_scores * p).sum(axis=-1, keepdims=True)
    grad_scores *= p
    grad_scores *= scale
    grad_query = m.matmul(grad_scores, _of_queries(key, query))
    grad_key = m.matmul(grad_scores.swapaxes(-1, -2), query)
    return grad_query, _of_keys(grad_key, key), _of_keys(grad_value, value)


@ATTENTION.derivative("query", "key", "value", keeps="query key value mask scale")
def _(ctx: Any, grad: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Any, scale: float) -> Any:
    (causal,) = ctx.attributes
    if not state.enabled:
        return record(ATTENTION_BACKWARD, (grad, query, key, value, mask, scale), (causal,))
    return _gradients_on_tensors(grad, query, key, value, mask, None, scale, causal)


@ATTENTION_DROPOUT.derivative("query", "key", "value", keeps="query key value mask kept scale factor")
def _(ctx: Any, grad: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Any, kept: Tensor,
      scale: float, factor: float) -> Any:
    (causal,) = ctx.attributes
    if not state.enabled:
        return record(ATTENTION_DROPOUT_BACKWARD, (grad, query, key, value, mask, kept, scale, factor),
                      (causal,))
    return _gradients_on_tensors(grad, query, key, value, mask, kept * factor, scale, causal)


def _gradients_on_tensors(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Any, noise: Any,
                          scale: float, causal: bool) -> Any:
    shared_key, shared_value = key, value
    key, value = _repeated(key, query), _repeated(value, query)
    p = _weights(query, key, mask, scale, causal)
    grad_p = grad.matmul(value.transpose(-1, -2))
    weights = p
    if noise is not None:
        grad_p, weights = grad_p * noise, p * noise
    grad_scores = p * (grad_p - (grad_p * p).sum(-1, keepdim=True)) * scale
    return (grad_scores.matmul(key), _of_keys(grad_scores.transpose(-1, -2).matmul(query), shared_key),
            _of_keys(weights.transpose(-1, -2).matmul(grad), shared_value))


def _repeated(shared: Tensor, query: Tensor) -> Tensor:
    """``_of_queries`` on tensors."""
    if shared.ndim < 3 or shared.shape[-3] == query.shape[-3]:
        return shared
    return shared.repeat_interleave(query.shape[-3] // shared.shape[-3], -3)


def _weights(query: Tensor, key: Tensor, mask: Any, scale: float, causal: bool) -> Tensor:
    """softmax(q k^T scale + mask) on tensors."""
    scores = query.matmul(key.transpose(-1, -2)) * scale
    if causal:
        allowed = scores.new_ones(scores.shape[-2:], dtype=dtypes.bool_).tril()
        scores = scores.masked_fill(~allowed, -math.inf)
    if mask is not None:
        scores = scores + mask
    top = scores.detach().amax(-1, keepdim=True)
    top = top.masked_fill(top == -math.inf, 0.0)
    weights = (scores - top).exp()
    total = weights.sum(-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1.0)


def _additive(mask: Any, query: Tensor) -> Any:
    if mask is None:
        return None
    if mask.dtype is dtypes.bool_:
        return query.new_zeros(mask.shape).masked_fill(~mask, -math.inf)
    if mask.dtype is dtypes.float32:
        return mask.to(query.dtype)
    if mask.dtype is not query.dtype:
        raise RuntimeError("Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                           f"attn_mask.dtype: {c_name(mask.dtype)} and  query.dtype: {c_name(query.dtype)} "
                           "instead.")
    return mask


@api("nn.functional")
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:
    """softmax(q k^T scale + mask) v: (N, ..., L, E), (N, ..., S, E) and (N, ..., S, F) give (N, ..., L, F).

    ``scale`` defaults to 1 / sqrt(E). A boolean mask is true where attention is allowed; others are added.

    >>> import flambeau as torch
    >>> q = torch.ones(1, 2, 4)
    >>> torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).shape
    torch.Size([1, 2, 4])
    """
    if is_causal.__class__ is not bool or enable_gqa.__class__ is not bool:
        raise TypeError("is_causal must be bool")    # worded by what judges the arguments
    q, k, v = query._geometry, key._geometry, value._geometry
    if attn_mask is None and dropout_p == 0.0 and _leads.get((q, k, v, enable_gqa)):
        # They were found to fit before.
        return record(ATTENTION, (query, key, value, None, _factor(scale, q)), (is_causal,))
    if q.dtype is not k.dtype or k.dtype is not v.dtype:
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got query.dtype: "
                           f"{c_name(query.dtype)} key.dtype: {c_name(key.dtype)} and value.dtype: "
                           f"{c_name(value.dtype)} instead.")
    if q.ndim < 2 or k.ndim < 2 or v.ndim < 2:
        raise RuntimeError("Expected query, key, and value to all be  at least 2 dimensional, but got "
                           f"query.dim: {query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} "
                           "instead.")
    if is_causal and attn_mask is not None:
        if dropout_p != 0.0 or not _takes_both(query, key, value, attn_mask):
            raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when "
                               "is_causal=True")
        attn_mask, is_causal = _causal(attn_mask, q.shape[-2], k.shape[-2]), False
    if dropout_p > 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if dropout_p < 0.0:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Currently do not support dropout "
                           "> 0")
    if enable_gqa:
        _check_groups(query, key, value)
    factor = _factor(scale, q)
    mask = _additive(attn_mask, query)
    fused = (mask is None or not mask.requires_grad) and _same_lead(query, key, value, enable_gqa)
    if dropout_p == 0.0 and fused:
        return record(ATTENTION, (query, key, value, mask, factor), (is_causal,))
    narrow, wide = query.dtype, arithmetic_dtype(query.dtype)
    if wide is not narrow:  # rounding before the softmax would be magnified by it
        query, key, value = query.to(wide), key.to(wide), value.to(wide)
        mask = None if mask is None else mask.to(wide)
    if fused and 0.0 < dropout_p < 1.0:
        geometry = contiguous((*query.shape[:-1], key.shape[-2]), wide, query.device)
        kept = drawn(BERNOULLI, None, (float(1 - dropout_p),), geometry)
        return record(ATTENTION_DROPOUT, (query, key, value, mask, kept, factor, 1 / (1 - dropout_p)),
                      (bool(is_causal),)).to(narrow)
    if enable_gqa:
        key, value = _repeated(key, query), _repeated(value, query)
    weights = _weights(query, key, mask, factor, is_causal)
    return (dropout(weights, dropout_p) if dropout_p else weights).matmul(value).to(narrow)


def _takes_both(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> bool:
    """Whether PyTorch computes this by tiles, where it takes a mask beside ``is_causal``."""
    return query.ndim == key.ndim == value.ndim == 4 and query.shape[-1] == value.shape[-1] \
        and 0 not in query.shape and 0 not in key.shape and mask.ndim in (2, 4) and not mask.requires_grad


def _causal(mask: Tensor, rows: int, columns: int) -> Tensor:
    """A mask, and in each row nothing beyond its own column."""
    allowed = mask.new_ones((rows, columns), dtype=dtypes.bool_).tril()
    return mask & allowed if mask.dtype is dtypes.bool_ else \
        mask.expand(*mask.shape[:-2], rows, columns).masked_fill(~allowed, -math.inf)


def _same_lead(query: Tensor, key: Tensor, value: Tensor, grouped: bool) -> bool:
    asked = query._geometry, key._geometry, value._geometry, grouped
    found = _leads.get(asked)
    if found is None:
        q, k, v = tuple(query.shape), tuple(key.shape), tuple(value.shape)
        same = k[:-3] == q[:-3] if grouped else k[:-2] == q[:-2]
        found = _leads.keep(asked, same and k[:-2] == v[:-2] and q[-1] == k[-1] and k[-2] == v[-2])
    return found


_leads: Recent[tuple[Any, ...], bool] = Recent(1 << 12)


def _factor(scale: float | None, query: Geometry) -> float:
    return 1.0 / math.sqrt(query.shape[-1] or 1) if scale is None else float(scale)


def _check_groups(query: Tensor, key: Tensor, value: Tensor) -> None:
    for x in (query, key, value):
        x.size(-3)
    if any(n == 0 or query.shape[-3] % n for n in (key.shape[-3], value.shape[-3])):
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
