"""Points of an identity lie on elements: the last bit tells their cells, hence the gradient by the points."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import flambeau

pytestmark = pytest.mark.oracle


def _sampled(torch: Any, dims: int, n: int, dtype: str, align_corners: bool, once: bool) -> tuple[Any, Any]:
    functional, kind = torch.nn.functional, getattr(torch, dtype)
    size = (1, 1, *[2] * (dims - 1), n)
    theta = torch.eye(dims, dims + 1, dtype=kind)[None]
    grid = functional.affine_grid(theta, size, align_corners=align_corners)
    grid.requires_grad_()
    image = (torch.arange(1, n + 1, dtype=kind) ** 2).expand(size)
    found = functional.grid_sample(image, grid, align_corners=align_corners)
    if once:
        found.sum().backward()
        return grid.detach().numpy(), grid.grad.numpy()
    made, = torch.autograd.grad(found.sum(), grid, create_graph=True)
    return grid.detach().numpy(), made.detach().numpy()


def _compare(ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> None:
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6, atol=1e-6 * np.abs(theirs[1]).max())


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dims", [2, 3])
def test_points_belong_to_the_cells_of_pytorch(dims: int, dtype: str, align_corners: bool,
                                               oracle: ModuleType) -> None:
    for n in (2, 7, 12, 28, 29, 33, 64):
        _compare(*[_sampled(t, dims, n, dtype, align_corners, True) for t in (flambeau, oracle)])


def test_gradients_to_be_differentiated_are_of_the_same_cells(oracle: ModuleType) -> None:
    _compare(*[_sampled(t, 2, 28, "float32", False, False) for t in (flambeau, oracle)])
