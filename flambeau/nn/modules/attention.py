"""Multi-head attention (Vaswani et al., 2017)."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ... import operators as ops
from ...operators.calls.arguments import type_in_words
from ...operators.sequences.multi_head_attention import exchange_batch
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._inference import attention_takes_fast_path, marked_blind
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


class MultiheadAttention(Module):
    """concat(head_1, ..., head_h) W_O with head_i = attention(Q W_i, K W'_i, V W''_i).

    query (L, N, E), key (S, N, E_k), value (S, N, E_v) -> (L, N, E), and the weights (N, L, S) averaged over
    the
    heads; with `batch_first` N comes first; N may be absent.

    >>> import flambeau as torch
    >>> attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = torch.randn(3, 5, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """

    batch_first: bool
    in_proj_weight: Tensor | None
    q_proj_weight: Tensor | None
    k_proj_weight: Tensor | None
    v_proj_weight: Tensor | None
    in_proj_bias: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._register_projections(bias, device, dtype)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            self.bias_k = Parameter(ops.empty((1, 1, embed_dim), device=device, dtype=dtype))
            self.bias_v = Parameter(ops.empty((1, 1, embed_dim), device=device, dtype=dtype))
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _register_projections(self, bias: bool, device: Any, dtype: Any) -> None:
        """Register one projection (3 E, E), or three when key and value have other sizes."""
        size = self.embed_dim
        shapes: dict[str, tuple[int, ...]]
        if self._qkv_same_embed_dim:
            shapes = {"in_proj_weight": (3 * size, size)}
        else:
            shapes = {
                "q_proj_weight": (size, size),
                "k_proj_weight": (size, self.kdim),
                "v_proj_weight": (size, self.vdim),
            }
        for name, shape in shapes.items():
            self.register_parameter(name, Parameter(ops.empty(shape, device=device, dtype=dtype)))
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if name not in shapes:
                self.register_parameter(name, None)
        in_proj_bias = Parameter(ops.empty(3 * size, device=device, dtype=dtype)) if bias else None
        self.register_parameter("in_proj_bias", in_proj_bias)

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None and self.bias_v is not None:
            init.xavier_normal_(self.bias_k)
            init.xavier_normal_(self.bias_v)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        swap = query.dim() == 3 and self.batch_first
        for x in (key, value):
            if not isinstance(x, Tensor):
                raise AttributeError(f"'{type_in_words(x)}' object has no attribute 'is_nested'")
        fast = attention_takes_fast_path(self, query, key, value)
        if swap:
            query, key, value = exchange_batch(query, key, value)
        separate: dict[str, Any] = {} if self._qkv_same_embed_dim else {
            "use_separate_proj_weight": True, "q_proj_weight": self.q_proj_weight,
            "k_proj_weight": self.k_proj_weight, "v_proj_weight": self.v_proj_weight}
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias,
            self.bias_k, self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight,
            self.out_proj.bias, training=self.training, key_padding_mask=key_padding_mask,
            need_weights=need_weights, attn_mask=attn_mask, average_attn_weights=average_attn_weights,
            is_causal=is_causal, **separate)
        if swap:
            output = output.transpose(1, 0)
        if fast and not need_weights and not _adds(attn_mask) and not _adds(key_padding_mask):
            output = marked_blind(output, attn_mask, key_padding_mask)
        return output, weights

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("_qkv_same_embed_dim", True)


def _adds(mask: Tensor | None) -> bool:
    """Whether a mask is one of numbers, with which PyTorch takes the usual path."""
    return mask is not None and mask.dtype is not dtypes.bool_
