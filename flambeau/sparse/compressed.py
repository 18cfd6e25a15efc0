"""CompressedTensor: compressed rows, columns and blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import layouts
from ..tensor import Tensor
from ..tensor.recording.history import detached
from .tensor import SparseTensor, make


class CompressedTensor(SparseTensor):
    """Rows one after another: where each begins (rows + 1), the columns (nnz) and the entries (nnz).

    See ``compressing`` for columns, blocks and batches.
    """

    _compressed: Tensor
    _plain: Tensor

    def _nnz(self) -> int:
        return self._plain.shape[-1]

    def _pattern(self) -> Tensor:
        return self._plain

    @property
    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether the layout is ``torch.sparse_csr``."""
        return self._layout is layouts.sparse_csr

    @property
    def _blocksize(self) -> tuple[int, ...]:
        """The extents of a block; of single elements 1 and 1."""
        if self._layout not in (layouts.sparse_bsr, layouts.sparse_bsc):
            return 1, 1
        return tuple(self._entries.shape[self._plain.ndim:self._plain.ndim + 2])

    def _with(self, entries: Tensor) -> Any:
        return compressed(self._compressed, self._plain, entries, self.shape, self._layout)

    def _places(self) -> Tensor:
        from .compressing import element_places  # made of this class
        return element_places(self)

    def _elements(self) -> Tensor:
        from .compressing import element_entries  # made of this class
        return element_entries(self)

    def _described(self) -> tuple[Any, ...]:
        return self._compressed, self._plain, detached(self._entries), self.shape

    def stride(self, dim: int | None = None) -> Any:
        raise RuntimeError(f"Sparse {self._layout.name[-3:].upper()} tensors do not have strides")

    storage_offset = stride


def compressed(starts: Tensor, plain: Tensor, entries: Tensor, shape: Sequence[int],
               layout: layouts.layout) -> CompressedTensor:
    """A tensor with compressed rows (or columns), nothing checked."""
    found: CompressedTensor = make(CompressedTensor, shape, entries, _compressed=starts, _plain=plain,
                                   _layout=layout)
    return found
