"""Multi-head attention as one function: projections, heads, masks, and the averaged weights if asked for."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .. import dtypes
from ..tensor import Tensor
from .attention import scaled_dot_product_attention
from .dropout import dropout
from .joining import cat
from .linear import linear
from .padding import pad
from .registry import api
from .softmax import softmax


def canonical_mask(mask: Any, name: str, like: Tensor) -> Any:
    """A mask as numbers to add: a boolean one is true where attention is forbidden."""
    if mask is None:
        return None
    if mask.dtype is dtypes.bool_:
        return like.new_zeros(mask.shape).masked_fill(mask, -math.inf)
    if mask.dtype.category != dtypes.FLOATING:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return mask


def _projected(query: Tensor, key: Tensor, value: Tensor, weights: Any,
               bias: Any) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v by one packed weight (3E, E) or three of their own."""
    if isinstance(weights, Tensor):
        width = query.shape[-1]
        if key is value and query is key:
            q, k, v = linear(query, weights, bias).split(width, -1)
            return q, k, v
        parts = weights.split(width, 0)
        biases = (None, None, None) if bias is None else bias.split(width, 0)
    else:
        parts = weights
        biases = (None, None, None) if bias is None else bias.split(bias.shape[0] // 3, 0)
    return (linear(query, parts[0], biases[0]), linear(key, parts[1], biases[1]),
            linear(value, parts[2], biases[2]))


def _heads(x: Tensor, batch: int, heads: int) -> Tensor:
    """(L, N, E) as (N, H, L, E / H), without a copy of a part of a packed projection."""
    return x.reshape(x.shape[0], batch, heads, x.shape[-1] // heads).permute(1, 2, 0, 3)


def _check_shapes(query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Any, attn_mask: Any) -> bool:
    """Whether the input is batched."""
    if query.ndim not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D "
                             "query tensor")
    batched = query.ndim == 3
    word = "batched (3-D)" if batched else "unbatched (2-D)"
    if key.ndim != query.ndim or value.ndim != query.ndim:
        raise AssertionError(f"For {word} `query`, expected `key` and `value` to be {query.ndim}-D but found "
                             f"{key.ndim}-D and {value.ndim}-D tensors respectively")
    if key_padding_mask is not None and key_padding_mask.ndim != query.ndim - 1:
        raise AssertionError(f"For {word} `query`, expected `key_padding_mask` to be `None` or "
                             f"{query.ndim - 1}-D but found {key_padding_mask.ndim}-D tensor instead")
    if attn_mask is not None and attn_mask.ndim not in (2, 3):
        raise AssertionError(f"For {word} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
                             f"{attn_mask.ndim}-D tensor instead")
    return batched


def _check_operands(query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Any,
                    attn_mask: Any) -> None:
    """Whether keys, values and their mask are of one length and of the queries' batch."""
    if key_padding_mask is not None:
        if attn_mask is not None and attn_mask.dtype is not key_padding_mask.dtype:
            warnings.warn("Support for mismatched key_padding_mask and attn_mask is deprecated. Use same "
                          "type for both instead.", stacklevel=4)
        for dim, expected in ((0, key.shape[1]), (1, key.shape[0])):
            if key_padding_mask.shape[dim] != expected:
                raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {expected}, but got "
                                     f"{key_padding_mask.shape[dim]}")
    if key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _check_weights(key: Tensor, value: Tensor, packed: Any, separate: tuple[Any, Any, Any],
                   use_separate: bool) -> None:
    if not use_separate:
        if packed is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        return
    for name, weight in zip("qkv", separate):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
    for name, given, weight in (("key", key, separate[1]), ("value", value, separate[2])):
        expected = separate[0].shape[0], given.shape[-1]
        if tuple(weight.shape) != expected:
            raise AssertionError(f"expecting {name} weights shape of {expected}, but got {weight.shape}")


@api("nn.functional")
def multi_head_attention_forward(
        query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
        in_proj_weight: Any, in_proj_bias: Any, bias_k: Any, bias_v: Any, add_zero_attn: bool,
        dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Any, training: bool = True,
        key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
        use_separate_proj_weight: bool = False, q_proj_weight: Any = None, k_proj_weight: Any = None,
        v_proj_weight: Any = None, static_k: Any = None, static_v: Any = None,
        average_attn_weights: bool = True, is_causal: bool = False) -> tuple[Tensor, Any]:
    """Attention of several heads (Vaswani et al. 2017).

    (L, N, E), (S, N, Ek), (S, N, Ev) give (L, N, E) and the weights.
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask)
    same = key is value, query is key
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        value = key if same[0] else value
        key = query if same[1] else key
        value = key if same[0] else value
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    if width != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    if width % num_heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer "
                           "module method `generate_square_subsequent_mask` to create this mask.")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the causal kernel needs no mask
    else:
        is_causal = False
    _check_operands(query, key, value, key_padding_mask, attn_mask)
    _check_weights(key, value, in_proj_weight, (q_proj_weight, k_proj_weight, v_proj_weight),
                   use_separate_proj_weight)
    if (bias_k is None) != (bias_v is None):
        there, absent = ("bias_v", "bias_k") if bias_k is None else ("bias_k", "bias_v")
        raise AssertionError(f"{there} is set but {absent} is None")
    attn_mask = canonical_mask(attn_mask, "attn_mask", query)
    key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", query)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    q, k, v = _projected(query, key, value, weights, in_proj_bias)
    if attn_mask is not None:
        attn_mask = _expanded_mask(attn_mask, length, key.shape[0], batch, num_heads)
    if bias_k is not None:
        k, v = cat([k, bias_k.repeat(1, batch, 1)]), cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
    q, k, v = _heads(q, batch, num_heads), _heads(k, batch, num_heads), _heads(v, batch, num_heads)
    k = k if static_k is None else static_k.reshape(batch, num_heads, *static_k.shape[1:])
    v = v if static_v is None else static_v.reshape(batch, num_heads, *static_v.shape[1:])
    if add_zero_attn:
        k = cat([k, k.new_zeros((batch, num_heads, 1, k.shape[-1]))], 2)
        v = cat([v, v.new_zeros((batch, num_heads, 1, v.shape[-1]))], 2)
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
    if key_padding_mask is not None:
        padding = key_padding_mask.reshape(batch, 1, 1, -1).expand(batch, num_heads, 1, k.shape[2])
        attn_mask = padding if attn_mask is None else attn_mask + padding
    p = dropout_p if training else 0.0
    out, attention = _attend(q, k, v, attn_mask, p, is_causal, need_weights)
    out = out.permute(2, 0, 1, 3).reshape(length * batch, width)
    out = linear(out, out_proj_weight, out_proj_bias).reshape(length, batch, -1)
    if attention is not None and average_attn_weights:
        attention = attention.mean(1)
    if not batched:
        out = out.squeeze(1)
        attention = None if attention is None else attention.squeeze(0)
    return out, attention


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Any, p: float, causal: bool,
            need_weights: bool) -> tuple[Tensor, Any]:
    if not need_weights:
        return scaled_dot_product_attention(q, k, v, mask, p, causal), None
    scores = (q * math.sqrt(1.0 / q.shape[-1])).matmul(k.transpose(-2, -1))
    weights = softmax(scores if mask is None else scores + mask, -1)
    if p:
        weights = dropout(weights, p)
    return weights.matmul(v), weights


def _expanded_mask(mask: Tensor, length: int, keys: int, batch: int, heads: int) -> Tensor:
    if mask.ndim == 2:
        if tuple(mask.shape) != (length, keys):
            raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be "
                               f"{(length, keys)}.")
        return mask.reshape(1, 1, length, keys)
    if tuple(mask.shape) != (batch * heads, length, keys):
        raise RuntimeError(f"The shape of the 3D attn_mask is {mask.shape}, but should be "
                           f"{(batch * heads, length, keys)}.")
    return mask.reshape(batch, heads, length, keys)


def _one_more(mask: Any) -> Any:
    """A mask that lets one more key be attended to."""
    return None if mask is None else pad(mask, (0, 1))
