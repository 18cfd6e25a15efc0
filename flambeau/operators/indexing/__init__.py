"""Reading and writing parts of tensors: by key, index, mask; and tensors laid out anew by such reads.

``x[key]``, index_select, gather, scatter, masks, fills; padding, repeating, triangles, block matrices.
"""

from . import (
    combining,
    filling,
    index_operators,
    indexing,
    masking,
    padding,
    partial_writes,
    putting,
    repeating,
    scatter_reductions,
    scattering,
    subscripts,
    taking,
    triangles,
)
