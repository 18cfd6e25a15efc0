"""Strides of results that PyTorch does not lay out row by row."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from types import ModuleType
from typing import Any

import pytest

import flambeau as torch


def matrix(*batch: int) -> Any:
    torch.manual_seed(0)
    x = torch.randn(*batch, 3, 3)
    return x @ x.mT + torch.eye(3)


BY_COLUMNS: list[Callable[[Any], Any]] = [
    torch.linalg.inv, torch.linalg.cholesky, lambda A: torch.linalg.cholesky(A, upper=True),
    lambda A: torch.linalg.lu_factor(A).LU, lambda A: torch.linalg.qr(A).Q, lambda A: torch.linalg.qr(A).R,
    lambda A: torch.linalg.svd(A).U, lambda A: torch.linalg.svd(A).Vh,
    lambda A: torch.linalg.eigh(A).eigenvectors, lambda A: torch.linalg.eig(A).eigenvectors,
    lambda A: torch.linalg.solve(A, A), lambda A: torch.linalg.solve_triangular(A, A, upper=True),
    lambda A: torch.geqrf(A).a, lambda A: torch.cholesky_inverse(A), lambda A: torch.linalg.ldl_factor(A).LD,
    lambda A: torch.linalg.lstsq(A, A).solution,
]


@pytest.mark.parametrize("number", range(len(BY_COLUMNS)))
def test_matrices_lie_as_lapack_leaves_them(number: int) -> None:
    assert BY_COLUMNS[number](matrix()).stride() == (1, 3)
    assert BY_COLUMNS[number](matrix(2)).stride() == (9, 1, 3)


def test_transformed_dimensions_come_last_in_memory() -> None:
    x = torch.randn(5, 6, 7)
    assert torch.fft.fft(x).stride() == (42, 7, 1)
    assert torch.fft.fft(x, dim=0).stride() == (1, 35, 5)
    assert torch.fft.fft2(x, dim=(0, 2)).stride() == (7, 35, 1)
    assert torch.fft.rfft(x, dim=1).stride() == (28, 1, 4)
    assert torch.allclose(torch.fft.ifft(torch.fft.fft(x, dim=1), dim=1).real, x, atol=1e-5)


def test_positions_lie_dimension_by_dimension() -> None:
    found = torch.nonzero(torch.tensor([[0, 1], [2, 3]]))
    assert found.tolist() == [[0, 1], [1, 0], [1, 1]] and found.stride() == (1, 3)
    assert torch.argwhere(torch.tensor(3)).shape == (1, 0)


INDEXED = [
    "x[i]", "x[:, i]", "x[..., i]", "x[..., i, None]", "x[i, :, i]", "x[:, i, i]", "x[:, j]", "x[:, j.t()]",
    "x[0:1, i]", "x[i, 0:1]", "x[:, 0:1, i]", "x[i[:0]]", "x[i, 0:0]", "x[x[:, 0, 0, 0] > -1]",
    "x[x[:, :, 0, 0] > -1]", "x[[0, 1]]", "x.transpose(0, 1)[:0] + x[0, 0, 0, 0]", "x[:, :0].roll(1, 0)",
    "base[:, :1].clone().unfold(1, 1, 1).view(-1, 1, 1)", "base[:1].transpose(0, 1).view(-1, 1)",
    "base[:1, 0].transpose(0, 1).reshape(4, 1, 5)", "base.as_strided((2, 1, 3), (3, 7, 1)).view(2, 1, 3)",
]


@pytest.mark.oracle
@pytest.mark.parametrize("expression", INDEXED)
def test_what_is_indexed_lies_as_its_operand(torch: ModuleType, oracle: ModuleType, expression: str) -> None:
    def run(framework: ModuleType) -> Any:
        base = framework.arange(120.0).reshape(2, 3, 4, 5)
        names = {"i": framework.tensor([0, 1]), "j": framework.tensor([[0, 1], [1, 0], [0, 0]]), "base": base}
        found = [eval(expression, {**names, "x": base.permute(order)}) for order in permutations(range(4))]
        return [(y.stride(), y.tolist()) for y in found]

    assert run(torch) == run(oracle)


# A function of a tensor that is given by shape, strides and dtype, and the strides of its result.
ELEMENTWISE: dict[str, tuple[Callable[[Any], Any], Any, Any, str, Any]] = {
    "channels last": (lambda x: -x, (1, 3, 1, 2), (3, 1, 1, 3), "float32", (6, 1, 6, 3)),
    "numbers that are parameters": (torch.nn.functional.leaky_relu, (3, 1), (1, 8), "float32", (1, 1)),
    "as the input": (torch.nn.functional.hardtanh, (3, 1), (1, 8), "float32", (1, 8)),
    "as the input, too": (torch.nan_to_num, (3, 1), (1, 8), "float32", (1, 8)),
    "numbers that are tensors": (lambda x: torch.where(x > 0, x, 0), (3, 1), (1, 3), "float32", (1, 3)),
    "converted": (lambda x: x / 2, (3, 1), (1, 3), "int64", (1, 3)),
    "a number to a power": (lambda x: 2 ** x, (3, 1), (1, 3), "float32", (1, 1)),
    "converted without gaps": (lambda x: x + torch.ones(1, 2).double(), (1, 2), (1, 4), "float32", (2, 1)),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_extents_of_one_lie_as_pytorch_has_them(name: str) -> None:
    function, shape, strides, dtype, want = ELEMENTWISE[name]
    x = torch.ones(64, dtype=getattr(torch, dtype)).as_strided(shape, strides)
    assert function(x).stride() == want


FILLED = ["e.masked_fill_(m, 9)", "e.masked_fill_(m[0], 9)", "e.masked_fill_(m[..., :2], 9)",
          "e.masked_fill_(m[:, None], 9)", "x.requires_grad_().masked_fill_(m[0, :, :2], 9)",
          "x.masked_fill_(m[0], torch.tensor(2 + 0j))", "x.masked_fill_(m[0], torch.tensor(1j))",
          "x.copy_(m[0].masked_fill(~m[0], 1j))", "x.copy_(m[0].masked_fill(~m[0], torch.tensor(1j)))",
          "e.index_fill_(0, i, 9)", "e.index_fill_(1, i, 9)", "e.index_fill_(2, i, 9)", "e[m] = 9.0",
          "x[:0].index_fill_(0, i, 9)",
          "x[:0].t().index_fill_(0, i, 9)", "x[:0].clone().index_fill_(0, i, 9)", "x[:0].index_select(0, i)",
          "x[:, :0].index_select(0, torch.tensor([3]))", "torch.lerp(i, m.long()[:0], 0.5)",
          "torch.addcmul(m, m[:0], m[0, 0, :2])", "x.long()[:0].softmax(0)", "x.softmax(0)",
          "x[:0, :0].index_fill_(0, i, 9)", "x[0, 0:1] = x[0, 0]",
          "torch.cat([x[0, :0], x[0, 0]])", "m[0] @ m.double().mT", "m[0] @ m.mT"]


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:Use of")
@pytest.mark.parametrize("statement", FILLED)
def test_expanded_and_empty_tensors_are_filled(torch: ModuleType, oracle: ModuleType, statement: str) -> None:
    def run(framework: ModuleType) -> Any:
        x = framework.arange(6.0).reshape(2, 3)
        mask = framework.tensor([[[True, False, False], [False] * 3], [[False] * 3, [False, True, False]]])
        names = {"x": x, "e": x.expand(2, 2, 3), "m": mask, "i": framework.tensor([1]), "torch": framework}
        try:
            exec(statement, names)
        except Exception as error:
            return type(error), str(error)
        return x.tolist(), x._version

    assert run(torch) == run(oracle)
