"""What PyTorch's fast path of inference shows of itself.

Note: fast path of inference. In evaluation without gradients PyTorch computes self-attention with kernels of
their own. Their results are the usual ones, except for queries that may see no key at all: there the usual
kernels give zeros, and these NaN. A model that is given such rows (padding in the place of whole sequences)
shows it, so the same is done here.
"""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...amp.switches import is_autocast_enabled
from ...autograd import is_grad_enabled
from ...backends.mha import get_fastpath_enabled
from ...tensor import Tensor
from .module import Module


def without_gradients(x: Tensor, module: Module) -> bool:
    """Whether nothing that `module` computes of `x` (N, S, E) will be differentiated, and autocast is off."""
    if module.training or not get_fastpath_enabled() or x.dim() != 3 or is_autocast_enabled(x.device.type):
        return False
    return not is_grad_enabled() or not (
        x.requires_grad or any(parameter.requires_grad for parameter in module.parameters())
    )


def attention_takes_fast_path(attention: Any, query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether this is self-attention of the common kind."""
    return (
        key is query
        and value is query
        and attention.batch_first
        and attention.in_proj_weight is not None
        and attention.in_proj_bias is not None
        and attention.bias_k is None
        and not attention.add_zero_attn
        and not attention.num_heads % 2
        and without_gradients(query, attention)
    )


def marked_blind(output: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None) -> Tensor:
    """`output` (N, L, E) with NaN where the masks (L, S) or (N H, L, S), and (N, S), hide all keys."""
    hidden = None if attn_mask is None else _hides(attn_mask)
    if hidden is not None:
        hidden = hidden.unflatten(0, (output.shape[0], -1)) if hidden.dim() == 3 else hidden[None, None]
    if key_padding_mask is not None:
        padding = _hides(key_padding_mask)[:, None, None]
        hidden = padding if hidden is None else hidden | padding
    if hidden is None:
        return output
    return output.masked_fill(hidden.all(-1).any(1).unsqueeze(-1), float("nan"))


def _hides(mask: Tensor) -> Tensor:
    return mask if mask.dtype is dtypes.bool_ else mask == float("-inf")
