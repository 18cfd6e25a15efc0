"""Densities of multivariate normals whose covariances vectors share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau.distributions import MultivariateNormal, multivariate_normal

# Extents of the covariances, and of the vectors.
BATCHES = [((), (5,)), ((4,), (5, 4)), ((4,), (5, 1)), ((4, 1), (4, 5)), ((2, 1, 3), (6, 2, 4, 3)),
           ((3,), ()), ((1,), (4,)), ((2, 3), (3,)), ((), ()), ((2, 1), (7, 2, 1)), ((1, 3), (5, 3)),
           ((), (0,)), ((2,), (0, 2))]


@pytest.mark.parametrize(("matrices", "vectors"), BATCHES, ids=str)
def test_densities_and_gradients(matrices: tuple[int, ...], vectors: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    factor = torch.randn(*matrices, 3, 3, dtype=torch.double)
    covariance = (factor @ factor.mT + torch.eye(3)).requires_grad_()
    x = torch.randn(*vectors, 3, dtype=torch.double, requires_grad=True)
    found = MultivariateNormal(torch.zeros(3, dtype=torch.double), covariance).log_prob(x)
    whitened = torch.linalg.solve(covariance, x.unsqueeze(-1))
    wanted = -0.5 * ((whitened.squeeze(-1) * x).sum(-1) + torch.logdet(2 * torch.pi * covariance))
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-10)
    for one, other in zip(torch.autograd.grad(found.pow(2).sum(), (x, covariance)),
                          torch.autograd.grad(wanted.pow(2).sum(), (x, covariance))):
        one, other = ((g + g.mT if g.ndim > len(vectors) + 1 else g) for g in (one, other))
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-8, atol=1e-10)


def test_matrices_are_not_repeated_for_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[Any] = []
    real = multivariate_normal.linalg.solve_triangular

    def solve(a: Any, b: Any, **kwargs: Any) -> Any:
        solved.append((tuple(a.shape), tuple(b.shape)))
        return real(a, b, **kwargs)
    monkeypatch.setattr(multivariate_normal.linalg, "solve_triangular", solve)
    MultivariateNormal(torch.zeros(3), torch.eye(3)).log_prob(torch.ones(50, 3))
    MultivariateNormal(torch.zeros(4, 3), torch.eye(3).expand(4, 3, 3)).log_prob(torch.ones(50, 1, 3))
    assert solved == [((3, 3), (3, 50)), ((4, 3, 3), (4, 3, 50))]
