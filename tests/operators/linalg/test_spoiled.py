"""Matrices with NaN: what comes of them is NaN, or PyTorch's error."""

from __future__ import annotations

from types import ModuleType

import pytest

pytestmark = pytest.mark.oracle

FUNCTIONS = ("linalg.det(A)", "linalg.slogdet(A)[1]", "logdet(A)", "linalg.inv(A)", "linalg.inv_ex(A)[1]",
             "linalg.solve(A, torch.ones(A.shape[-1]))", "linalg.svdvals(A)", "linalg.svd(A)[1]",
             "linalg.pinv(A)", "linalg.matrix_rank(A)", "linalg.cond(A)")


def _spoiled(torch: ModuleType, kind: str) -> list[str]:
    A = torch.eye(3)
    A[0, 1] = A[1, 0] = 1
    A[0, 0] = float("nan")
    return torch.stack([torch.eye(3), A]) if kind == "batch" else A


def _shown(torch: ModuleType, function: str, kind: str) -> str:
    try:
        return str(eval(f"torch.{function}", {"torch": torch, "A": _spoiled(torch, kind)}).tolist())
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("kind", ["alone", "batch"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_are_pytorchs(torch: ModuleType, oracle: ModuleType, function: str, kind: str) -> None:
    assert _shown(torch, function, kind) == _shown(oracle, function, kind)


def test_singular_matrices_are_so_still(torch: ModuleType, oracle: ModuleType) -> None:
    for library in (torch, oracle):
        A = library.stack([library.zeros(2, 2), library.eye(2)])
        assert library.linalg.det(A).tolist() == [0, 1]
        assert library.linalg.slogdet(A)[1].tolist() == [-float("inf"), 0]
        with pytest.raises(RuntimeError, match="singular"):
            library.linalg.inv(A)
