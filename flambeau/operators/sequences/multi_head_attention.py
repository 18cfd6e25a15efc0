"""Multi-head attention as one function: projections, heads, masks, and the averaged weights if asked for."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ... import dtypes
from ...tensor import Tensor
from ...tensor.warned import warn
from ..activations.softmax import softmax
from ..calls.arguments import type_in_words
from ..declaration.registry import api
from ..indexing.padding import pad
from ..products.linear import linear
from ..random.dropout import dropout
from ..shapes.joining import cat
from ..shapes.transposing import is_exchanged
from .attention import scaled_dot_product_attention


def canonical_mask(mask: Any, name: str, like: Tensor) -> Any:
    """A mask as numbers to add: a boolean one is true where attention is forbidden."""
    if mask is None:
        return None
    if not isinstance(mask, Tensor):
        raise TypeError("is_floating_point(): argument 'input' (position 1) must be Tensor, not "
                        f"{type_in_words(mask)}")
    if mask.dtype is dtypes.bool_:
        return like.new_zeros(mask.shape).masked_fill(mask, -math.inf)
    if mask.dtype.category != dtypes.FLOATING:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return mask


class _Heads(NamedTuple):
    """What attention works on: q (N, H, L, E / H), k and v (N, H, S, E / H), and the masks to add."""

    q: Tensor
    k: Tensor
    v: Tensor
    attn_mask: Any
    key_padding_mask: Any

    def with_keys(self, k: Tensor, v: Tensor) -> _Heads:
        """With keys and values behind the others, seen by all."""
        return self._replace(k=cat([self.k, k], 2), v=cat([self.v, v], 2),
                             attn_mask=_one_more(self.attn_mask),
                             key_padding_mask=_one_more(self.key_padding_mask))


def _one_more(mask: Any) -> Any:
    """A mask that lets one more key be attended to."""
    return None if mask is None else pad(mask, (0, 1))


# --- checks -------------------------------------------------------------------------------------------------

def check_shapes(query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Any, attn_mask: Any) -> bool:
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


def _check_width(query: Tensor, expected: int, num_heads: int) -> None:
    width = query.shape[-1]
    if width != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {width}")
    if width % num_heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")


def _check_keys(key: Tensor, value: Tensor, use_separate: bool) -> None:
    """Whether there is a value for each key."""
    if use_separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                             f"{value.shape[:2]}")
    if not use_separate and key.shape != value.shape:
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


def _check_padding(key: Tensor, key_padding_mask: Any) -> None:
    for dim, expected in ((0, key.shape[1]), (1, key.shape[0])):
        if key_padding_mask.shape[dim] != expected:
            raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {expected}, but got "
                                 f"{key_padding_mask.shape[dim]}")


def _check_biases(bias_k: Any, bias_v: Any) -> None:
    if (bias_k is None) != (bias_v is None):
        there, absent = ("bias_v", "bias_k") if bias_k is None else ("bias_k", "bias_v")
        raise AssertionError(f"{there} is set but {absent} is None")


def _check_projected(width: int, biases: Any) -> None:
    for name, bias in zip(("query", "key", "value"), biases):
        if bias is not None and bias.shape != (width,):
            raise AssertionError(f"expecting {name} bias shape of {(width,)}, but got {bias.shape}")


# --- steps --------------------------------------------------------------------------------------------------

def _batched(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """With a batch of one; tensors that are one object stay one, for the joint projection."""
    wide_query = query.unsqueeze(1)
    wide_key = wide_query if key is query else key.unsqueeze(1)
    return wide_query, wide_key, wide_key if value is key else value.unsqueeze(1)


def _masks(query: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool,
           need_weights: bool) -> tuple[Any, Any, bool]:
    """The masks as numbers to add, and whether the causal kernel, which needs none, will do."""
    if attn_mask is not None and key_padding_mask is not None \
            and attn_mask.dtype is not key_padding_mask.dtype:
        warn("Support for mismatched key_padding_mask and attn_mask is deprecated. Use same "
             "type for both instead.")
    key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", query)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer "
                           "module method `generate_square_subsequent_mask` to create this mask.")
    if is_causal and key_padding_mask is None and not need_weights:
        return None, None, True
    return canonical_mask(attn_mask, "attn_mask", query), key_padding_mask, False


def _in_projection(query: Tensor, key: Tensor, value: Tensor, weights: Any,
                   bias: Any) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v by one packed weight (3E, E) or three of their own."""
    if isinstance(weights, Tensor):
        if key is value and query is key:
            q, k, v = linear(query, weights, bias).split(query.shape[-1], -1)
            return q, k, v
        parts = weights.chunk(3)
        biases = (None, None, None) if bias is None else bias.chunk(3)
    else:
        parts = weights
        biases = (None, None, None) if bias is None else bias.chunk(3)
        _check_projected(query.shape[-1], biases)
    return (linear(query, parts[0], biases[0]), linear(key, parts[1], biases[1]),
            linear(value, parts[2], biases[2]))


def _split_heads(x: Tensor, batch: int, heads: int, batch_first: bool = False) -> Tensor:
    """(L, N, E), or (N, L, E), as (N, H, L, E / H), without a copy of a part of a packed projection."""
    length, found, width = x.shape
    if batch_first:
        length, found = found, length
    if found != batch:
        raise RuntimeError(f"shape '{[length, batch * heads, width // heads]}' is invalid for input "
                           f"of size {x.numel()}")
    if batch_first:
        return x.reshape(batch, length, heads, width // heads).transpose(1, 2)
    return x.reshape(length, batch, heads, width // heads).permute(1, 2, 0, 3)


def exchange_batch(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Swap the first two dimensions; tensors that are one object stay one, for the joint projection."""
    swapped_query = query.transpose(1, 0)
    swapped_key = swapped_query if key is query else key.transpose(1, 0)
    if value is key:
        return swapped_query, swapped_key, swapped_key
    return swapped_query, swapped_key, value.transpose(1, 0)


def _projected_heads(query: Tensor, key: Tensor, value: Tensor, weights: Any, bias: Any,
                     heads: int) -> list[Tensor]:
    """q, k and v (N, H, L, E / H), in memory as the query is: rows of a head lie close together."""
    first = weights[0] if isinstance(weights, tuple) else weights
    # Which error wrong types give depends on how the query lies, as in PyTorch.
    batch_first = is_exchanged(query._geometry) and query._geometry.dtype is first._geometry.dtype
    batch = query.shape[1]
    if batch_first:
        query, key, value = exchange_batch(query, key, value)
    return [_split_heads(x, batch, heads, batch_first)
            for x in _in_projection(query, key, value, weights, bias)]


def _expanded_mask(mask: Tensor, length: int, keys: int, batch: int, heads: int) -> Tensor:
    """A mask (L, S) or (N H, L, S) in four dimensions."""
    expected = (length, keys) if mask.ndim == 2 else (batch * heads, length, keys)
    if tuple(mask.shape) != expected:
        raise RuntimeError(f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be "
                           f"{expected}.")
    return mask.reshape(*((1, 1) if mask.ndim == 2 else (batch, heads)), length, keys)


def _with_static(x: Tensor, static: Any) -> Tensor:
    """Keys or values given by the caller (N H, S, E / H) in the place of projected ones."""
    return x if static is None else static.reshape(x.shape[0], x.shape[1], *static.shape[1:])


def _attend(heads: _Heads, p: float, causal: bool, need_weights: bool) -> tuple[Tensor, Any]:
    """The weighted sums (N, H, L, E / H), and the weights (N, H, L, S) if they are needed."""
    q, k, v, mask, key_padding_mask = heads
    if key_padding_mask is not None:
        padding = key_padding_mask.reshape(q.shape[0], 1, 1, k.shape[2]).expand(*q.shape[:2], 1, k.shape[2])
        mask = padding if mask is None else mask + padding
    if not need_weights:
        return scaled_dot_product_attention(q, k, v, mask, p, causal), None
    scores = (q * math.sqrt(1.0 / q.shape[-1])).matmul(k.transpose(-2, -1))
    weights = softmax(scores if mask is None else scores + mask, -1)
    if p:
        weights = dropout(weights, p)
    return weights.matmul(v), weights


def _out_projection(out: Tensor, weight: Tensor, bias: Any) -> Tensor:
    """(N, H, L, E / H) joined to (L, N, E) and projected."""
    batch, heads, length, width = out.shape
    rows = out.permute(2, 0, 1, 3)
    if bias is not None:
        return linear(rows.reshape(length, batch, heads * width), weight, bias)
    return linear(rows.reshape(length * batch, heads * width), weight).reshape(length, batch, weight.shape[0])


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

    >>> import flambeau as torch
    >>> x = torch.ones(3, 1, 4)    # positions, batch, features
    >>> attend, projections = torch.nn.functional.multi_head_attention_forward, (torch.zeros(12, 4), None)
    >>> y, weights = attend(x, x, x, 4, 2, *projections, None, None, False, 0.0, torch.eye(4), None)
    >>> y.shape, weights.shape
    (torch.Size([3, 1, 4]), torch.Size([1, 3, 3]))
    """
    batched = check_shapes(query, key, value, key_padding_mask, attn_mask)
    if not batched:
        query, key, value = _batched(query, key, value)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    attn_mask, key_padding_mask, causal = _masks(query, attn_mask, key_padding_mask, is_causal, need_weights)
    _check_width(query, embed_dim_to_check, num_heads)
    _check_keys(key, value, use_separate_proj_weight)
    separate = q_proj_weight, k_proj_weight, v_proj_weight
    _check_weights(key, value, in_proj_weight, separate, use_separate_proj_weight)
    _check_biases(bias_k, bias_v)
    length, batch = query.shape[:2]
    if attn_mask is not None:
        attn_mask = _expanded_mask(attn_mask, length, key.shape[0], batch, num_heads)
    q, k, v = _projected_heads(query, key, value, separate if use_separate_proj_weight else in_proj_weight,
                               in_proj_bias, num_heads)
    if key_padding_mask is not None:
        _check_padding(key, key_padding_mask)
    heads = _Heads(q, k, v, attn_mask, key_padding_mask)
    if bias_k is not None:
        more = [_split_heads(bias.repeat(1, batch, 1), batch, num_heads) for bias in (bias_k, bias_v)]
        heads = heads.with_keys(*more)
    heads = heads._replace(k=_with_static(heads.k, static_k), v=_with_static(heads.v, static_v))
    if add_zero_attn:
        zeros = q.new_zeros((batch, num_heads, 1, q.shape[-1]))
        heads = heads.with_keys(zeros, zeros)
    out, attention = _attend(heads, dropout_p if training else 0.0, causal, need_weights)
    out = _out_projection(out, out_proj_weight, out_proj_bias)
    if attention is not None and average_attn_weights:
        attention = attention.mean(1)
    if not batched:
        return out.squeeze(1), None if attention is None else attention.squeeze(0)
    return out, attention
