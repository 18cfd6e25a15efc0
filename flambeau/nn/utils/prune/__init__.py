"""Pruning: a parameter is kept as `<name>_orig`, multiplied by a buffer of zeros and ones, `<name>_mask`.

The product is computed anew before each forward, by a hook that is the pruning method itself. Pruning again
prunes what is left; the hook is then a `PruningContainer` of all methods.
"""

from ._base import BasePruningMethod, PruningContainer
from ._functions import (
    custom_from_mask,
    global_unstructured,
    identity,
    is_pruned,
    l1_unstructured,
    ln_structured,
    random_structured,
    random_unstructured,
    remove,
)
from ._methods import (
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    RandomStructured,
    RandomUnstructured,
)

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity",
    "is_pruned", "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip

# Saved modules and messages name the methods where they are found.
for _method in (BasePruningMethod, CustomFromMask, Identity, L1Unstructured, LnStructured, PruningContainer,
                RandomStructured, RandomUnstructured):  # fmt: skip
    _method.__module__ = __name__
