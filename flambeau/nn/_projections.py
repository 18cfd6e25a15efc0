"""What attention does before it splits heads, under the private names by which packages take it."""

from __future__ import annotations

from collections.abc import Sequence

from ..operators.activations.softmax import implicit_dim
from ..operators.products.linear import linear
from ..operators.sequences.multi_head_attention import check_shapes
from ..tensor import Tensor

_Three = tuple[Tensor, Tensor, Tensor]


def _mha_shape_check(query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None,
                     attn_mask: Tensor | None, num_heads: int) -> bool:
    """Whether the input is batched, an error where the ranks do not fit.

    >>> import flambeau as torch
    >>> x = torch.ones(5, 2, 4)
    >>> torch.nn.functional._mha_shape_check(x, x, x, None, None, 2)
    True
    """
    return check_shapes(query, key, value, key_padding_mask, attn_mask)


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None) -> _Three:
    """Projections (..., E) by one packed weight (3E, E), each with memory of its own.

    >>> import flambeau as torch
    >>> x = torch.ones(1, 2)
    >>> [y.tolist() for y in torch.nn.functional._in_projection_packed(x, x, x, torch.arange(12.).view(6, 2))]
    [[[1.0, 5.0]], [[9.0, 13.0]], [[17.0, 21.0]]]
    """
    (w_q, w_k, w_v), (b_q, b_k, b_v) = w.chunk(3), (None,) * 3 if b is None else b.chunk(3)
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _in_projection(q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor,
                   b_q: Tensor | None = None, b_k: Tensor | None = None,
                   b_v: Tensor | None = None) -> _Three:
    """Projections to the width of the query (..., E), by a weight (E, width) each.

    >>> import flambeau as torch
    >>> x, w = torch.ones(1, 2), torch.eye(2)
    >>> torch.nn.functional._in_projection(x, x, x, w, 2 * w, 3 * w)[2]
    tensor([[3., 3.]])
    """
    width = q.size(-1)
    for name, x, weight in (("query", q, w_q), ("key", k, w_k), ("value", v, w_v)):
        if weight.shape != (width, x.size(-1)):
            raise AssertionError(
                f"expecting {name} weights shape of {(width, x.size(-1))}, but got {weight.shape}")
    for name, bias in (("query", b_q), ("key", b_k), ("value", b_v)):
        if bias is not None and bias.shape != (width,):
            raise AssertionError(f"expecting {name} bias shape of {(width,)}, but got {bias.shape}")
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension that old programs mean when they give none; a warning."""
    return implicit_dim(name, ndim, stacklevel)


def _verify_batch_size(size: Sequence[int]) -> None:
    """An error for (N, C, ...) with one value of each channel, which tells no variance.

    >>> import flambeau as torch
    >>> torch.nn.functional._verify_batch_size([2, 3])
    """
    count = size[0]
    for extent in size[2:]:
        count *= extent
    if count == 1:
        raise ValueError("Expected more than 1 value per channel when training, got input size "
                         f"{size}")
