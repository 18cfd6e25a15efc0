"""Means of what is scattered: by an index that was expanded, and by one that was not."""

from __future__ import annotations

import pytest

import flambeau as torch


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("width", [6, 4])
def test_an_expanded_index_gives_the_same_means(include_self: bool, width: int) -> None:
    torch.manual_seed(0)
    rows = torch.randint(0, 5, (1000,))[:, None].expand(-1, width)
    found = []
    for index in (rows, rows.clone()):
        x, y = torch.arange(30.0).reshape(5, 6).requires_grad_(), torch.ones(1000, 6).requires_grad_()
        means = x.scatter_reduce(0, index, y, "mean", include_self=include_self)
        assert means.grad_fn is not None and means.grad_fn.name() == "ScatterReduceBackward0"
        found.append((means.detach(), *torch.autograd.grad(means.square().sum(), (x, y))))
    for expanded, plain in zip(*found, strict=True):
        assert torch.equal(expanded, plain)


def test_means_leave_out_what_nothing_is_added_to() -> None:
    x = torch.tensor([8.0, 8.0, 8.0])
    for times in (1, 999):      # as one operator, and as several
        index, y = torch.tensor([0, 0, 2]).repeat(times), torch.tensor([1.0, 3.0, 4.0]).repeat(times)
        found = x.scatter_reduce(0, index, y, "mean", include_self=False)
        assert found.tolist() == [2.0, 8.0, 4.0]
        found = x.scatter_reduce(0, index, y, "mean")
        assert torch.allclose(found, torch.tensor([(8 + 4 * times) / (1 + 2 * times), 8.0,
                                                   (8 + 4 * times) / (1 + times)]))
