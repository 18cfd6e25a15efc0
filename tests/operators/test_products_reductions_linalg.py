"""Products, reductions, order, linear algebra and transforms against facts recorded from PyTorch 2.13.

Each row is an expression and its value; where PyTorch is importable the expressions are computed there as
well.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import flambeau

VALUES: list[tuple[str, Any]] = [
    ("M @ M.T", [[6.5, -6.25], [-6.25, 16.25]]),
    ("torch.mm(M, M.T)", [[6.5, -6.25], [-6.25, 16.25]]),
    ("torch.matmul(B, M.T)", [[[-1.0, -14.5], [-1.0, -1.0]], [[-1.0, 12.5], [-1.0, 26.0]]]),
    ("torch.matmul(V, M.T)", [7.0, 0.5]),
    ("torch.matmul(B, V)", [[-6.0, 0.0], [6.0, 12.0]]),
    ("torch.bmm(B, B.transpose(1, 2))", [[[50.0, 14.0], [14.0, 5.0]], [[14.0, 32.0], [32.0, 77.0]]]),
    (
        "torch.nn.functional.linear(B, M, torch.tensor([1., 2.]))",
        [[[0.0, -12.5], [0.0, 1.0]], [[0.0, 14.5], [0.0, 28.0]]],
    ),
    ("torch.addmm(torch.ones(2), M, M.T, beta=2, alpha=0.5)", [[5.25, -1.125], [-1.125, 10.125]]),
    ("torch.einsum('bij,kj->bik', B, M)", [[[-1.0, -14.5], [-1.0, -1.0]], [[-1.0, 12.5], [-1.0, 26.0]]]),
    ("torch.einsum('ij,ij->', M, M)", 22.75),
    ("torch.einsum(M, [0, 1], M, [2, 1], [0, 2])", [[6.5, -6.25], [-6.25, 16.25]]),
    ("torch.einsum('...j,j', B, V)", [[-6.0, 0.0], [6.0, 12.0]]),
    ("torch.tensordot(B, M, dims=([2], [1]))", [[[-1.0, -14.5], [-1.0, -1.0]], [[-1.0, 12.5], [-1.0, 26.0]]]),
    ("torch.kron(M[:, :2], torch.tensor([1., -1.]))", [[1.5, -1.5, -2.0, 2.0], [-1.0, 1.0, 3.0, -3.0]]),
    ("torch.inner(M, M)", [[6.5, -6.25], [-6.25, 16.25]]),
    ("torch.addr(torch.zeros(2, 3), torch.tensor([1., 2.]), V)", [[1.0, -2.0, 3.0], [2.0, -4.0, 6.0]]),
    ("torch.sum(M, 0)", [0.5, 1.0, 3.0]),
    ("torch.sum(torch.tensor([True, True]))", 2),
    ("torch.mean(B, (0, 2))", [-1.0, 2.0]),
    ("torch.prod(M, 1)", [-1.5, -7.5]),
    ("torch.nansum(N)", 4.0),
    ("torch.nanmean(N)", 2.0),
    ("torch.amax(B, (0, 1))", [4.0, 5.0, 6.0]),
    ("torch.max(M, 1).indices", [0, 1]),
    ("torch.min(M, 0).values", [-1.0, -2.0, 0.5]),
    ("torch.argmax(N)", 1),
    ("torch.argmin(M, 1, keepdim=True)", [[1], [0]]),
    ("torch.all(M > -3, 1)", [True, True]),
    ("torch.count_nonzero(M, 0)", [2, 2, 2]),
    ("torch.logsumexp(M, 1)", [1.8351, 3.48541]),
    ("torch.norm(M, p=1, dim=1)", [4.0, 6.5]),
    ("torch.linalg.vector_norm(M, 3)", 3.80583),
    ("torch.linalg.matrix_norm(M, 'nuc')", 6.25037),
    ("torch.var(M, 1)", [3.25, 4.75]),
    ("torch.std(M, correction=0)", 1.79699),
    ("torch.var_mean(M, 0)[1]", [0.25, 0.5, 1.5]),
    ("torch.cov(M)", [[3.25, -3.125], [-3.125, 4.75]]),
    ("torch.corrcoef(M)", [[1.0, -0.795356], [-0.795356, 1.0]]),
    ("torch.median(M, 1).values", [0.5, 2.5]),
    ("torch.nanmedian(N)", 1.0),
    ("torch.mode(torch.tensor([2, 1, 2, 1, 3])).indices", 3),
    ("torch.quantile(M, torch.tensor([0.25, 0.6]), 1)", [[-0.75, 0.75], [0.7, 2.6]]),
    ("torch.histc(M, 4, -2, 2)", [1.0, 1.0, 1.0, 1.0]),
    ("torch.bincount(torch.tensor([1, 3, 1]))", [0, 2, 0, 1]),
    ("torch.cumsum(M, 1)", [[1.5, -0.5, 0.0], [-1.0, 2.0, 4.5]]),
    ("torch.cumprod(M, 1)", [[1.5, -3.0, -1.5], [-1.0, -3.0, -7.5]]),
    ("torch.cummax(torch.tensor([1, 3, 3, 2]), 0).indices", [0, 1, 2, 2]),
    ("torch.logcumsumexp(M, 1)", [[1.5, 1.52975, 1.8351], [-1.0, 3.01815, 3.48541]]),
    ("torch.diff(M)", [[-3.5, 2.5], [4.0, -0.5]]),
    ("torch.trapezoid(M)", [-1.0, 3.75]),
    ("torch.sort(M, 1, descending=True).indices", [[0, 2, 1], [1, 2, 0]]),
    ("torch.topk(M, 2).values", [[1.5, 0.5], [3.0, 2.5]]),
    ("torch.kthvalue(M, 2).values", [0.5, 2.5]),
    ("torch.unique(torch.tensor([3, 1, 3]))", [1, 3]),
    ("torch.searchsorted(torch.tensor([1., 3., 5.]), M)", [[1, 0, 0], [0, 1, 1]]),
    ("torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2]))", [False, True, False]),
    (
        "torch.linalg.inv(S)",
        [
            [0.277778, -0.111111, -0.0555556],
            [-0.111111, 0.444444, 0.222222],
            [-0.0555556, 0.222222, 0.611111],
        ],
    ),
    ("torch.linalg.solve(S, V)", [0.333333, -0.333333, 1.33333]),
    ("torch.linalg.det(S)", 18.0),
    ("torch.linalg.slogdet(S).logabsdet", 2.89037),
    ("torch.linalg.cholesky(S)", [[2.0, 0.0, 0.0], [0.5, 1.65831, 0.0], [0.0, -0.603023, 1.2792]]),
    ("torch.linalg.svdvals(M)", [4.39334, 1.85704]),
    ("torch.linalg.eigvalsh(S)", [1.26795, 3.0, 4.73205]),
    ("torch.linalg.pinv(M)", [[0.2723, 0.0431924], [-0.206573, 0.105164], [0.356808, 0.29108]]),
    ("torch.linalg.pinv(torch.tensor([[[0., 5.], [2., 0.]]]), rtol=torch.tensor([1e-6]), hermitian=True)",
     [[[0.0, 0.5], [0.5, 0.0]]]),
    ("torch.linalg.matrix_power(S, 3)", [[75.0, 39.0, -9.0], [39.0, 45.0, -21.0], [-9.0, -21.0, 15.0]]),
    (
        "torch.linalg.matrix_exp(S)",
        [[77.4693, 44.5654, -12.8184], [44.5654, 45.7224, -18.9285], [-12.8184, -18.9285, 13.9755]],
    ),
    ("torch.linalg.lu_factor(S).pivots", [1, 2, 3]),
    ("torch.linalg.lstsq(M.T, V).solution", [1.75587, 0.706103]),
    # A matrix of rank 1 has no residuals, except for gels; the rank is that of the tensor's own precision.
    ("torch.linalg.lstsq(M.T[:, :1] * V[:2], V, driver='gelsd').residuals", []),
    ("torch.linalg.lstsq(torch.stack([M.T, M.T * 0]), V.expand(2, 3), driver='gelss').residuals", []),
    ("torch.linalg.lstsq(torch.tensor([[1., 1.], [1., 1.0000001], [1., 1.]]), V, driver='gelsd').rank", 1),
    ("torch.linalg.cross(V, V + torch.tensor([1., 0., 2.]))", [-4.0, 1.0, 2.0]),
    ("torch.fft.fft(V).abs()", [2.0, 4.3589, 4.3589]),
    ("torch.fft.irfft(torch.fft.rfft(M), 3)", [[1.5, -2.0, 0.5], [-1.0, 3.0, 2.5]]),
]

ERRORS: list[tuple[str, str, str]] = [
    ("torch.mm(M, M)", "RuntimeError", "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    ("torch.mm(V, M)", "RuntimeError", "self must be a matrix"),
    (
        "torch.bmm(B, B)",
        "RuntimeError",
        "Expected size for first two dimensions of batch2 tensor to be: [2, 3] but got: [2, 2].",
    ),
    ("torch.matmul(V, M)", "RuntimeError", "mat1 and mat2 shapes cannot be multiplied (1x3 and 2x3)"),
    (
        "torch.mm(M, M.T.double())",
        "RuntimeError",
        "expected m1 and m2 to have the same dtype, but got: float != double",
    ),
    (
        "torch.addmm(torch.ones(5), M, M.T)",
        "RuntimeError",
        "The expanded size of the tensor (2) must match the existing size (5) at non-singleton "
        "dimension 1.  Target sizes: [2, 2].  Tensor sizes: [5]",
    ),
    (
        "torch.dot(V, V[:2])",
        "RuntimeError",
        "inconsistent tensor size, expected tensor [3] and src [2] to have the same number of elements, "
        "but got 3 and 2 elements respectively",
    ),
    (
        "torch.einsum('ij,kj->ik', M, M[:, :2])",
        "RuntimeError",
        "einsum(): subscript j has size 2 for operand 1 which does not broadcast with previously seen size 3",
    ),
    (
        "torch.mean(torch.tensor([1, 2]))",
        "RuntimeError",
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
        "dtype. Got: Long",
    ),
    (
        "torch.max(torch.empty(0))",
        "RuntimeError",
        "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
        "dim with the 'dim' argument.",
    ),
    (
        "torch.argmax(torch.empty(2, 0), 1)",
        "IndexError",
        "argmax(): Expected reduction dim 1 to have non-zero size.",
    ),
    ("torch.sum(M, (0, 0))", "RuntimeError", "dim 0 appears multiple times in the list of dims"),
    (
        "torch.var(torch.tensor([1, 2]))",
        "RuntimeError",
        "std and var only support floating point and complex dtypes",
    ),
    ("torch.topk(M, 4)", "RuntimeError", "selected index k out of range"),
    ("torch.kthvalue(M, 9)", "RuntimeError", "kthvalue(): selected number k out of range for dimension 1"),
    ("torch.quantile(M, 1.5)", "RuntimeError", "quantile() q must be in the range [0, 1] but got 1.5"),
    (
        "torch.linalg.inv(torch.zeros(2, 2))",
        "_LinAlgError",
        "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed because the "
        "input matrix is singular.",
    ),
    (
        "torch.linalg.inv(M)",
        "RuntimeError",
        "linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices",
    ),
    (
        "torch.linalg.cholesky(-S)",
        "_LinAlgError",
        "linalg.cholesky: The factorization could not be completed because the input is not "
        "positive-definite (the leading minor of order 1 is not positive-definite).",
    ),
    (
        "torch.linalg.solve(S, M)",
        "RuntimeError",
        "linalg.solve: Incompatible shapes of A and B for the equation AX = B (3x3 and 2x3)",
    ),
    ("torch.fft.fft(V, 0)", "RuntimeError", "Invalid number of data points (0) specified"),
]

GRADIENTS = [
    "torch.matmul(B, M.T)",
    "torch.nn.functional.linear(M, M)",
    "torch.einsum('bij,kj->bik', B, M)",
    "torch.addbmm(M[:, :2], B, B.transpose(1, 2))",
    "torch.prod(M * torch.tensor([0., 1., 1.]), 1)",
    "torch.var(M, 1)",
    "torch.std(M, 0)",
    "torch.logsumexp(M, 1)",
    "torch.cumprod(M * torch.tensor([1., 0., 1.]), 1)",
    "torch.logcumsumexp(M, 1)",
    "torch.sort(M, 1)[0]",
    "torch.topk(M, 2)[0]",
    "torch.quantile(M, 0.3, 1)",
    "torch.linalg.vector_norm(M, 3, 1)",
    "torch.linalg.inv(S + M.T @ M)",
    "torch.linalg.cholesky(S + M.T @ M)",
    "torch.linalg.svdvals(M)",
    "torch.linalg.slogdet(S + M.T @ M)[1]",
    "torch.linalg.matrix_exp(M.T @ M * 0.1)",
    "torch.linalg.pinv(M)",
    "torch.fft.rfft(M).abs()",
]


def _names(torch: Any) -> dict[str, Any]:
    return {
        "torch": torch,
        "M": torch.tensor([[1.5, -2.0, 0.5], [-1.0, 3.0, 2.5]]),
        "V": torch.tensor([1.0, -2.0, 3.0]),
        "B": torch.arange(12.0).reshape(2, 2, 3) - 5,
        "N": torch.tensor([1.0, float("nan"), 3.0]),
        "S": torch.tensor([[4.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 2.0]]),
    }


@pytest.mark.parametrize(("expression", "expected"), VALUES, ids=[e for e, _ in VALUES])
def test_values(expression: str, expected: Any) -> None:
    """The recorded value, shape included."""
    found = eval(expression, _names(flambeau)).tolist()
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("expression", "kind", "message"), ERRORS, ids=[e for e, _, _ in ERRORS])
def test_errors(expression: str, kind: str, message: str) -> None:
    """The recorded exception and its words."""
    with pytest.raises(Exception) as caught:
        eval(expression, _names(flambeau))
    assert (type(caught.value).__name__, str(caught.value)) == (kind, message)


def _gradient(torch: Any, expression: str) -> Any:
    names = _names(torch)
    names["M"] = names["M"].requires_grad_()
    result = eval(expression, names)
    (result * result).sum().backward()
    return np.array(names["M"].grad.tolist())


@pytest.mark.parametrize("expression", GRADIENTS)
def test_gradients(expression: str) -> None:
    """The gradient of the sum of squares: against PyTorch's, or against finite differences without it."""
    found = _gradient(flambeau, expression)
    if importlib.util.find_spec("torch") is not None:
        expected = _gradient(importlib.import_module("torch"), expression)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
        return
    np.testing.assert_allclose(found, _difference(expression), rtol=1e-3, atol=1e-3)


def _difference(expression: str) -> Any:
    """Central differences in double precision."""
    flambeau.set_default_dtype(flambeau.float64)
    try:
        names = _names(flambeau)
        base = np.array(names["M"].tolist())
        slopes = np.zeros_like(base)
        for position in np.ndindex(*base.shape):
            for sign in (1, -1):
                moved = base.copy()
                moved[position] += sign * 1e-5
                result = eval(expression, {**names, "M": flambeau.tensor(moved.tolist())})
                slopes[position] += sign * float((result * result).sum()) / 2e-5
        return slopes
    finally:
        flambeau.set_default_dtype(flambeau.float32)


def test_sums_down_the_rows_are_accurate() -> None:
    """Many terms of single precision: the error does not grow with their number."""
    x = flambeau.full((1 << 18, 3), 0.1)
    exact = float(np.float32(0.1)) * (1 << 18)
    np.testing.assert_allclose(x.sum(0).tolist(), exact, rtol=1e-6)
    np.testing.assert_allclose(x.mean(0).tolist(), float(np.float32(0.1)), rtol=1e-6)


def test_results_are_named_tuples() -> None:
    """What functions with several results return prints as PyTorch's does."""
    found = flambeau.max(flambeau.tensor([[1, 5], [3, 2]]), 1)
    assert repr(found) == "torch.return_types.max(\nvalues=tensor([5, 3]),\nindices=tensor([1, 0]))"
    values, indices = found
    assert values is found.values and indices is found[1]


def test_matrices_that_only_one_elimination_finds_singular() -> None:
    """Two rows alike, whose difference rounding decides: reported as singular by itself and in a batch."""
    row = [-0.07664429396390915, 0.35988152027130127, -0.7820168137550354, 0.07152773439884186]
    alike = flambeau.tensor([
        [0.4046071469783783, 0.6112996339797974, 0.7603904008865356, -0.03364326059818268], row, row,
        [0.6648393869400024, -0.28678029775619507, 1.6205507516860962, -1.596708059310913]])
    assert flambeau.linalg.inv_ex(alike).info.tolist() == 4
    inverses, info = flambeau.linalg.inv_ex(flambeau.stack([flambeau.eye(4), alike, flambeau.ones(4, 4)]))
    assert info.tolist() == [0, 4, 2] and inverses[0].equal(flambeau.eye(4))
    alike.requires_grad_()
    flambeau.det(alike).backward()
    assert alike.grad.isfinite().all()


def test_gradients_of_products_of_short_types() -> None:
    """They are those of single precision, rounded once."""
    flambeau.manual_seed(0)
    x = (flambeau.randn(3, 40) * 0.2 + 1).bfloat16().requires_grad_()
    wide = x.detach().float().requires_grad_()
    for function in (lambda x: x.prod(1).sum(), lambda x: x.cumprod(1).float().sum()):
        function(x).backward()
        function(wide).backward()
        np.testing.assert_allclose(x.grad.float().numpy(), wide.grad.numpy(), 8e-3)
        x.grad = wide.grad = None
