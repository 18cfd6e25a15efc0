"""All operators. Importing this package attaches the methods to Tensor; the functions are listed in ``registry``."""

from typing import TYPE_CHECKING, Any

from . import (
    activation,
    arithmetic,
    attention,
    casting,
    comparison,
    convolution,
    creation,
    cumulative,
    dropout,
    dunders,
    einsum,
    embedding,
    exponential,
    extrema,
    factories,
    histograms,
    indexing,
    integration,
    joining,
    linalg,
    linear,
    logical,
    looking,
    loss,
    matmul,
    matmul_add,
    normalization,
    norms,
    optimizer,
    order_statistics,
    padding,
    pooling,
    products,
    random,
    recurrent,
    reduction,
    resampling,
    rounding,
    selection,
    shape,
    sorting,
    special,
    spectral,
    statistics,
    trigonometric,
    truth,
    uniqueness,
)
from .registry import NAMESPACES

MODULES = (
    activation, arithmetic, attention, casting, comparison, convolution, creation, cumulative, dropout, dunders,
    einsum, embedding, exponential, extrema, factories, histograms, indexing, integration, joining, linalg, linear,
    logical, looking, loss, matmul, matmul_add, normalization, norms, optimizer, order_statistics, padding, pooling,
    products, random, recurrent, reduction, resampling, rounding, selection, shape, sorting, special, spectral,
    statistics, trigonometric, truth, uniqueness,
)

if TYPE_CHECKING:
    def __getattr__(name: str) -> Any: ...
else:
    globals().update({name: f for name, f in NAMESPACES["torch"].items()})
