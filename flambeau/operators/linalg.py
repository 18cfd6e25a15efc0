"""Linear algebra: the families, one file each.

Factorizations and solves can fail, and programs catch that: those functions look at the result at once.
"""

from . import (
    linalg_cholesky,
    linalg_determinant,
    linalg_eigen,
    linalg_lu,
    linalg_products,
    linalg_qr,
    linalg_solve,
    linalg_support,
    linalg_svd,
)

__all__ = [
    "linalg_cholesky",
    "linalg_determinant",
    "linalg_eigen",
    "linalg_lu",
    "linalg_products",
    "linalg_qr",
    "linalg_solve",
    "linalg_support",
    "linalg_svd",
]
