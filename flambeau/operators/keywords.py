"""Keywords that many functions take alike: ``out=``, ``dtype=float``, ``layout=``, NumPy's ``axis=``, ``x=``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import unwrap
from typing import Any

from .. import dtypes, layouts
from ..tensor import casting
from ..tensor.overrides import dispatching, first_seen
from .out import refuse_aliases, require_type, store
from .signatures import FAILURES, complaint, judged, strict

# They read ``dtype=float`` themselves: no call of theirs costs more.
_READ_DTYPE = frozenset(("softmax", "log_softmax", "type", "view"))
# What the first operand may be called, in NumPy's words too; the second may be ``x2``.
_FIRST = frozenset(("input", "x", "a", "x1"))
# Functions that PyTorch has in Python, where no keyword has a second name.
_WITHOUT_AXIS = frozenset(("norm", "split", "unique", "unique_consecutive", "unflatten"))


def with_keywords(function: Callable[..., Any], name: str, namespaces: tuple[str, ...], out: bool,
                  public: tuple[str, str] | None = None) -> Callable[..., Any]:
    """``function`` with what its parameters ask for beside them, and PyTorch's errors for wrong arguments.

    With ``dim`` come NumPy's names ``axis`` and ``keepdims``, and those of its operands; a ``dtype`` may be
    one of Python's types; a sparse ``layout`` is made by another function, if at all. ``out``: a tensor, or a
    tuple of them, may take the result.
    """
    parameters = _parameters(function)
    has_layout = "layout" in parameters
    has_dtype = has_layout or ("dtype" in parameters and name not in _READ_DTYPE)
    has_axis = "dim" in parameters and namespaces != ("nn.functional",) \
        and (name not in _WITHOUT_AXIS or "linalg" in namespaces)
    if not (out or has_dtype or has_axis):
        if public is None or public[1] in _BARE or (public[0] == "Tensor" and public[1] in _BARE_METHODS):
            return function
        return (strict if public[1] in _STRICT else judged)(function, *public)
    names = None if namespaces == ("nn.functional",) else _operand_names(parameters)

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            if not kwargs:
                return function(*args)
            if names is not None and len(args) < 2:
                _rename_operands(kwargs, *names)
            if has_axis:
                _rename_axis(kwargs)
            if has_dtype:
                _read_dtype(kwargs, function.__name__)
            if has_layout and kwargs.get("layout") not in (None, layouts.strided):
                return _of_layout(function.__name__, args, kwargs)
            target = kwargs.pop("out", None) if out else None
            if target is None:
                return function(*args, **kwargs)
            refuse_aliases(args, target, function.__name__)
            if has_layout:
                require_type(target, kwargs.get("dtype"))
            with casting.suspended():
                return store(function(*args, **kwargs), target, function.__name__)
        except FAILURES:
            if first_seen((*args, *kwargs.values())):
                return dispatching(wrapper, wrapper)(*args, **kwargs)
            if public is not None and (error := complaint(function, *public, args, kwargs)) is not None:
                raise error from None
            raise

    return wrapper if public is None or public[1] not in _STRICT else strict(wrapper, *public)


def judged_first(function: Callable[..., Any], namespace: str, name: str, called: str) -> Callable[..., Any]:
    """``function``, its arguments judged before it runs if it is one of those that take wrong ones."""
    return strict(function, namespace, called) if name in _STRICT else function


# Functions that every step of a training calls often: they look at their operands themselves.
_BARE = frozenset((
    "add", "sub", "mul", "div", "neg", "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "relu",
    "gelu", "silu", "linear", "layer_norm", "rms_norm", "dropout", "item", "numel",
))
_BARE_METHODS = frozenset(("reshape", "view", "flatten", "transpose", "permute", "t", "expand",
                           "clone", "detach", "split", "is_floating_point", "is_complex",
                           "conj", "resolve_conj"))
# Functions that could make something of arguments that PyTorch refuses, and are not called in tight loops.
_STRICT = frozenset((
    "allclose", "isclose", "is_same_size", "empty_permuted", "eye", "randint", "randint_like", "randperm",
    "rand_like", "randn_like", "full_like", "alpha_dropout", "feature_dropout", "feature_alpha_dropout",
    "dropout_", "result_type", "constant_pad_nd", "diagonal", "diag_embed", "diag", "diagonal_copy",
    "gradient", "fake_quantize_per_tensor_affine", "hash_tensor", "histogramdd", "index_put",
    "index_put_", "diff", "trapezoid", "trapz", "cumulative_trapezoid", "svd", "pinverse",
    "triangular_solve", "cholesky", "cholesky_solve", "cholesky_inverse", "kron", "matrix_power", "qr",
    "logsumexp", "frobenius_norm", "dist", "multinomial", "rrelu", "rrelu_",
    "binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss", "cosine_similarity",
    "pairwise_distance", "hinge_embedding_loss", "margin_ranking_loss", "as_strided",
    "triplet_margin_loss", "slice_inverse", "as_strided_", "norm_except_dim", "native_dropout",
    "embedding_renorm_", "is_distributed", "nonzero", "kthvalue", "median", "nanmedian", "quantile",
    "nanquantile", "slice_scatter", "arange", "range", "linspace", "logspace", "flip", "roll", "rot90",
    "tile", "round", "sort", "argsort", "topk", "searchsorted", "isin", "polygamma", "mvlgamma",
    "unsafe_split", "unsafe_chunk", "tensor_split", "hsplit", "vsplit", "var", "std", "var_mean",
    "std_mean", "cov", "prod", "tril", "triu", "tril_indices", "triu_indices", "count_nonzero",
    "as_strided_copy", "select_copy", "slice_copy", "split_copy", "squeeze_copy", "transpose_copy",
    "unfold_copy", "unsqueeze_copy", "hann_window", "hamming_window", "blackman_window", "kaiser_window",
    "svdvals", "pinv", "inv_ex", "solve", "solve_ex", "solve_triangular", "tensorinv", "cholesky_ex",
    "ldl_factor_ex", "ldl_factor", "lu_factor", "lu_factor_ex", "lu", "vecdot", "norm", "vector_norm",
    "matrix_rank", "fftn", "ifftn", "rfftn", "ihfftn", "fft2", "ifft2", "rfft2", "irfft2", "hfft2",
    "ihfft2", "fftfreq", "rfftfreq", "fftshift", "ifftshift", "rfft", "ihfft", "multigammaln",
    "fill_diagonal_", "random_", "repeat_interleave", "unfold", "sum_to_size", "scalar_tensor",
    "bernoulli", "resolve_neg", "is_conj", "is_neg", "aminmax", "bucketize", "combinations", "nansum",
    "nanmean", "threshold", "chalf", "clamp_max", "clamp_min", "copysign", "argmax", "argmin", "cummax",
    "cummin", "normal", "full", "new_full", "avg_pool1d", "avg_pool2d", "avg_pool3d", "histogram", "fill",
    "native_batch_norm", "grid_sampler_2d", "grid_sampler_3d", "grid_sampler", "renorm", "histc",
    "index_reduce", "l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "gaussian_nll_loss",
    "cosine_embedding_loss", "triplet_margin_with_distance_loss", "soft_margin_loss",
    "binary_cross_entropy", "multilabel_soft_margin_loss", "unique", "unique_consecutive",
))


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    code = getattr(unwrap(function), "__code__", None)
    return () if code is None else code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]


def _operand_names(parameters: tuple[str, ...]) -> tuple[str, frozenset[str], bool] | None:
    """The first parameter, what else it may be called, and whether the second may be called ``x2``."""
    if not parameters or parameters[0] not in ("input", "A", "self", "x"):
        return None
    return parameters[0], _FIRST.difference(parameters), "other" in parameters and "x2" not in parameters


def _rename_operands(kwargs: dict[str, Any], first: str, others: frozenset[str], second: bool) -> None:
    for name in others.intersection(kwargs):
        kwargs[first] = kwargs.pop(name)
    if second and "x2" in kwargs:
        kwargs["other"] = kwargs.pop("x2")


def _rename_axis(kwargs: dict[str, Any]) -> None:
    if "axis" in kwargs:
        kwargs["dim"] = kwargs.pop("axis")
    if "keepdims" in kwargs:
        kwargs["keepdim"] = kwargs.pop("keepdims")


def _read_dtype(kwargs: dict[str, Any], name: str) -> None:
    dtype = kwargs.get("dtype")
    if dtype is not None and dtype.__class__ is not dtypes.dtype:
        kwargs["dtype"] = dtypes.given(dtype, name)


def _of_layout(name: str, args: Any, kwargs: Any) -> Any:
    """What a function that makes dense tensors gives for another layout."""
    layout = kwargs["layout"]
    if not isinstance(layout, layouts.layout):
        raise TypeError(f"{name}(): argument 'layout' must be torch.layout, not {type(layout).__name__}")
    if name in layouts.SPARSE_FACTORIES and layout.name.startswith("sparse_"):
        return layouts.SPARSE_FACTORIES[name](*args, **kwargs)
    raise RuntimeError(f"{'full' if name == 'ones' else name}(...) is not implemented for sparse layout")
