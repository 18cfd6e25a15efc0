"""``BlockMask``: which blocks of an attention's scores a mask leaves out, keeps in part, or keeps wholly.

A block row of queries lists its blocks of keys: ``kv_num_blocks`` (B, H, rows) says how many, ``kv_indices``
(B, H, rows, columns) which, those first and the others after them. ``full_kv_...`` lists blocks that need no
mask at all, apart from the others; ``q_...`` lists block rows for each block column, as the derivative needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import dtypes, operators
from ...tensor import Tensor

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

DEFAULT_BLOCK_SIZE = 128
_TENSORS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks",
            "q_indices", "full_q_num_blocks", "full_q_indices")
_MORE = ("...\nTo print out more, set BlockMask.to_string(limit=N)\nYou can also index (BlockMask[batch, "
         "head]) to choose a specific batch or head")


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """A mask that leaves nothing out.

    >>> import flambeau as torch
    >>> from flambeau.nn.attention.flex_attention import noop_mask
    >>> noop_mask(torch.tensor(0), 0, 1, 2)
    tensor(True)
    """
    return operators.ones_like(batch, dtype=dtypes.bool_)


def _sliced_mask_mod_error(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Stands for the mask of a part of a BlockMask, whose indices would not be those of the part."""
    raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")


def listed(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """For a table of 0 and 1 (..., rows, columns): how many ones each row has, and where, ones first."""
    table = blocks.to(dtypes.int32)
    counts = table.sum(-1).to(dtypes.int32)
    indices = operators.argsort(table, dim=-1, descending=True, stable=True).to(dtypes.int32)
    return counts, indices


def tabled(counts: Tensor, indices: Tensor) -> Tensor:
    """The table that ``listed`` was made of."""
    columns = indices.size(-1)
    kept = operators.arange(columns, device=indices.device) < counts.unsqueeze(-1)
    table: Tensor = operators.zeros(indices.shape, dtype=dtypes.int32, device=indices.device).scatter(
        -1, indices.to(dtypes.int64), kept.to(dtypes.int32))
    return table


def _transposed(counts: Tensor | None, indices: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    if counts is None or indices is None:
        return None, None
    return listed(tabled(counts, indices).transpose(-2, -1))


class BlockMask:
    """A mask for ``flex_attention`` by blocks, and the function of indices behind it.

    >>> import flambeau as torch
    >>> from flambeau.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 8, 8, BLOCK_SIZE=4)
    >>> mask.to_dense()
    tensor([[[[1, 0],
              [1, 1]]]], dtype=torch.int32)
    """

    def __init__(self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor,
                 full_kv_num_blocks: Tensor | None, full_kv_indices: Tensor | None,
                 q_num_blocks: Tensor | None, q_indices: Tensor | None,
                 full_q_num_blocks: Tensor | None, full_q_indices: Tensor | None,
                 BLOCK_SIZE: tuple[int, int] = (DEFAULT_BLOCK_SIZE, DEFAULT_BLOCK_SIZE),
                 mask_mod: MaskMod = noop_mask) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks: Tensor, kv_indices: Tensor,
                       full_kv_num_blocks: Tensor | None = None, full_kv_indices: Tensor | None = None,
                       BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK_SIZE,
                       mask_mod: MaskMod | None = None, seq_lengths: tuple[int, int] | None = None,
                       compute_q_blocks: bool = True) -> BlockMask:
        """A mask of the lists for queries; those for keys follow from them."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            seq_lengths = (kv_indices.size(-2) * size[0], kv_indices.size(-1) * size[1])
        q = _transposed(kv_num_blocks, kv_indices) if compute_q_blocks else (None, None)
        full_q = _transposed(full_kv_num_blocks, full_kv_indices) if compute_q_blocks else (None, None)
        return cls(seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *q, *full_q,
                   size, noop_mask if mask_mod is None else mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, queries, keys).

        >>> import flambeau as torch
        >>> from flambeau.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, kv: q >= kv, 2, 1, 256, 128, device="cpu").shape
        (2, 1, 256, 128)
        """
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """All fields."""
        tensors = tuple(getattr(self, name) for name in _TENSORS)
        unused = (None,) * 4    # the order in which PyTorch's kernels write a derivative
        if flatten:
            return (*self.seq_lengths, *tensors, *unused, *self.BLOCK_SIZE, self.mask_mod)
        return (self.seq_lengths, *tensors, *unused, self.BLOCK_SIZE, self.mask_mod)

    def __getitem__(self, index: Any) -> BlockMask:
        """The lists of some batches, heads and block rows; one chosen by number stays a dimension."""
        parts = index if isinstance(index, tuple) else (index,)
        kept = tuple([slice(i + self.kv_num_blocks.size(d), i + self.kv_num_blocks.size(d) + 1)
                      if isinstance(i, int) and i < 0 else slice(i, i + 1) if isinstance(i, int) else i
                      for d, i in enumerate(parts)])
        full = self.full_kv_num_blocks is not None and self.full_kv_indices is not None
        return BlockMask.from_kv_blocks(
            self.kv_num_blocks[kept], self.kv_indices[kept],
            self.full_kv_num_blocks[kept] if full and self.full_kv_num_blocks is not None else None,
            self.full_kv_indices[kept] if full and self.full_kv_indices is not None else None,
            BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=_sliced_mask_mod_error, seq_lengths=self.seq_lengths,
            compute_q_blocks=self.q_indices is not None)

    def to_dense(self) -> Tensor:
        """One integer per block: 1 where something in it is kept.

        >>> import flambeau as torch
        >>> from flambeau.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, kv: q >= kv, 1, 1, 256, 256, device="cpu").to_dense()
        tensor([[[[1, 0],
                  [1, 1]]]], dtype=torch.int32)
        """
        table = tabled(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            table = table | tabled(self.full_kv_num_blocks, self.full_kv_indices)
        return table

    def numel(self) -> int:
        """The number of elements of the mask.

        >>> import flambeau as torch
        >>> from flambeau.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, kv: q >= kv, 1, 1, 256, 256, device="cpu").numel()
        65536
        """
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """How many percent of the elements are in no block that is computed (some reach over the end).

        >>> import flambeau as torch
        >>> from flambeau.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, kv: q >= kv, 1, 1, 256, 256, device="cpu").sparsity()
        25.0
        """
        computed = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            computed += int(self.full_kv_num_blocks.sum())
        rows, columns = self.BLOCK_SIZE
        return 100 * (1 - computed * rows * columns / self.numel())

    def to(self, device: Any) -> BlockMask:
        """This mask on another device."""
        tensors = [getattr(self, name) for name in _TENSORS]
        moved: Any = [None if x is None else x.to(device) for x in tensors]
        kv, kv_indices, *others = moved
        made = BlockMask.from_kv_blocks(kv, kv_indices, others[0], others[1], self.BLOCK_SIZE, self.mask_mod,
                                        self.seq_lengths, compute_q_blocks=False)
        made.q_num_blocks, made.q_indices, made.full_q_num_blocks, made.full_q_indices = others[2:]
        return made

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A drawing of the blocks of each batch and head, several blocks in one cell where they are many."""
        dense = self.to_dense()
        size = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        lead = dense.shape[:-2]
        drawn = []
        for number, table in enumerate(dense.reshape(-1, *dense.shape[-2:]).tolist()):
            if number >= limit > 0 and number:
                drawn.append(_MORE)
                break
            place = tuple(number // math.prod(lead[d + 1:]) % lead[d] for d in range(len(lead)))
            drawn.append(f"{place}\n{_drawing(table, size)}")
        return "\n".join(drawn)

    def __str__(self) -> str:
        return (f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n"
                f"{self.to_string().removesuffix(chr(10))}\n)")

    def __repr__(self) -> str:
        shapes = [(name, getattr(self, name)) for name in _TENSORS]
        lines = [f"{name}={None if x is None else x.shape}" for name, x in shapes]
        lines += [f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}", f"sparsity={self.sparsity():.2f}%",
                  f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}"]
        return "BlockMask(\n    " + ",\n    ".join(lines) + "\n)"


def _drawing(table: list[list[int]], grid: tuple[int, int]) -> str:
    rows, columns = len(table), len(table[0]) if table else 0
    high, wide = (1 if limit < 0 else max(1, -(-count // limit))
                  for count, limit in zip((rows, columns), grid))
    lines = []
    for top in range(0, rows, high):
        cells = []
        for left in range(0, columns, wide):
            values = [v for row in table[top:top + high] for v in row[left:left + wide]]
            cells.append("██" if all(values) else "░░" if any(values) else "  ")
        lines.append("".join(cells))
    return "\n".join(lines) + "\n"
