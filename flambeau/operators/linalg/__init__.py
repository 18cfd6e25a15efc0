"""Linear algebra: factorizations, systems of equations, eigenvalues, norms and distances."""

from . import (
    cholesky,
    determinant,
    distances,
    eigen,
    iterative,
    ldl,
    low_rank,
    lu,
    norms,
    products,
    qr,
    rank,
    solve,
    svd,
)
