"""Products of matrices of which one or both are sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import layouts
from .. import operators as ops
from ..dtypes import SCALAR_NAMES
from ..operators.declaration.registry import api
from ..operators.interop.looking import look
from ..operators.linalg import iterative
from ..tensor import Tensor
from ..tensor.construct import from_array
from .compressed import CompressedTensor
from .compressing import NAMES
from .conversions import coalesce, dense_dim, like_layout, sorted_coo, to_sparse
from .kernels import named, product
from .structure import transpose
from .tensor import CooTensor, SparseTensor, handles, unsupported


def _check(a: Tensor, b: Tensor) -> None:
    if a.ndim != 2 or b.ndim != 2:
        raise RuntimeError(f"mm: Expected both matrices to be 2-D, got {a.ndim}-D and {b.ndim}-D tensors")
    if a.shape[1] != b.shape[0] and isinstance(a, CooTensor) and not b._sparse:
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {a.shape[1]}, got {b.shape[0]}")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
                           f"{b.shape[0]}x{b.shape[1]})")


@handles("mm")
def mm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Sparse (N, K) by dense (K, M) is dense, as is dense by sparse; sparse by sparse is sparse."""
    _check(input, mat2)
    if input.dtype is not mat2.dtype:
        names = [x.type().rpartition(".")[2].removesuffix("Tensor") for x in (input, mat2)]
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")
    if isinstance(input, SparseTensor):
        if isinstance(mat2, SparseTensor):
            return _sparse_product(input, mat2)
        if isinstance(input, CooTensor) and dense_dim(input):
            raise RuntimeError("addmm: 2D sparse matrices are expected, but there is a dense dimension")
        return product(input._elements(), input._places(), mat2, input.shape[0])
    return named(product(mat2._elements(), mat2._places().flip(0), input.t(), mat2.shape[1]).t(), "Mm")


def _sparse_product(a: SparseTensor, b: SparseTensor) -> Any:
    """Each entry of a row of ``a`` meets the entries of ``b`` in the row of its column; this looks."""
    first, second = coalesce(to_sparse(a)), coalesce(to_sparse(b))
    left, right = look(first._indices_, "mm"), look(second._indices_, "mm")
    begins = np.searchsorted(right[0], left[1], "left")
    counts = np.searchsorted(right[0], left[1], "right") - begins
    which = np.repeat(np.arange(counts.size), counts)
    within = np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts)
    other = begins[which] + within
    entries = (first._entries.index_select(0, from_array(which))
               * second._entries.index_select(0, from_array(other)))
    places = from_array(np.stack((left[0][which], right[1][other])))
    found = sorted_coo(places, entries, (a.shape[0], b.shape[1]), "SparseSparseMatmul")
    return like_layout(found, a)


@handles("spmm", "dsmm")
@api("torch", name="spmm", aliases=("dsmm",))
def spmm(input: Any, mat2: Any) -> Any:
    """``torch.mm`` under an older name.

    >>> import flambeau as torch
    >>> torch.spmm(torch.eye(2).to_sparse(), torch.ones(2, 1)).shape
    torch.Size([2, 1])
    """
    return mm(input, mat2) if input._sparse or mat2._sparse else ops.mm(input, mat2)


@handles("mv")
def mv(input: Any, vec: Any, *, out: Any = None) -> Any:
    """Sparse (N, K) by dense (K): (N)."""
    if vec.ndim != 1 or input.ndim != 2:
        raise RuntimeError("mv: expected a matrix and a vector")
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(f"mv: expected self.size(-1) == vec.size(-1), but got {input.shape[1]} and "
                           f"{vec.shape[0]}")
    return named(mm(input, vec.unsqueeze(1)).squeeze(1), "Mv")


@handles("bmm")
def bmm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Sparse (B, N, K) by dense (B, K, M): (B, N, M)."""
    if not isinstance(input, SparseTensor) or isinstance(mat2, SparseTensor):
        raise RuntimeError("bmm: the first argument must be sparse, and the second dense")
    batches, rows, inner = input.shape
    if tuple(mat2.shape[:2]) != (batches, inner):
        raise RuntimeError(f"bmm: shapes cannot be multiplied ({list(input.shape)} and {list(mat2.shape)})")
    b, i, j = input._places().unbind(0)
    flat = product(input._elements(), ops.stack([b * rows + i, b * inner + j]),
                   mat2.reshape(batches * inner, -1), batches * rows)
    return flat.reshape(batches, rows, -1)


@handles("matmul")
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """As ``torch.matmul``, of vectors, matrices and batches of sparse matrices."""
    if input.ndim == 2 and other.ndim == 2:
        return mm(input, other)
    if input.ndim == 2 and other.ndim == 1:
        return mv(input, other)
    if input.ndim == 1 and other.ndim == 2:
        return mv(transpose(other, 0, 1), input)
    if input.ndim == 3 and other.ndim == 3:
        return bmm(input, other)
    raise RuntimeError("expand is unsupported for Sparse tensors")


@handles("addmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None,
          _name: str = "Addmm") -> Any:
    """beta input + alpha (mat1 @ mat2), with a sparse ``mat1`` (N, K), dense ``mat2`` (K, M) and input."""
    if input._sparse and not (mat1._sparse and mat2._sparse):
        raise RuntimeError("expand is unsupported for Sparse tensors")
    found = mm(mat1, mat2)
    scaled = found if alpha == 1 else found * alpha
    start = input if beta == 1 else input * beta
    total = start + scaled
    return total if isinstance(total, SparseTensor) else named(total, _name)


_MISSING: Any = object()


def sparse_mm(sparse: Any, dense: Any, reduce: Any = _MISSING) -> Any:
    """The product of a sparse and a dense matrix, or of two sparse ones; both get gradients.

    With ``reduce`` ("sum", "mean", "amax" or "amin") the products of a CSR matrix's row with a column are
    reduced so, instead of added; a row without entries gives 0.

    >>> import flambeau as torch
    >>> a = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2., 3.])
    >>> torch.sparse.mm(a, torch.tensor([[1.], [10.]]))
    tensor([[20.],
            [ 3.]])
    """
    if reduce is not _MISSING:
        if not isinstance(reduce, str):
            raise TypeError("_sparse_mm(): argument 'reduce' (position 3) must be str, not "
                            f"{type(reduce).__name__}")
        return reduced_mm(sparse, dense, reduce)
    if not isinstance(sparse, SparseTensor) and not isinstance(dense, SparseTensor):
        return ops.mm(sparse, dense)
    found = mm(sparse, dense)
    return found if isinstance(found, SparseTensor) else named(found, "SparseAddmm")


_REDUCTIONS = {"sum": "sum", "mean": "mean", "amax": "amax", "max": "amax", "amin": "amin", "min": "amin"}


def reduced_mm(a: Any, b: Tensor, reduce: str) -> Tensor:
    """A CSR matrix (N, K) and b (K, M) multiplied, the products of a row's entries reduced."""
    _check_reduced(a, b, reduce)
    rows, columns = a._places()
    parts = a._elements().unsqueeze(1) * b.index_select(0, columns)
    empty = b.new_zeros((a.shape[0], b.shape[1]))
    found = empty.scatter_reduce(0, rows.unsqueeze(1).expand_as(parts), parts, _REDUCTIONS[reduce],
                                 include_self=False)
    return named(found, "SparseMmReduceImpl")


def _check_reduced(a: Any, b: Tensor, reduce: str) -> None:
    if not isinstance(a, CompressedTensor):
        raise unsupported("_sparse_mm_reduce_impl", "SparseCPU" if a._sparse else "CPU")
    if a.layout is not layouts.sparse_csr:
        raise RuntimeError(f"sparse_mm_reduce: expect self to be SparseCsr, got {NAMES[a.layout.name]}")
    if b._sparse:
        raise RuntimeError("Expected tensor to have Strided Layout, but got tensor with "
                           f"{NAMES[b.layout.name]} Layout (while checking arguments for sparse_mm_reduce)")
    if b.ndim != 2 or b.shape[0] != a.shape[1]:
        raise RuntimeError(f"Expected a tensor of dimension 2 and tensor.size[0] == {a.shape[1]} but got: "
                           f"dimension {b.ndim} and tensor.size[0] = {b.shape[0] if b.ndim else 0}")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"Expected tensor for argument #1 'other' to have scalar type "
                           f"{SCALAR_NAMES[a.dtype]}; but got {b.type()} instead (while checking arguments "
                           "for sparse_mm_reduce)")
    if reduce == "prod":
        raise RuntimeError("sparse_mm_reduce: reduce type of prod has not been enabled.")
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")


def sparse_addmm(mat: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta mat + alpha (mat1 @ mat2) for a sparse ``mat1``.

    >>> import flambeau as torch
    >>> a = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2., 3.])
    >>> torch.sparse.addmm(torch.ones(2, 1), a, torch.tensor([[1.], [10.]]), beta=2)
    tensor([[22.],
            [ 5.]])
    """
    return addmm(mat, mat1, mat2, beta=beta, alpha=alpha, _name="SparseAddmm")


def sampled_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta input + alpha (mat1 @ mat2), computed at the places of a CSR ``input`` only.

    >>> import flambeau as torch
    >>> a = torch.eye(2).to_sparse_csr()
    >>> torch.sparse.sampled_addmm(a, torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])
    """
    if not isinstance(input, CompressedTensor) or not input.is_sparse_csr:
        raise RuntimeError("sampled_addmm: Expected self to have layout SparseCsr")
    _check(mat1, mat2)
    if tuple(input.shape) != (mat1.shape[0], mat2.shape[1]):
        raise RuntimeError("sampled_addmm: the shape of self must be that of the product of mat1 and mat2, "
                           f"got {list(input.shape)}")
    rows, columns = input._places().unbind(0)
    products = (mat1.index_select(0, rows) * mat2.t().index_select(0, columns)).sum(1)
    return input._with(input._entries * beta + products * alpha)


@handles("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input`` (N, K) by the transpose of a sparse ``weight`` (M, K)."""
    found = mm(input, transpose(weight, 0, 1) if isinstance(weight, SparseTensor) else weight.t())
    return found if bias is None else found + bias


@handles("lobpcg")
def lobpcg(A: Any, *args: Any, **kwargs: Any) -> Any:
    """Extreme eigenvalues of a sparse matrix, which is only multiplied."""
    return iterative.lobpcg(A, *args, **kwargs)


_T: Any = SparseTensor
_T.__matmul__ = matmul
_T.__rmatmul__ = lambda self, other: matmul(other, self)
