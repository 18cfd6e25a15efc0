"""Rules of structured operators for a batch in front (see ``batching.RULES``).

Most follow from what an operator's attributes mean: dimensions move up by one, shapes get the batch in front.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..operators.products.matmul import matmul
from ..operators.shapes.view_backward import embed
from ..tensor import Tensor
from .batching import EACH, RULES, Call, pointwise

Rule = Callable[[Call], Any]


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Declare the rule of operators."""
    def declare(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function
    return declare


def moved(dims: Any) -> Any:
    """Dimensions of an example as dimensions of the batch; negative ones count from the end anyway."""
    if isinstance(dims, tuple):
        return tuple([moved(d) for d in dims])
    return dims + 1 if dims >= 0 else dims


def shifting(dims: tuple[int, ...] = (), shapes: tuple[int, ...] = ()) -> Rule:
    """The rule of an operator whose attributes at ``dims`` are dimensions, and at ``shapes`` shapes."""
    def shifted(call: Call) -> Any:
        attributes = list(call.attributes)
        if dims and call.ndim(0) == 0 and any(not isinstance(attributes[i], tuple) for i in dims):
            return None     # the one dimension that PyTorch lets a 0-dim tensor have
        if dims and (attributes[dims[0]] is None or any(not attributes[i] for i in shapes)):
            return None     # all dimensions as one
        for i in dims:
            attributes[i] = moved(attributes[i])
        for i in shapes:
            attributes[i] = (call.size, *attributes[i])
        return call.again(*[call.front(i) for i in range(len(call.operands))], attributes=tuple(attributes))
    return shifted


_along_one = shifting((0,))
rule("sum", "mean", "nansum", "amax", "amin", "max", "min", "aminmax", "all", "any",
     "count_nonzero", "logsumexp", "var", "std", "var_mean", "std_mean", "kthvalue", "mode", "sort", "argmax",
     "argmin", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "linear_recurrence", "softmax",
     "log_softmax", "softmax_backward", "log_softmax_backward", "normalize", "normalize_backward", "flip",
     "fft", "gather", "scatter", "scatter_add", "scatter_reduce", "scatter_means", "cat", "stack",
     "hash_tensor")(_along_one)


@rule("median", "nanmedian")
def _median(call: Call) -> Any:
    """Of all elements (a tuple of dimensions) they are found in the order of memory."""
    return None if isinstance(call.attributes[0], tuple) else _along_one(call)


rule("linalg_vector_norm", "dist", "topk", "roll", "rot90")(shifting((1,)))
rule("diag_embed")(shifting((1, 2)))
rule("gather_backward")(shifting((0,), (1,)))
rule("value_selecting_reduction", "unfold_backward")(shifting((1,), (0,)))
rule("unsafe_view")(shifting((), (0,)))
rule("to_copy", "contiguous_copy", "frexp", "tril", "triu", "constant_pad_nd", "border_pad",
     "linalg_cholesky_ex", "linalg_det", "linalg_slogdet", "linalg_eigh", "linalg_eigvalsh", "linalg_eig",
     "linalg_eigvals", "linalg_ldl_factor_ex", "linalg_lu_factor_ex", "linalg_matrix_exp", "linalg_qr",
     "geqrf", "linalg_inv_ex", "linalg_svd", "linalg_svdvals", "lu_permutation",
     "cholesky_inverse")(shifting())
rule("nan_to_num")(pointwise)


@rule("banded_product")
def _banded(call: Call) -> Any:
    return None if call.has[1] or call.has[2] else call.again(call.front(0), *call.operands[1:])


@rule("where")
def _where(call: Call) -> Any:
    return pointwise(call, 1)


@rule("prod")
def _prod(call: Call) -> Any:
    """Products over all dimensions are those over one, which is what the derivative knows."""
    x, (dims, keepdim, dtype) = call.front(0), call.attributes
    if len(dims) != 1:
        x, dims, keepdim = x.reshape(call.size, -1), (0,), False
    return call.again(x, attributes=(moved(dims), keepdim, dtype))


@rule("clone")
def _clone(call: Call) -> Any:
    kept = not call.attributes or getattr(call.attributes[0], "order", None) is None
    return call.again(call.front(0)) if kept else None


@rule("fill")
def _fill(call: Call) -> Any:
    return None if call.has[1] else call.again(call.front(0), call.operands[1])


@rule("masked_fill")
def _masked_fill(call: Call) -> Any:
    ndim = max(call.ndim(0), call.ndim(1))
    return None if call.has[2] else call.again(call.aligned(0, ndim), call.aligned(1, ndim), call.operands[2])


@rule("repeat")
def _repeat(call: Call) -> Any:
    repeats = call.attributes[0]
    return call.again(call.aligned(0, len(repeats)), attributes=((1, *repeats),))


@rule("linalg_cross")
def _cross(call: Call) -> Any:
    ndim = max(call.ndim(0), call.ndim(1))
    dim = call.attributes[0]
    return call.again(call.aligned(0, ndim), call.aligned(1, ndim), attributes=(dim if dim < 0 else dim + 1,))


@rule("cdist", "linalg_solve_triangular", "cholesky_solve")
def _matrices(call: Call) -> Any:
    """Two stacks of matrices whose leading dimensions are broadcast."""
    ndim = max(call.ndim(0), call.ndim(1))
    if min(call.ndim(0), call.ndim(1)) < 2:
        return None
    return call.again(call.aligned(0, ndim), call.aligned(1, ndim))


@rule("linalg_solve_ex")
def _solve(call: Call) -> Any:
    if call.ndim(1) != call.ndim(0) or not call.has[0]:
        return None     # a vector of each example, or one matrix for all
    return call.again(call.front(0), call.front(1))


@rule("linalg_lstsq")
def _lstsq(call: Call) -> Any:
    return call.again(call.front(0), call.front(1)) if call.ndim(0) == call.ndim(1) else None


@rule("select_scatter", "slice_scatter", "diagonal_scatter")
def _view_scatter(call: Call) -> Any:
    return call.again(call.front(0), call.front(1), attributes=(EACH, call.attributes))


@rule("view_backward")
def _embedded(call: Call) -> Any:
    whole, _, operator, attributes = call.attributes
    return embed(call.front(0), (call.size, *whole.shape), EACH, (operator, attributes))


# --- products -----------------------------------------------------------------------------------------------

@rule("mm", "bmm", "mv", "dot", "matmul")
def _product(call: Call) -> Any:
    return _multiplied(call, 0, 1)


def _multiplied(call: Call, i: int, j: int) -> Tensor:
    """The product of operands i and j by broadcasting; vectors are matrices with one row or column."""
    a, b = call.operands[i], call.operands[j]
    left, right = call.ndim(i), call.ndim(j)
    if left == 1:
        a = a.unsqueeze(-2)
    if right == 1:
        b = b.unsqueeze(-1)
    ndim = max(left, right, 2)
    a = raised(a, ndim) if call.has[i] else a
    b = raised(b, ndim) if call.has[j] else b
    result = matmul(a, b)
    if left == 1:
        result = result.squeeze(-2)
    return result.squeeze(-1) if right == 1 else result


def raised(x: Tensor, ndim: int) -> Tensor:
    """x with dimensions of 1 between the batch and the rest, so that the rest has ``ndim``."""
    missing = ndim + 1 - x.ndim
    return x.reshape(x.shape[0], *[1] * missing, *x.shape[1:]) if missing > 0 else x


@rule("addmm", "addmv", "baddbmm")
def _added(call: Call) -> Any:
    return _sum_with(call, _multiplied(call, 1, 2))


@rule("addbmm")
def _added_sum(call: Call) -> Any:
    return _sum_with(call, _multiplied(call, 1, 2).sum(-3))


@rule("addr")
def _outer(call: Call) -> Any:
    a, b = call.operands[1:3]
    return _sum_with(call, a.unsqueeze(-1) * b.unsqueeze(-2))


def _sum_with(call: Call, product: Tensor) -> Any:
    """beta input + alpha product."""
    beta, alpha = call.operands[3:5]
    if call.outputs[0].dtype.name in ("bool", "float16", "bfloat16"):
        return None     # these are rounded (or saturate) once, at the end
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    start = call.aligned(0, call.outputs[0].ndim)
    return scaled + (start if beta == 1 else start * beta)


@rule("linear")
def _linear(call: Call) -> Any:
    x, weight, bias = call.operands
    if not call.has[1] and not call.has[2]:
        return call.again(x, weight, bias)
    if call.attributes or not isinstance(weight, Tensor):
        return None
    rows = call.ndim(0)
    x = x if not call.has[0] or rows > 1 else x.unsqueeze(1)
    matrix = weight.transpose(-1, -2)
    if call.has[1] and rows > 1:
        x = x if call.has[0] else x.expand(call.size, *x.shape)
        matrix = raised(matrix, rows)
    elif call.has[1] and not call.has[0]:
        x = x.expand(call.size, 1, x.shape[-1])
    result = matmul(x, matrix)
    if result.ndim > call.outputs[0].ndim + 1:
        result = result.squeeze(1)
    return result if bias is None else result + call.aligned(2, call.outputs[0].ndim)
