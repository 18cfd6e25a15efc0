"""Public calls as the operators that PyTorch's dispatcher knows.

Note: composed functions. Some public functions have no operator of their own in PyTorch: ``linear`` is a
transposition and a product, ``cross_entropy`` a logarithm of a softmax and a loss. Here they are single
operators; ``REWRITTEN`` says what they are there, in other public functions, for modes that watch operators.
Functions in ``COMPOSED`` have no operator either: what is recorded inside them is what a mode sees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import dtype
from ..library.table import Overload
from ..tensor import Tensor
from ._selective_checkpoint import operator_of

COMPOSED = frozenset("""
absolute adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adjoint affine_grid
alpha_dropout arccos arccosh arcsin arcsinh arctan arctan2 arctanh argsort argwhere as_tensor asarray
atleast_1d atleast_2d atleast_3d avg_pool1d bfloat16 bilinear bool broadcast_tensors broadcast_to byte
cartesian_prod cdist chain_matmul char clip column_stack combinations concat concatenate corrcoef
cosine_embedding_loss cosine_similarity cov cross ctc_loss cumulative_trapezoid det diag diagflat diff
divide double dropout1d dropout2d dropout3d dsplit dstack einsum embedding_bag expand_as
feature_alpha_dropout fix flatten fliplr flipud float float_power fold frobenius_norm gaussian_nll_loss ger
gradient greater greater_equal grid_sample grid_sampler gru gru_cell gumbel_softmax half
hinge_embedding_loss hsplit hstack inner instance_norm int interpolate inverse isclose isfinite isreal istft
kl_div kron l1_loss less less_equal linear_cross_entropy local_response_norm logdet logsigmoid long
lp_pool1d lp_pool2d lp_pool3d lstm lstm_cell lu margin_ranking_loss matrix_exp matrix_power max_pool1d
max_pool3d max_unpool1d meshgrid moveaxis movedim msort multi_head_attention_forward multilabel_margin_loss
multilabel_soft_margin_loss multiply nanmean nanquantile narrow negative normalize not_equal nuclear_norm
one_hot outer pad pairwise_distance pdist pinverse poisson_nll_loss prelu qr quantile ravel relu6 rms_norm
rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell row_stack rrelu selu short slogdet softmin softsign
square stft subtract sum_to_size svd swapaxes swapdims take_along_dim tanhshrink tensor tensor_split
tensordot tile trapezoid trapz triplet_margin_loss triplet_margin_with_distance_loss true_divide type
type_as unflatten unique upsample vander vsplit vstack
""".split())


# Computes an operator by the dispatcher's name, and its variant, in the mode that asks.
Call = Callable[..., Any]


def _laid(call: Call, x: Tensor, *shape: int) -> Any:
    """x in another shape: a view where it is contiguous."""
    return call("view" if x.is_contiguous() else "reshape", x, list(shape))


def linear(call: Call, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    rows = input if input.ndim == 2 else _laid(call, input, input.numel() // max(weight.shape[1], 1),
                                               input.shape[-1])
    turned = call("t", weight)
    out = call("mm", rows, turned) if bias is None else call("addmm", bias, rows, turned)
    return out if input.ndim == 2 else call("view", out, [*input.shape[:-1], weight.shape[0]])


def matmul(call: Call, input: Tensor, other: Tensor) -> Any:
    if input.ndim == 1 and other.ndim == 1:
        return call("dot", input, other)
    if input.ndim == 2 and other.ndim in (1, 2):
        return call("mm" if other.ndim == 2 else "mv", input, other)
    shape = [*input.shape[:-1], other.shape[-1]]
    if input.ndim > 2 and other.ndim == 2:
        product = call("mm", _laid(call, input, input.shape[:-1].numel(), input.shape[-1]), other)
        return call("_unsafe_view", product, shape)
    if input.ndim > 2 and input.shape[:-2] == other.shape[:-2]:
        left, right = (_laid(call, x, x.shape[:-2].numel(), *x.shape[-2:]) for x in (input, other))
        return call("_unsafe_view", call("bmm", left, right), shape)
    return NotImplemented


def _convolution(dims: int, transposed: bool) -> Callable[..., Any]:
    def each(x: Any) -> list[int]:
        return [x] * dims if isinstance(x, int) else list(x)

    def plain(call: Call, input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0,
              dilation: Any = 1, groups: int = 1) -> Any:
        if isinstance(padding, str) or input.ndim != dims + 2:
            return NotImplemented
        return call("convolution", input, weight, bias, each(stride), each(padding), each(dilation), False,
                     [0] * dims, groups)

    def backwards(call: Call, input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1,
                  padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Any:
        if input.ndim != dims + 2:
            return NotImplemented
        return call("convolution", input, weight, bias, each(stride), each(padding), each(dilation), True,
                     each(output_padding), groups)
    return backwards if transposed else plain


def softmax(call: Call, input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    return NotImplemented if dim is None or dtype is not None else call("_softmax", input, dim, False)


def log_softmax(call: Call, input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    return NotImplemented if dim is None or dtype is not None else call("_log_softmax", input, dim, False)


def layer_norm(call: Call, input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None,
               eps: float = 1e-5) -> Any:
    return call("native_layer_norm", input, list(normalized_shape), weight, bias, eps)[0]


def batch_norm(call: Call, input: Tensor, running_mean: Any, running_var: Any, weight: Any = None,
               bias: Any = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Any:
    return call("native_batch_norm", input, weight, bias, running_mean, running_var, training, momentum,
                eps)[0]


def max_pool2d(call: Call, input: Tensor, *args: Any, return_indices: bool = False, **kwargs: Any) -> Any:
    if return_indices or len(args) > 5:
        return NotImplemented
    return call("max_pool2d_with_indices", input, *args, **kwargs)[0]


def cross_entropy(call: Call, input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None,
                  ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Any:
    if target.is_floating_point() or label_smoothing or size_average is not None or reduce is not None:
        return NotImplemented
    log_probs = call("_log_softmax", input, 0 if input.ndim == 1 else 1, False)
    return call("nll_loss", log_probs, target, weight, ignore_index=ignore_index, reduction=reduction)


def dropout(call: Call, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, *,
            train: bool | None = None) -> Any:
    training = training if train is None else train
    if inplace or p in (0, 1):
        return NotImplemented
    if not training:
        return input
    noise = call("bernoulli_", call("empty_like", input), 1 - p, variant="float")
    return call("mul", input, call("div_", noise, 1 - p, variant="Scalar"), variant="Tensor")


def reshape(call: Call, input: Tensor, *shape: Any, **kwargs: Any) -> Any:
    return NotImplemented if kwargs or not input.is_contiguous() else call("view", input, _listed(shape))


def _listed(sizes: tuple[Any, ...]) -> list[Any]:
    """Sizes given one by one or together, as a list."""
    return list(sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)


def _with_list(name: str, operands: int) -> Callable[..., Any]:
    """A function that takes sizes or dimensions one by one, which its operator takes as a list."""
    def listed(call: Call, *args: Any, **kwargs: Any) -> Any:
        given = args[operands:]
        if not given or not all(isinstance(x, int) for x in _listed(given)):
            return NotImplemented
        return call(name, *args[:operands], _listed(given), **kwargs)
    return listed


def _over_dims(name: str, variant: str) -> Callable[..., Any]:
    """A reduction, whose operator takes a list of dimensions."""
    def reduced(call: Call, input: Tensor, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
        if dim is None or kwargs:
            return NotImplemented
        return call(name, input, [dim] if isinstance(dim, int) else list(dim), *[True] * keepdim,
                    variant=variant)
    return reduced


def chunk(call: Call, input: Tensor, chunks: int, dim: int = 0) -> Any:
    size = -(-input.shape[dim] // chunks) if chunks > 0 else 0
    return call("split", input, size, dim, variant="Tensor") if size else NotImplemented


def embedding(call: Call, input: Tensor, weight: Tensor, padding_idx: int | None = None, *args: Any,
              **kwargs: Any) -> Any:
    if args or kwargs or input.is_floating_point():   # torch.embedding, which takes the weight first
        return NotImplemented
    return call("embedding", weight, input, *[] if padding_idx is None else [padding_idx % weight.shape[0]])


def to(call: Call, input: Tensor, *args: Any, **kwargs: Any) -> Any:
    given = {"dtype": args[0]} if len(args) == 1 and isinstance(args[0], dtype) else {}
    if len(args) > len(given) or not set(kwargs) <= {"dtype", "non_blocking"}:
        return NotImplemented
    wanted = (kwargs | given).get("dtype", input.dtype)
    return input if wanted is input.dtype else call("_to_copy", input, dtype=wanted)


def contiguous(call: Call, input: Tensor, *args: Any, **kwargs: Any) -> Any:
    return input if input.is_contiguous() else NotImplemented


REWRITTEN: dict[str, Callable[..., Any]] = {
    "linear": linear, "matmul": matmul, "__matmul__": matmul, "softmax": softmax, "log_softmax": log_softmax,
    "layer_norm": layer_norm, "batch_norm": batch_norm, "max_pool2d": max_pool2d,
    "cross_entropy": cross_entropy, "dropout": dropout, "reshape": reshape, "contiguous": contiguous,
    "chunk": chunk, "embedding": embedding, "to": to,
    **{name: _with_list(name, 1) for name in ("view", "expand", "permute")},
    **{name: _with_list(name, 0) for name in ("randn", "rand", "zeros", "ones", "empty")},
    "sum": _over_dims("sum", "dim_IntList"), "mean": _over_dims("mean", "dim"),
    "__rmatmul__": lambda call, a, b: matmul(call, b, a),
    **{f"conv{n}d": _convolution(n, False) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": _convolution(n, True) for n in (1, 2, 3)},
}

# Functions that have an operator of their own where they are not rewritten.
_OPERATORS = frozenset(("view", "expand", "permute", "randn", "rand", "zeros", "ones", "empty", "sum", "mean",
                        "embedding"))


def has_operator(name: str) -> bool:
    """Whether a public function of this name is an operator of PyTorch's."""
    return name in _OPERATORS or not (name in COMPOSED or name in REWRITTEN)


# The variants that PyTorch tells apart by what is given.
_SECOND = dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), ("Tensor", "Scalar"))
_BY_DIM = {"sum": "dim_IntList", "mean": "dim", "max": "dim", "min": "dim", "any": "dim", "all": "dim",
           "var": "correction", "std": "correction", "median": "dim", "prod": "dim_int"}
_ALWAYS = {"transpose": "int", "select": "int", "where": "self", "unbind": "int", "split": "Tensor",
           "var": "correction", "std": "correction", "add": "Tensor", "mul": "Tensor", "sub": "Tensor",
           "div": "Tensor", "add_": "Tensor", "mul_": "Tensor", "sub_": "Tensor", "div_": "Tensor",
           "index": "Tensor"}


def aten_operator(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Overload | None:
    """The dispatcher's operator, with its variant, that a public call is; None for what has none."""
    if isinstance(function, Overload):
        return function
    found = operator_of(function, args, kwargs)
    if found is None or found.namespace != "aten":
        return found
    name = found.operator.name
    if name in _SECOND:
        return getattr(found.overloadpacket, _SECOND[name][not isinstance(args[1], Tensor)], found)
    if name in _BY_DIM and (len(args) > 1 or "dim" in kwargs):
        return getattr(found.overloadpacket, _BY_DIM[name], found)
    return getattr(found.overloadpacket, _ALWAYS[name], found) if name in _ALWAYS else found


__all__ = ["COMPOSED", "REWRITTEN", "aten_operator", "has_operator"]
