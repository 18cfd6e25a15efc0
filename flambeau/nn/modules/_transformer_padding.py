"""What inference does with the padding of a Transformer encoder's input."""

from __future__ import annotations

from inspect import unwrap
from typing import Any

from ... import dtypes
from ...tensor import Tensor
from .. import functional as F
from .activation import GELU, ReLU

# Note: padding in inference. For inference PyTorch's encoder leaves out the positions that
# src_key_padding_mask hides, if they are at the end of each sequence, and returns zeros there. They are no
# values that the model computes, but what is seen of the output is the same only if they are zeros here too.


def what_forbids_skipping(layer: Any) -> str:
    """Why PyTorch would not leave out padding in inference with these layers; nothing if it would."""
    return "encoder_layer.norm_first was True" if layer.norm_first else what_forbids_fast_path(layer)


def what_forbids_fast_path(layer: Any) -> str:
    """Why PyTorch would compute such an encoder layer in the usual way; nothing if it would not."""
    attention, activation = layer.self_attn, layer.activation
    if not attention.batch_first:
        return (
            "encoder_layer.self_attn.batch_first was not True"
            "(use batch_first for better inference performance)"
        )
    if attention.in_proj_weight is None:
        return "encoder_layer.self_attn._qkv_same_embed_dim was not True"
    if attention.in_proj_bias is None:
        return "encoder_layer.self_attn was passed bias=False"
    if not (isinstance(activation, (ReLU, GELU)) or unwrap(activation) in (unwrap(F.relu), unwrap(F.gelu))):
        return "encoder_layer.activation_relu_or_gelu was not True"
    if layer.norm1.eps != layer.norm2.eps:
        return "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"
    if attention.num_heads % 2:
        return "encoder_layer.self_attn.num_heads is odd"
    return ""


def check_mask(mask: Tensor, name: str) -> None:
    """Raise where a mask is neither of truth values nor added to scores."""
    if not (mask.dtype is dtypes.bool_ or mask.is_floating_point()):
        raise AssertionError(f"only bool and floating types of {name} are supported")


def without_padding(output: Tensor, mask: Tensor) -> Tensor:
    """Zeros where `mask` (N, S) hides a position, if it hides the ends of the sequences and nothing else."""
    hidden = mask if mask.dtype is dtypes.bool_ else mask == float("-inf")
    at_the_end = not bool((hidden[:, :-1] & ~hidden[:, 1:]).any())
    return output.masked_fill(hidden.unsqueeze(-1), 0.0) if at_the_end else output
