"""``flex_attention``: attention whose scores go through a function, and whose mask is one.

The functions get a score and the indices of batch, head, query and key. They are called once, with index
tensors of shapes (B, 1, 1, 1), (1, H, 1, 1), (1, 1, Q, 1) and (1, 1, 1, K), which broadcast: what is computed
is the dense score matrix. Blocks that a mask leaves out are therefore not skipped.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

from ... import dtypes, operators
from ...tensor import Tensor
from .block_mask import DEFAULT_BLOCK_SIZE, BlockMask, MaskMod, listed, noop_mask

ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
# transformers imports it by this name.
_DEFAULT_SPARSE_BLOCK_SIZE = DEFAULT_BLOCK_SIZE


class AuxRequest(NamedTuple):
    """What ``flex_attention`` returns besides the result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for with ``AuxRequest``."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class FlexKernelOptions(TypedDict, total=False):
    """How PyTorch's kernels cut the scores into blocks; accepted and of no effect here."""

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    BLOCK_M1: int
    BLOCK_N1: int
    BLOCK_M2: int
    BLOCK_N2: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool
    kpack: int
    matrix_instr_nonkdim: int
    waves_per_eu: int
    BACKEND: str


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask that keeps what all keep.

    >>> import flambeau as torch
    >>> from flambeau.nn.attention.flex_attention import and_masks
    >>> both = and_masks(lambda b, h, q, kv: q >= kv, lambda b, h, q, kv: q - kv < 2)
    >>> both(torch.tensor(0), 0, torch.tensor(3), torch.arange(4))
    tensor([False, False,  True,  True])
    """
    if not all(callable(mod) for mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def both(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        kept = operators.ones_like(b, dtype=dtypes.bool_)
        for mod in mask_mods:
            kept = kept & mod(b, h, q, kv)
        return kept
    return both


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask that keeps what some mask keeps.

    >>> import flambeau as torch
    >>> from flambeau.nn.attention.flex_attention import or_masks
    >>> either = or_masks(lambda b, h, q, kv: q >= kv, lambda b, h, q, kv: kv < 3)
    >>> either(torch.tensor(0), 0, torch.tensor(1), torch.arange(4))
    tensor([ True,  True,  True, False])
    """
    if not all(callable(mod) for mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def either(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        kept = operators.zeros_like(b, dtype=dtypes.bool_)
        for mod in mask_mods:
            kept = kept | mod(b, h, q, kv)
        return kept
    return either


def _indices(b: int, h: int, q: int, kv: int, device: Any) -> tuple[Tensor, ...]:
    sizes = (b, h, q, kv)
    return tuple(operators.arange(size, device=device).view(tuple(size if i == j else 1 for j in range(4)))
                 for i, size in enumerate(sizes))


def create_mask(mod_fn: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
                device: Any = None) -> Tensor:
    """The mask as a tensor of booleans (B, H, Q_LEN, KV_LEN), true where a key is attended to.

    >>> import flambeau as torch
    >>> from flambeau.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, kv: q >= kv, 1, 1, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    b, h = 1 if B is None else B, 1 if H is None else H
    mask: Tensor = mod_fn(*_indices(b, h, Q_LEN, KV_LEN, device)).expand(b, h, Q_LEN, KV_LEN)
    return mask


def create_block_mask(mask_mod: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
                      device: Any = None, BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK_SIZE,
                      _compile: bool = False, separate_full_blocks: bool = True, **options: Any) -> BlockMask:
    """A ``BlockMask`` of a function of indices; ``None`` for B or H where it does not depend on them.

    >>> import flambeau as torch
    >>> from flambeau.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256, device="cpu")
    >>> mask.shape, mask.sparsity()
    ((1, 1, 256, 256), 25.0)
    """
    if not callable(mask_mod):
        raise TypeError(f"{mask_mod!r} is not a callable object")
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    b, h = mask.shape[:2]
    high, wide = -(-Q_LEN // rows), -(-KV_LEN // columns)
    padded = operators.constant_pad_nd(mask, [0, wide * columns - KV_LEN, 0, high * rows - Q_LEN])
    kept = padded.view(b, h, high, rows, wide, columns).sum(5).sum(3)
    full = kept == rows * columns
    part = (kept > 0) & ~full if separate_full_blocks else kept > 0
    counts, indices = listed(part)
    full_counts, full_indices = listed(full) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(counts, indices, full_counts, full_indices, (rows, columns), mask_mod,
                                    (Q_LEN, KV_LEN))


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: ScoreMod | None = None,
    block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False,
    return_lse: bool = False, kernel_options: FlexKernelOptions | None = None, *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """softmax(score_mod(Q K^T * scale, b, h, q, kv)) V, with -inf where the mask leaves out.

    query (B, Hq, L, E), key (B, Hkv, S, E), value (B, Hkv, S, Ev) give (B, Hq, L, Ev). With ``enable_gqa`` Hq
    is a multiple of Hkv. ``return_lse`` adds the logarithm of the softmax's denominators (B, Hq, L). A row
    that the mask leaves out altogether gives zeros. FlexAttention, https://arxiv.org/abs/2412.05496.

    >>> import flambeau as torch
    >>> from flambeau.nn.attention.flex_attention import flex_attention
    >>> q = torch.ones(1, 1, 2, 4)
    >>> flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score - (i - j).abs()).shape
    torch.Size([1, 1, 2, 4])
    """
    if return_lse:
        warnings.warn("return_lse is deprecated and will be removed in v2.10. Please use "
                      "return_aux=AuxRequest(lse=True) instead.", FutureWarning, stacklevel=2)
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.size(-1) != key.size(-1):
        raise ValueError("Expect query and key/value to have the same embedding dimension but got "
                         f"E={query.size(-1)} and E={key.size(-1)}.")
    groups = query.size(1) // key.size(1)
    if groups != 1 or query.size(1) != key.size(1):
        if not enable_gqa:
            raise ValueError(
                f"Expect query and key/value to have the same number of heads but got Hq={query.size(1)} and "
                f"Hkv={key.size(1)}. Try setting enable_gqa=True for GQA.")
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = _scores(query, key, score_mod, block_mask, scale)
    lse = operators.logsumexp(scores, -1)
    none_left = lse == -math.inf
    weights = (scores - lse.masked_fill(none_left, 0).unsqueeze(-1)).exp()
    result = (weights.to(value.dtype) @ value).to(query.dtype)
    if return_aux is not None:
        return result, AuxOutput(lse if return_aux.lse else None,
                                 scores.amax(-1) if return_aux.max_scores else None)
    return (result, lse) if return_lse else result


def _scores(query: Tensor, key: Tensor, score_mod: ScoreMod | None, block_mask: BlockMask | None,
            scale: float | None) -> Tensor:
    factor = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    wide = query.dtype if query.dtype is dtypes.float64 else dtypes.float32
    scores: Tensor = (query.to(wide) @ key.to(wide).transpose(-2, -1)) * factor
    indices = _indices(query.size(0), query.size(1), query.size(2), key.size(2), query.device)
    if score_mod is not None:
        scores = score_mod(scores, *indices).to(wide)
    if block_mask is not None:
        _check_lengths(block_mask, query.size(2), key.size(2))
        scores = scores.masked_fill(~block_mask.mask_mod(*indices), -math.inf)
    return scores


def _check_lengths(block_mask: BlockMask, queries: int, keys: int) -> None:
    """Raise where a mask was made for other lengths."""
    wanted = block_mask.shape[-2:]
    if wanted == (queries, keys):
        return
    made = (f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={queries} and "
            f"kv_len={keys}. As the block mask was created for a ")
    if wanted[0] < queries or wanted[1] < keys:
        raise ValueError(f"{made}smaller length than you're using it for, you likely need to create a new "
                         "block mask.")
    raise ValueError(f"{made}larger length than you're using it for, you can either 1. create a new block "
                     "mask with the correct length, or 2. 'adjust' the existing block mask to the correct "
                     "length by calling block_mask._adjust(q_len, kv_len). This essentially 'crops' the "
                     "block mask to the upper left corner, which does not work for all mask_mods!")


__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask",
           "create_mask", "flex_attention", "noop_mask", "or_masks"]
