"""Rules of structured operators for a batch in front (see ``batching.RULES``).

Most follow from what an operator's attributes mean: dimensions move up by one, shapes get the batch in front.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..operators.matmul import matmul
from ..operators.view_backward import embed
from ..tensor import Tensor, record
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


_FLAT = ("median", "nanmedian")    # of all elements these are found in the order of memory


def shifting(dims: tuple[int, ...] = (), shapes: tuple[int, ...] = ()) -> Rule:
    """The rule of an operator whose attributes at ``dims`` are dimensions, and at ``shapes`` shapes."""
    def shifted(call: Call) -> Any:
        attributes = list(call.attributes)
        if dims and call.ndim(0) == 0 and any(not isinstance(attributes[i], tuple) for i in dims):
            return None     # the one dimension that PyTorch lets a 0-dim tensor have
        whole = dims and (attributes[dims[0]] is None or any(not attributes[i] for i in shapes))
        if whole or (call.operator.name in _FLAT and isinstance(attributes[0], tuple)):
            return None     # all dimensions as one
        for i in dims:
            attributes[i] = moved(attributes[i])
        for i in shapes:
            attributes[i] = (call.size, *attributes[i])
        return call.again(*[call.front(i) for i in range(len(call.operands))], attributes=tuple(attributes))
    return shifted


rule("sum", "mean", "nansum", "amax", "amin", "max", "min", "aminmax", "all", "any",
     "count_nonzero", "logsumexp", "var", "std", "var_mean", "std_mean", "kthvalue", "median", "nanmedian",
     "mode", "sort", "argmax", "argmin", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp",
     "linear_recurrence", "softmax", "log_softmax", "softmax_backward", "log_softmax_backward", "normalize",
     "normalize_backward", "flip", "fft", "gather", "scatter", "scatter_add", "scatter_reduce", "cat",
     "stack", "hash_tensor")(shifting((0,)))
rule("linalg_vector_norm", "dist", "topk", "roll", "rot90")(shifting((1,)))
rule("diag_embed")(shifting((1, 2)))
rule("gather_backward")(shifting((0,), (1,)))
rule("value_selecting_reduction", "unfold_backward")(shifting((1,), (0,)))
rule("unsafe_view")(shifting((), (0,)))
rule("to_copy", "contiguous_copy", "frexp", "tril", "triu", "constant_pad_nd", "linalg_cholesky_ex",
     "linalg_det", "linalg_slogdet", "linalg_eigh", "linalg_eig", "linalg_ldl_factor_ex",
     "linalg_lu_factor_ex", "linalg_matrix_exp", "linalg_qr", "geqrf", "linalg_inv_ex", "linalg_svd",
     "lu_permutation", "cholesky_inverse")(shifting())
rule("nan_to_num")(pointwise)


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
    a = _raised(a, ndim) if call.has[i] else a
    b = _raised(b, ndim) if call.has[j] else b
    result = matmul(a, b)
    if left == 1:
        result = result.squeeze(-2)
    return result.squeeze(-1) if right == 1 else result


def _raised(x: Tensor, ndim: int) -> Tensor:
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
        matrix = _raised(matrix, rows)
    elif call.has[1] and not call.has[0]:
        x = x.expand(call.size, 1, x.shape[-1])
    result = matmul(x, matrix)
    if result.ndim > call.outputs[0].ndim + 1:
        result = result.squeeze(1)
    return result if bias is None else result + call.aligned(2, call.outputs[0].ndim)


# --- convolution and pooling --------------------------------------------------------------------------------

def folded(x: Tensor) -> Tensor:
    """The batch and the dimension after it as one."""
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


def unfolded(x: Any, size: int) -> Any:
    """The inverse of ``folded``, of each result."""
    if isinstance(x, tuple):
        return tuple([unfolded(each, size) for each in x])
    return x.reshape(size, x.shape[0] // size, *x.shape[1:])


def in_channels(x: Tensor) -> Tensor:
    """The batch (B, N, C, ...) in the channels: (N, B C, ...)."""
    return x.transpose(0, 1).reshape(x.shape[1], x.shape[0] * x.shape[2], *x.shape[3:])


def out_of_channels(x: Tensor, size: int) -> Tensor:
    """The inverse of ``in_channels``."""
    return x.reshape(x.shape[0], size, x.shape[1] // size, *x.shape[2:]).transpose(0, 1)


@rule("convolution", "convolution_input")
def _convolution(call: Call) -> Any:
    """With one weight for all the batch joins the examples; else each example has groups of its own."""
    x, weight = call.operands[:2]
    rest = call.operands[2:]
    if not call.has[1] and not any(call.has[2:]):
        return unfolded(call.again(folded(x), weight, *rest), call.size)
    groups = (*call.attributes[:-1], call.attributes[-1] * call.size)
    filters = folded(call.front(1))
    biases = [None if b is None else call.front(i + 2).reshape(-1) for i, b in enumerate(rest)]
    found = call.again(in_channels(call.front(0)), filters, *biases, attributes=groups)
    return out_of_channels(found, call.size)


@rule("convolution_weight")
def _convolution_weight(call: Call) -> Any:
    groups = (*call.attributes[:-1], call.attributes[-1] * call.size)
    found = call.again(in_channels(call.front(0)), in_channels(call.front(1)), attributes=groups)
    return unfolded(found, call.size)


def _on_folded(call: Call, spatial: int, attributes: tuple[Any, ...] | None = None) -> Any:
    """An operator on (N, C, *spatial) or (C, *spatial) with the batch as (part of) N."""
    operands = [call.front(i) for i in range(len(call.operands))]
    if call.ndim(0) <= spatial + 1:
        return call.again(*operands, attributes=attributes) if call.ndim(0) == spatial + 1 else None
    return unfolded(call.again(*[folded(x) for x in operands], attributes=attributes), call.size)


@rule("max_pool", "avg_pool", "adaptive_max_pool")
def _pool(call: Call) -> Any:
    return _on_folded(call, len(call.attributes[0]))


@rule("pool_scatter")
def _pool_scatter(call: Call) -> Any:
    return _on_folded(call, call.attributes[1])


@rule("pool_gather")
def _pool_gather(call: Call) -> Any:
    return _on_folded(call, call.attributes[0])


@rule("avg_pool_backward")
def _avg_pool_backward(call: Call) -> Any:
    shape, kernel = call.attributes[:2]
    larger = (call.size * shape[0], *shape[1:]) if len(shape) > len(kernel) + 1 else (call.size, *shape)
    return _on_folded(call, len(kernel), (larger, *call.attributes[1:]))


@rule("im2col", "col2im")
def _columns(call: Call) -> Any:
    return unfolded(call.again(folded(call.operands[0])), call.size)


# --- normalization and attention ----------------------------------------------------------------------------

@rule("native_layer_norm")
def _layer_norm(call: Call) -> Any:
    dims = moved(call.attributes[0])
    x, eps = call.front(0), call.operands[3]
    if not call.has[1] and not call.has[2]:
        return call.again(x, *call.operands[1:4], attributes=(dims,))
    result, mean, rstd = call.again(x, None, None, eps, attributes=(dims,))
    weight, bias = [None if call.operands[i] is None else call.aligned(i, call.ndim(0)) for i in (1, 2)]
    result = result if weight is None else result * weight
    return (result if bias is None else result + bias).to(x.dtype), mean, rstd


@rule("native_batch_norm")
def _batch_norm(call: Call) -> Any:
    """The statistics are of each channel of each example: the batch joins the channels."""
    affine = [None if call.operands[i] is None else call.front(i).reshape(-1) for i in (1, 2)]
    result, mean, rstd = call.again(in_channels(call.front(0)), *affine, call.operands[3])
    return out_of_channels(result, call.size), mean.reshape(call.size, -1), rstd.reshape(call.size, -1)


@rule("scaled_dot_product_attention")
def _attention(call: Call) -> Any:
    q, k, v = (call.front(i) for i in range(3))
    mask = call.operands[3]
    mask = mask if mask is None else call.aligned(3, call.ndim(0))
    return call.again(q, k, v, mask, *call.operands[4:])


# --- indices ------------------------------------------------------------------------------------------------

@rule("index_select")
def _index_select(call: Call) -> Any:
    dim, ndim = call.attributes[0], call.ndim(0)
    if ndim == 0 or call.ndim(1) == 0:
        return None
    x, index = call.front(0), call.operands[1]
    if not call.has[1]:
        return call.again(x, index, attributes=(dim + 1,))
    index = index.reshape(call.size, *[1] * dim, -1, *[1] * (ndim - dim - 1))
    shape = [n if d != dim + 1 else index.shape[d] for d, n in enumerate(x.shape)]
    return x.gather(dim + 1, index.expand(shape))


@rule("index_select_backward")
def _index_select_backward(call: Call) -> Any:
    dim, shape = call.attributes
    if call.has[1]:
        return None
    return call.again(call.front(0), call.operands[1], attributes=(dim + 1, (call.size, *shape)))


@rule("index_add", "index_copy", "index_fill")
def _index_write(call: Call) -> Any:
    if call.has[1] or call.ndim(0) == 0 or (call.operator.name == "index_fill" and call.has[2]):
        return None
    source = call.operands[2] if call.operator.name == "index_fill" else call.front(2)
    return call.again(call.front(0), call.operands[1], source, *call.operands[3:],
                      attributes=(call.attributes[0] + 1,))


@rule("take")
def _take(call: Call) -> Any:
    if not call.has[0]:
        return call.again(*call.operands)
    flat = call.operands[0].reshape(call.size, -1)
    index = call.front(1)
    count = flat.shape[1]
    index = index.where(index >= 0, index + count).reshape(call.size, -1)
    return flat.gather(1, index).reshape(call.size, *call.geometries[1].shape)


def _offsets(call: Call, rows: int, ndim: int) -> Tensor:
    """Where each example's rows begin in a table of all, (B, 1, ...) with ``ndim`` ones."""
    from ..operators import arange
    return (arange(call.size) * rows).reshape(call.size, *[1] * ndim)  # type: ignore[no-any-return]


@rule("embedding")
def _embedding(call: Call) -> Any:
    """Tables of all examples are one table, in which each example has its rows."""
    if not call.has[0]:
        return call.again(*call.operands)
    if call.attributes[0] is not None:
        return None
    table, indices = call.operands[0], call.front(1)
    return call.again(folded(table), indices + _offsets(call, table.shape[1], call.ndim(1)))


@rule("embedding_dense_backward")
def _embedding_backward(call: Call) -> Any:
    rows, padding = call.attributes
    if padding is not None:
        return None
    indices = call.front(1) + _offsets(call, rows, call.ndim(1))
    found = call.again(call.front(0), indices, attributes=(rows * call.size, None))
    return unfolded(found, call.size)


@rule("searchsorted")
def _searchsorted(call: Call) -> Any:
    if not call.has[0] and call.operands[2] is None and call.ndim(0) == 1:
        return call.again(*call.operands)
    if call.operands[2] is None and call.ndim(0) == call.ndim(1):
        return call.again(call.front(0), call.front(1), None)
    return None


@rule("isin")
def _isin(call: Call) -> Any:
    return None if call.has[1] else call.again(*call.operands)


def _leading(x: Tensor, dims: tuple[int, ...]) -> tuple[Tensor, list[int]]:
    """x (B, ...) with the dimensions of an example ``dims`` right after the batch, and the order of its
    dimensions."""
    order = [0, *[d + 1 for d in dims], *[d for d in range(1, x.ndim) if d - 1 not in dims]]
    return x.permute(order), order


def _positions(call: Call, first: int) -> tuple[list[Any], int]:
    """The batch's own index and the index operands, to be broadcast, and how many dimensions these have."""
    from ..operators import arange
    count = len(call.operands)
    ndim = max(call.ndim(i) for i in range(first, count))
    own = arange(call.size).reshape(call.size, *[1] * ndim)
    return [own, *[call.aligned(i, ndim) for i in range(first, count)]], ndim


def _adjacent(dims: tuple[int, ...]) -> bool:
    return dims == tuple(range(dims[0], dims[0] + len(dims)))


@rule("index")
def _index(call: Call) -> Any:
    """The batch is one more index, broadcast against the others."""
    from ..operators.index_operators import read
    dims = call.attributes[0]
    x, _ = _leading(call.front(0), dims)
    indices, ndim = _positions(call, 1)
    found = read(x, indices, tuple(range(len(dims) + 1)))
    if not _adjacent(dims) or not dims[0]:
        return found
    before = range(ndim + 1, ndim + 1 + dims[0])    # what stands before the indexed dimensions
    rest = range(ndim + 1 + dims[0], found.ndim)
    return found.permute(0, *before, *range(1, ndim + 1), *rest)


@rule("index_put")
def _index_put(call: Call) -> Any:
    from ..operators.index_operators import index_shape, indexed_shape, put
    dims, accumulate = call.attributes
    x, order = _leading(call.front(0), dims)
    indices, ndim = _positions(call, 2)
    geometries: list[Any] = call.geometries
    wanted = indexed_shape(geometries[0].shape, dims, index_shape([g.shape for g in geometries[2:]]))
    values = call.operands[1]
    if not call.has[1]:
        values = values.expand(call.size, *wanted)
    elif call.ndim(1) > len(wanted):
        return None
    else:
        values = _raised(values, len(wanted)).expand(call.size, *wanted)
    if _adjacent(dims) and dims[0]:
        at = dims[0] + 1
        values = values.permute(0, *range(at, at + ndim), *range(1, at), *range(at + ndim, values.ndim))
    found = put(x, values, indices, tuple(range(len(dims) + 1)), accumulate)
    return found.permute([order.index(d) for d in range(len(order))])


@rule("index_backward")
def _index_backward(call: Call) -> Any:
    from ..operators.index_operators import put
    from ..tensor.batching import batched
    from .batching import strip
    dims, shape = call.attributes
    grad, *indices = [batched(x, call.level) if has else x for x, has in zip(call.operands, call.has)]
    return strip(put(grad.new_zeros(shape), grad, indices, dims, True), call.level)[0]


# --- losses -------------------------------------------------------------------------------------------------

@rule("nll_loss")
def _nll_loss(call: Call) -> Any:
    """The losses of all examples' elements, reduced example by example."""
    weight = call.operands[2]
    if call.has[2]:
        return None
    ignore_index, reduction = call.attributes
    x, target = call.front(0), call.front(1)
    single = call.ndim(0) == 1
    losses = record(call.operator, (x if single else folded(x), target if single else folded(target), weight),
                    (ignore_index, "none"))[0]
    losses = losses if single else unfolded(losses, call.size)
    kept = target != ignore_index
    shares = kept.to(call.outputs[1].dtype)
    if weight is not None:
        shares = shares * weight[target.where(kept, 0)].to(shares.dtype)
    total = shares.reshape(call.size, -1).sum(1)
    if reduction != "none":
        losses = losses.reshape(call.size, -1).sum(1)
    if reduction == "mean":
        losses = losses / total
    return losses.to(call.outputs[0].dtype), total
