"""lobpcg: a few extreme eigenvalues of a large symmetric matrix, from products with it alone."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...tensor import Tensor, state
from ...tensor.batching import by_example
from ...type_info import finfo
from ..declaration.registry import NAMESPACES, api
from ..random.random import randn
from ..shapes.joining import cat


def _linalg(name: str) -> Any:
    return NAMESPACES["linalg"][name]


def _orthonormal(S: Tensor, B: Any) -> Tensor:
    """A basis of the columns of S whose Gram matrix in B is one, without directions that are not there."""
    S = S / S.norm(dim=0).clamp_min(finfo(S.dtype).tiny)
    gram = S.mT @ (S if B is None else B @ S)
    sizes, turn = _linalg("eigh")((gram + gram.mT) / 2)
    kept = sizes > sizes[-1] * (finfo(S.dtype).eps * S.shape[1] * 10)
    return S @ (turn[:, kept] / sizes[kept].sqrt())


def _ritz(A: Any, S: Tensor, n: int, largest: bool) -> tuple[Tensor, Tensor]:
    """The best eigenvalues and the coefficients of their vectors in an orthonormal basis S."""
    small = S.mT @ (A @ S)
    values, vectors = _linalg("eigh")((small + small.mT) / 2)
    if largest:
        return values.flip(0)[:n], vectors.flip(1)[:, :n]
    return values[:n], vectors[:, :n]


def _iterate(A: Any, B: Any, iK: Any, X: Tensor, k: int, limit: int, tol: float, largest: bool,
             tracker: Any) -> tuple[Tensor, Tensor]:
    """Knyazev's iteration: Rayleigh and Ritz in the span of the iterate, its residual and its last step."""
    n = X.shape[1]
    scale = sum(float((M._entries if M._sparse else M).norm()) for M in (A, B) if M is not None)
    values, turn = _ritz(A, _orthonormal(X, B), n, largest)
    X = _orthonormal(X, B) @ turn
    P: Any = None
    step = 0
    while True:
        R = A @ X - (X if B is None else B @ X) * values
        done = bool(((R.norm(dim=0) / (X.norm(dim=0) * (scale + values.abs()))) <= tol)[:k].all())
        if tracker is not None:
            tracker(step, values, X, R, done)
        if done or (limit >= 0 and step >= limit):
            return values[:k], X[:, :k]
        W = R if iK is None else iK @ R
        S = _orthonormal(cat([X, W] if P is None else [X, W, P], 1), B)
        values, turn = _ritz(A, S, n, largest)
        new = S @ turn
        P = new - X @ (X.mT @ (new if B is None else B @ new))
        X, step = new, step + 1


def _single(A: Tensor, k: int, B: Any, X: Any, n: int, iK: Any, limit: int, tol: float, largest: bool,
            tracker: Any) -> tuple[Tensor, Tensor]:
    """One matrix: the eigenpairs without history, then as functions of the matrix."""
    before, state.enabled = state.enabled, False
    try:
        start = randn((A.shape[-1], n), dtype=A.dtype, device=A.device) if X is None else X
        values, vectors = _iterate(A.detach(), B, iK, start, k, limit, tol, largest, tracker)
    finally:
        state.enabled = before
    return _differentiable(A, values, vectors) if A.requires_grad else (values, vectors)


def _differentiable(A: Tensor, values: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenpairs with their first-order dependence on A written out.

    For a change dA of a symmetric A: d(value) = u' dA u, and du = (value - A)^+ dA u, the inverse taken on
    what is orthogonal to u. (A + A') / 2 stands for A: gradients are symmetric.
    """
    U, plain = vectors.detach(), A.detach()
    change = (A + A.mT) / 2 - (plain + plain.mT) / 2
    moved = change @ U
    found = values + (U * moved).sum(0)
    columns = []
    for i in range(U.shape[1]):
        u = U[:, i:i + 1]
        shifted = _shift(plain, values[i], u)
        step = moved[:, i:i + 1]
        columns.append(u + _linalg("solve")(shifted, step - u @ (u.mT @ step)))
    return found, cat(columns, 1)


def _shift(A: Tensor, value: Tensor, u: Tensor) -> Tensor:
    """value - A, made invertible along its eigenvector u."""
    return (-A).diagonal_scatter(value - A.diagonal()) + u @ u.mT


@api("torch")
@by_example
def lobpcg(A: Tensor, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None,
           iK: Any = None,
           niter: int | None = None, tol: float | None = None, largest: bool | None = None,
           method: str | None = None, tracker: Any = None, ortho_iparams: Any = None,
           ortho_fparams: Any = None,           ortho_bparams: Any = None) -> tuple[Tensor, Tensor]:
    """The ``k`` largest (or smallest) eigenvalues of a symmetric A (*, M, M) and their vectors (*, M, k).

    Locally optimal block preconditioned conjugate gradients (Knyazev 2001), for A U = B U diag(E) where a
    positive definite ``B`` is given. It starts from ``X`` (M, n) or random numbers, needs M >= 3 n, and stops
    after ``niter`` steps or where residuals are below ``tol``. ``iK`` preconditions.

    >>> import flambeau as torch
    >>> torch.lobpcg(torch.diag(torch.arange(1., 13.)), k=2)[0].round(decimals=3)
    tensor([12., 11.])
    """
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if X is None else X.shape[-1]) if n is None else n
    if m < 3 * n:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller "
                         f"than 3 x the number of requested eigenpairs (={n})")
    if method not in (None, "ortho", "basic"):
        raise ValueError(f"unknown method: {method}")
    fine = {dtypes.float32: 1.2e-7, dtypes.float64: 2.23e-16}.get(A.dtype,
                                                                  1.2e-7) ** 0.5 if tol is None else tol
    settings = (-1 if niter is None else niter, fine, largest is None or largest, tracker)
    if A._sparse or A.ndim == 2:
        return _single(A, k, B, X, n, iK, *settings)
    flat = A.reshape(-1, m, m)
    pairs = [_single(flat[i], k, None if B is None else B.reshape(-1, m, m)[i],
                     None if X is None else X.reshape(-1, m, X.shape[-1])[i], n, iK, *settings)
             for i in range(flat.shape[0])]
    lead = A.shape[:-2]
    stack = NAMESPACES["torch"]["stack"]
    return (stack([e for e, _ in pairs]).reshape(*lead, k), stack([u for _, u in pairs]).reshape(*lead, m, k))
