"""Native forms of structured operators, by the operator's name.

A template looks at a signature (geometries, attributes, element types) and makes a plan, or None where it has
no native form for it and the interpreter computes the node. The code that it compiles must not depend on
shapes: extents and strides are arguments. Found out once per signature.

Folders have the names of those of ``operators/``, one kind of operators each, and import in the same order.
"""

from __future__ import annotations

import importlib

from ....graph.node import Signature
from ....graph.recent import Recent
from ...interpreter import half_complex
from ..llvm.emitter import Unsupported
from ..plan import Plan, Template
from .nothing import is_about_nothing, of_nothing

# The operators whose templates each module holds.
_OPERATORS: dict[str, tuple[str, ...]] = {
    "shapes.movement": ("unsafe_view", "contiguous_copy", "clone", "copy", "write", "select_scatter",
        "slice_scatter", "diagonal_scatter", "view_backward", "constant_pad_nd", "diag_embed", "flip",
        "rot90", "roll", "repeat", "full", "fill"),
    "shapes.borders": ("border_pad",),
    "shapes.joining": ("cat", "stack"),
    "shapes.creation": ("arange", "linspace", "eye", "tril", "triu"),
    "indexing.indexing": ("gather", "gather_backward", "value_selecting_reduction", "scatter", "scatter_add",
        "scatter_reduce", "scatter_means", "index_select", "index_select_backward", "index_add", "index_copy",
        "index_fill", "index", "index_backward", "index_put", "take", "take_backward", "put", "embedding",
        "embedding_dense_backward"),
    "indexing.choosing": ("where", "masked_fill"),
    "indexing.sparse": ("sparse_product", "sparse_spread", "sparse_pick"),
    "random.random": ("uniform", "normal", "bernoulli", "bernoulli_each", "randint", "random_full",
        "randperm", "exponential", "geometric", "cauchy", "log_normal"),
    "random.sampling": ("standard_gamma", "poisson", "binomial"),
    "reductions.scans": ("cumsum", "cumprod", "cummax", "cummin", "linear_recurrence"),
    "reductions.sorting": ("sort", "topk", "kthvalue", "mode", "median", "nanmedian"),
    "reductions.searching": ("searchsorted",),
    "products.matmul": ("linear", "mm", "bmm", "matmul", "addmm", "baddbmm", "mv", "addmv", "dot", "addr"),
    "linalg.vectors": ("linalg_cross",),
    "linalg.distances": ("cdist", "cdist_backward", "pdist", "pdist_backward"),
    "linalg.matrices": ("linalg_lu_factor_ex", "linalg_inv_ex", "linalg_solve_ex", "linalg_det",
        "linalg_slogdet", "linalg_cholesky_ex", "linalg_solve_triangular", "cholesky_solve",
        "cholesky_inverse", "linalg_lu_solve"),
    "linalg.library": ("linalg_qr", "linalg_eigh", "linalg_eigvalsh", "linalg_svd", "linalg_svdvals",
        "linalg_lstsq", "linalg_pinv"),
    "spectral.fourier": ("fft",),
    "convolutions.convolution": ("convolution", "convolution_input", "convolution_weight"),
    "convolutions.pooling": ("max_pool", "max_pool_values", "avg_pool", "avg_pool_backward", "pool_scatter",
        "pool_gather", "adaptive_max_pool"),
    "convolutions.windows": ("im2col", "col2im"),
    "convolutions.banded": ("banded_product",),
    "convolutions.grid_sampling": ("grid_sample", "grid_sample_grid", "grid_sample_input"),
    "normalization.group_norm": ("native_group_norm", "native_group_norm_backward"),
    "losses.alignments": ("ctc_loss", "ctc_loss_backward"),
    "losses.losses": ("nll_loss", "nll_loss_backward"),
    "sequences.bags": ("embedding_bag",),
    "sequences.recurrent": ("lstm_sequence", "gru_sequence", "rnn_sequence", "lstm_sequence_backward",
        "gru_sequence_backward", "rnn_sequence_backward"),
    "sequences.attention": ("scaled_dot_product_attention", "scaled_dot_product_attention_backward",
        "scaled_dot_product_attention_dropout", "scaled_dot_product_attention_dropout_backward"),
    "optimization.optimizer": ("multi_tensor",),
    "optimization.gradient_norms": ("total_norm", "clip_gradients", "limit_gradients"),
}
FILES = {name: file for file, names in _OPERATORS.items() for name in names}

_plans: Recent[Signature, Plan | bool] = Recent(1 << 11)     # False: it has none


def plan_of(signature: Signature) -> Plan | None:
    """The plan of a signature; None where the interpreter computes it."""
    found = _plans.get(signature)
    if found is None:
        found = _plans.recall(signature)
        if found is None:
            found = _plans.keep(signature, make(signature) or False)
    return found or None  # type: ignore[return-value]


def make(signature: Signature) -> Plan | None:
    """``plan_of``, not remembered."""
    if signature.on_meta or half_complex.present(signature):
        return None
    name = signature.operator.name
    table = _tables.get(name) or _found(name)
    try:
        plan = table[name](signature) if table is not None else None
        return of_nothing(signature) if plan is None and is_about_nothing(signature) else plan
    except Unsupported:
        return None


_tables: dict[str, dict[str, Template]] = {}    # of the operators that have been asked for


def _found(name: str) -> dict[str, Template] | None:
    """The templates of an operator's file, looked up once: every new shape asks for them."""
    file = FILES.get(name)
    if file is None:
        return None
    table: dict[str, Template] = importlib.import_module(f".{file}", __name__).TEMPLATES
    _tables[name] = table
    return table
