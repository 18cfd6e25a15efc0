"""``torch.sparse``: tensors that store the elements that are not 0 (Note: sparse tensors)."""

from . import arithmetic, conversions, older, products, reductions, structure
from .construct import (
    check_sparse_tensor_invariants,
    sparse_compressed_tensor,
    sparse_coo_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
)
from .diagonals import spdiags
from .products import sampled_addmm
from .products import sparse_addmm as addmm
from .products import sparse_mm as mm
from .reductions import sparse_log_softmax as log_softmax
from .reductions import sparse_softmax as softmax
from .reductions import sparse_sum as sum
from .types import (
    BFloat16Tensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)

__all__ = ["BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
           "IntTensor", "LongTensor", "ShortTensor", "addmm", "check_sparse_tensor_invariants",
           "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags", "sum"]
