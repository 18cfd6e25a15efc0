"""The layers of a Transformer (Vaswani et al., 2017)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from .. import functional as F
from ._constructor import own_constructor
from ._inference import marked_blind, without_gradients
from ._transformer_padding import check_mask, what_forbids_fast_path
from .attention import MultiheadAttention
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = ["Activation", "TransformerDecoderLayer", "TransformerEncoderLayer"]

Activation = str | Callable[[Tensor], Tensor]


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


class _TransformerLayer(Module):
    """What encoder and decoder layers share: self-attention, feed-forward block, normalizations."""

    # How many normalizations, and dropouts on residual branches, the layer has.
    _branches: int
    activation: Callable[[Tensor], Tensor]
    linear1: Linear
    linear2: Linear
    dropout: Dropout
    self_attn: MultiheadAttention

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        self._create_attention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **place)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)
        self.norm_first = norm_first
        for i in range(1, self._branches + 1):
            self.add_module(f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place))
        for i in range(1, self._branches + 1):
            self.add_module(f"dropout{i}", Dropout(dropout))
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def _create_attention(self, d_model: int, nhead: int, **options: Any) -> None:
        self.self_attn = MultiheadAttention(d_model, nhead, **options)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "activation"):  # a module given as the activation is no entry of __dict__
            self.activation = F.relu

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        """Self-attention and the dropout on its branch."""
        attended = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )
        return self.dropout1(attended[0])


@own_constructor
class TransformerEncoderLayer(_TransformerLayer):
    """x = norm(x + self-attention(x)), x = norm(x + feed-forward(x)); (S, N, E) -> (S, N, E).

    With `norm_first` the normalizations come first in each branch; with `batch_first` the shape is (N, S, E).

    >>> import flambeau as torch
    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)
    >>> layer(torch.randn(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    _branches = 2

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        for mask, name in ((src_key_padding_mask, "src_key_padding_mask"), (src_mask, "src_mask")):
            if mask is not None:
                check_mask(mask, name)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            x = x + self._ff_block(self.norm2(x))
        else:
            x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal))
            x = self.norm2(x + self._ff_block(x))
        if without_gradients(src, self) and not what_forbids_fast_path(self):
            x = marked_blind(x, src_mask, src_key_padding_mask)  # Note: fast path of inference
        return x

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self._feed_forward(x))


@own_constructor
class TransformerDecoderLayer(_TransformerLayer):
    """An encoder layer with attention to `memory` between its two branches; (T, N, E), (S, N, E) -> (T, N,
    E).

    >>> import flambeau as torch
    >>> layer = torch.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
    >>> layer(torch.randn(4, 3, 8), torch.randn(5, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    _branches = 3
    multihead_attn: MultiheadAttention

    def _create_attention(self, d_model: int, nhead: int, **options: Any) -> None:
        super()._create_attention(d_model, nhead, **options)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **options)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        x = tgt
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        return self.norm3(x + self._ff_block(x))

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        """Attention to the memory and the dropout on its branch."""
        attended = self.multihead_attn(
            x,
            mem,
            mem,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )
        return self.dropout2(attended[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self._feed_forward(x))
