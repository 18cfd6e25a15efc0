"""``torch.nn.attention.varlen``: attention over sequences of different lengths, packed one after another.

PyTorch has this on GPUs alone; here it runs on CPU too, one sequence after another, so that nothing is spent
on padding. The lengths are looked at when the function is called.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

from ... import operators as ops
from ...autograd import is_grad_enabled
from ...tensor import Tensor
from .. import functional as F

__all__ = ["AuxRequest", "varlen_attn", "varlen_attn_out"]


class AuxRequest(NamedTuple):
    """What `varlen_attn` returns beside its output: with `lse` the logarithms of the sums of exp(scores)."""

    lse: bool = False


def varlen_attn(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    *,
    return_aux: AuxRequest | None = None,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    seqused_k: Tensor | None = None,
    block_table: Tensor | None = None,
    num_splits: int | None = None,
) -> Any:
    """softmax(q k^T scale) v within each sequence: (Tq, H, D), (Tk, Hk, D), (Tk, Hk, D) give (Tq, H, D).

    Sequence i has the queries from `cu_seq_q[i]` to `cu_seq_q[i + 1]`, and the keys so by `cu_seq_k`, of
    which only the first `seqused_k[i]` count. A query sees `window_size[0]` keys to its left and
    `window_size[1]` to its right (-1: all), the last query standing at the last key: (-1, 0) is causal. With
    `block_table` (N, pages) keys and values are pages (P, page size, Hk, D), and the table says which of them
    a sequence has. `return_aux` with `lse` gives (output, (H, Tq)). `num_splits` has no effect: there is one
    order of summation.

    >>> import flambeau as torch
    >>> from flambeau.nn.attention.varlen import varlen_attn
    >>> q, starts = torch.randn(6, 2, 8), torch.tensor([0, 2, 6], dtype=torch.int32)
    >>> varlen_attn(q, q, q, starts, starts, 4, 4, window_size=(-1, 0)).shape
    torch.Size([6, 2, 8])
    """
    _check(query, key, enable_gqa, window_size)
    if seqused_k is not None and is_grad_enabled() and any(x.requires_grad for x in (query, key, value)):
        raise RuntimeError("seqused_k is an inference-only parameter.")
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    outputs, sums = [], []
    wanted = return_aux is not None and return_aux.lse
    ranges = _ranges(cu_seq_q, cu_seq_k, seqused_k, len(key) if block_table is None else max_k)
    for i, (queries, keys) in enumerate(ranges):
        pages = None if block_table is None else block_table[i]
        q = query[queries].transpose(0, 1)
        k, v = (_sequence(x, keys, pages).transpose(0, 1) for x in (key, value))
        mask = _window_mask(q, k, window_size)
        outputs.append(
            F.scaled_dot_product_attention(q, k, v, mask, scale=factor, enable_gqa=enable_gqa).transpose(0, 1)
        )
        if wanted:
            sums.append(_log_sums(q, k, mask, factor))
    output = ops.cat(outputs) if outputs else ops.empty_like(query)
    return (output, ops.cat(sums, 1)) if wanted else output


def varlen_attn_out(
    out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    *,
    return_aux: AuxRequest | None = None,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    seqused_k: Tensor | None = None,
    block_table: Tensor | None = None,
    num_splits: int | None = None,
) -> Any:
    """`varlen_attn` written to `out` (Tq, H, D); without gradients.

    >>> import flambeau as torch
    >>> from flambeau.nn.attention.varlen import varlen_attn_out
    >>> q, starts = torch.randn(6, 2, 8), torch.tensor([0, 2, 6], dtype=torch.int32)
    >>> out = torch.empty(6, 2, 8)
    >>> varlen_attn_out(out, q, q, q, starts, starts, 4, 4) is out
    True
    """
    result = varlen_attn(
        query.detach(),
        key.detach(),
        value.detach(),
        cu_seq_q,
        cu_seq_k,
        max_q,
        max_k,
        return_aux=return_aux,
        scale=scale,
        window_size=window_size,
        enable_gqa=enable_gqa,
        seqused_k=seqused_k,
        block_table=block_table,
        num_splits=num_splits,
    )
    if isinstance(result, tuple):
        return out.copy_(result[0]), result[1]
    return out.copy_(result)


def _check(query: Tensor, key: Tensor, grouped: bool, window_size: tuple[int, int]) -> None:
    if len(window_size) != 2:
        raise ValueError(f"window_size must have length 2, got {len(window_size)}")
    heads, shared = query.size(-2), key.size(-2)
    if not grouped and heads != shared:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={heads} and Hkv={shared}. Try setting enable_gqa=True for GQA."
        )
    if grouped and heads % shared:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads} and Hkv={shared}."
        )


def _ranges(starts: Tensor, key_starts: Tensor | None, used: Tensor | None, keys: int) -> list[Any]:
    """The queries and the keys of each sequence; without starts of keys each may have all of them."""
    of_queries = starts.tolist()
    count = len(of_queries) - 1
    of_keys = [0] * (count + 1) if key_starts is None else key_starts.tolist()
    lengths = [keys] * count if key_starts is None else [b - a for a, b in pairwise(of_keys)]
    if used is not None:
        lengths = used.tolist()
    return [
        (slice(of_queries[i], of_queries[i + 1]), slice(of_keys[i], of_keys[i] + lengths[i]))
        for i in range(count)
    ]


def _sequence(x: Tensor, keys: slice, pages: Tensor | None) -> Tensor:
    """The keys or values (S, H, D) of one sequence."""
    if pages is None:
        return x[keys]
    return x[pages].flatten(0, 1)[: keys.stop - keys.start]


def _window_mask(q: Tensor, k: Tensor, window_size: tuple[int, int]) -> Tensor | None:
    """True where a query may see a key; None if it may see all."""
    left, right = window_size
    if left < 0 and right < 0:
        return None
    length, keys = q.shape[-2], k.shape[-2]
    distance = ops.arange(keys) - (ops.arange(length) + keys - length).unsqueeze(1)
    allowed = distance <= (right if right >= 0 else keys)
    return allowed & (distance >= -left) if left >= 0 else allowed


def _log_sums(q: Tensor, k: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """log sum exp of the scores (H, L)."""
    scores = q.matmul(k.repeat_interleave(q.shape[0] // k.shape[0], 0).transpose(-1, -2)).float() * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.logsumexp(-1)
