"""grouped_mm: products of matrices that lie one after another in larger ones."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...tensor import Tensor
from ..declaration.registry import api
from ..interop.looking import look
from ..shapes.joining import cat, stack
from .matmul import bmm, mm


def _parts(x: Tensor, dim: int, ends: Any) -> list[Tensor]:
    """The stretches of a dimension that end at ``ends``."""
    starts = [0, *ends[:-1]]
    return [x.narrow(dim, a, b - a) for a, b in zip(starts, ends)]


def _check(a: Tensor, b: Tensor, offs: Any, bias: Any, out_dtype: Any) -> None:
    if a.ndim not in (2, 3) or b.ndim not in (2, 3):
        raise RuntimeError(f"mat_{'a' if a.ndim not in (2, 3) else 'b'} has to be 2 or 3d")
    if (offs is None) != (a.ndim == 3 and b.ndim == 3):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices "
                           "are 3d")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    for x in (a, b):
        if any(s * x.dtype.itemsize % 16 for s in x.stride() if s != 1):
            raise RuntimeError("strides should be multiple of 16 bytes")
    if offs is not None and offs.dtype is not dtypes.int32:
        raise RuntimeError("Offsets have to be int32")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype is not a.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")


@api("nn.functional")
def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Any = None, bias: Any = None,
               out_dtype: Any = None) -> Tensor:
    """Products of groups of rows or columns that end at ``offs`` (G), as in a mixture of experts.

    (N, K) by (G, K, M) gives (N, M), each group of rows by its own matrix; (G, N, K) by (K, M) gives (N, M)
    by groups of columns; (N, K) by (K, M) splits K and gives (G, N, M); (G, N, K) by (G, K, M) is ``bmm``.

    >>> import flambeau as torch
    >>> weights = torch.stack([torch.eye(4), 2 * torch.eye(4)])
    >>> ends = torch.tensor([1, 3], dtype=torch.int32)
    >>> torch.nn.functional.grouped_mm(torch.ones(3, 4), weights, offs=ends)[:, 0]
    tensor([1., 2., 2.])
    """
    _check(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return bmm(mat_a, mat_b)
    ends = [int(n) for n in look(offs, "grouped_mm")]
    rows, columns = mat_a.shape[-2], mat_b.shape[-1]
    if mat_b.ndim == 3:
        rest = mat_a.new_zeros((rows - ends[-1], columns))  # which belongs to no group
        return cat([*(mm(x, w) for x, w in zip(_parts(mat_a, 0, ends), mat_b.unbind(0))), rest], 0)
    if mat_a.ndim == 3:
        rest = mat_a.new_zeros((rows, columns - ends[-1]))
        return cat([*(mm(x, w) for x, w in zip(mat_a.unbind(0), _parts(mat_b, 1, ends))), rest], 1)
    return stack([mm(x, w) for x, w in zip(_parts(mat_a, 1, ends), _parts(mat_b, 0, ends))])
