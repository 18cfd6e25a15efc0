"""All operators, in folders by kind. Importing this package attaches Tensor's methods.

``calls`` and ``declaration`` are what operators are made with; ``declaration/registry.py`` has the functions.
The other folders hold operators, and helpers of these. A folder imports only from folders below it, in the
order that ``tests/test_layers.py`` gives.
"""

from typing import TYPE_CHECKING, Any

from . import (
    activations,
    convolutions,
    creation,
    indexing,
    interop,
    linalg,
    losses,
    normalization,
    optimization,
    pointwise,
    products,
    random,
    reductions,
    sequences,
    shapes,
    spectral,
    spellings,
)
from .declaration.registry import NAMESPACES

if TYPE_CHECKING:
    def __getattr__(name: str) -> Any: ...
else:
    globals().update(NAMESPACES["torch"])
