"""The Transformer (Vaswani et al., 2017): encoder, decoder and both together."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from ... import operators as ops
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ._inference import without_gradients
from ._transformer_padding import check_mask, what_forbids_skipping, without_padding
from .container import ModuleList
from .module import Module
from .normalization import LayerNorm
from .transformer_layers import Activation, TransformerDecoderLayer, TransformerEncoderLayer

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip


def _get_clones(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _generate_square_subsequent_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    return ops.triu(ops.full((size, size), float("-inf"), dtype=dtype, device=device), diagonal=1)


class TransformerEncoder(Module):
    """A stack of copies of one encoder layer, and an optional final normalization; (S, N, E) -> (S, N, E).

    >>> import flambeau as torch
    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> encoder = torch.nn.TransformerEncoder(layer, num_layers=2)
    >>> encoder(torch.randn(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    norm: Module | None

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        obstacle = "encoder_layer was not an TransformerEncoderLayer"
        if isinstance(encoder_layer, TransformerEncoderLayer):
            obstacle = what_forbids_skipping(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not obstacle
        self.mask_check = mask_check
        if enable_nested_tensor and obstacle:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {obstacle}",
                stacklevel=2,
            )

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        if src_key_padding_mask is not None:
            check_mask(src_key_padding_mask, "src_key_padding_mask")
        if mask is not None:
            check_mask(mask, "mask")
        # is_causal only says what the mask already does; finding it out would mean looking at the mask's
        # values.
        output = src
        for layer in self.layers:
            output = layer(
                output,
                src_mask=mask,
                is_causal=bool(is_causal),
                src_key_padding_mask=src_key_padding_mask,
            )
        if src_key_padding_mask is not None and mask is None and self._skips_padding(src):
            output = without_padding(output, src_key_padding_mask)
        return output if self.norm is None else self.norm(output)

    def _skips_padding(self, src: Tensor) -> bool:
        """Whether PyTorch would compute without the padding here (Note: padding in inference)."""
        return self.use_nested_tensor and without_gradients(src, self.layers[0])


class TransformerDecoder(Module):
    """A stack of copies of one decoder layer, and an optional final normalization; (T, N, E) -> (T, N, E).

    >>> import flambeau as torch
    >>> decoder = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(8, 2, 16), num_layers=2)
    >>> decoder(torch.randn(4, 3, 8), torch.randn(5, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    norm: Module | None

    def __init__(
        self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """Encoder and decoder; src (S, N, E), tgt (T, N, E) -> (T, N, E), with `batch_first` N comes first.

    >>> import flambeau as torch
    >>> model = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> model(torch.rand(3, 5, 8), torch.rand(3, 4, 8)).shape
    torch.Size([3, 4, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
                 norm_first, bias)
        encoder, decoder = custom_encoder, custom_decoder
        if encoder is None:
            encoder_layer = TransformerEncoderLayer(*layer, **place)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
            encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm)
        if decoder is None:
            decoder_layer = TransformerDecoderLayer(*layer, **place)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
            decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm)
        self.encoder = encoder
        self.decoder = decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return the mask (sz, sz) by which a place attends only to itself and those before: -inf above the
        diagonal.

        >>> import flambeau as torch
        >>> torch.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _generate_square_subsequent_mask(sz, dtype=dtype, device=device)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)
