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
    embedding,
    exponential,
    factories,
    indexing,
    joining,
    linalg,
    logical,
    looking,
    loss,
    matmul,
    normalization,
    optimizer,
    padding,
    pooling,
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
)
from .registry import NAMESPACES

MODULES = (
    activation, arithmetic, attention, casting, comparison, convolution, creation, cumulative, dropout, dunders,
    embedding, exponential, factories, indexing, joining, linalg, logical, looking, loss, matmul, normalization,
    optimizer, padding, pooling, random, recurrent, reduction, resampling, rounding, selection, shape, sorting, special,
    spectral, statistics, trigonometric,
)

if TYPE_CHECKING:
    def __getattr__(name: str) -> Any: ...
else:
    globals().update({name: f for name, f in NAMESPACES["torch"].items()})
