"""Gradients through views that were written: a view's history is made anew when it is next used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return 2 * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return 2 * grad


class DoubledInPlace(Doubled):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)


def written(base: Any) -> Any:
    row = base[0]
    row.mul_(3)
    return row


# What is done with a base that is twice the leaf, and the leaf's gradient: of the first row, of the others.
PROGRAMS: dict[str, tuple[Callable[[Any], Any], tuple[float, float]]] = {
    "a sum": (lambda base: written(base).sum(), (6, 0)),
    "a product with a number": (lambda base: (written(base) * 2).sum(), (12, 0)),
    "a product": (lambda base: (written(base) * torch.full((3,), 2.0)).sum(), (12, 0)),
    "a view": (lambda base: written(base).expand(3, 3).sum(), (18, 0)),
    "parts": (lambda base: torch.cat(written(base).chunk(3)).sum(), (6, 0)),
    "two uses": (lambda base: (lambda row: row.sum() + (row * 2).sum())(written(base)), (18, 0)),
    "written twice": (lambda base: base[0].add_(1).mul_(3).sum(), (6, 0)),
    "the base as well": (lambda base: base[0].mul_(3).sum() + base.sum(), (12, 2)),
    "written elsewhere": (lambda base: torch.zeros(2, 3)[0].copy_(written(base)).sum(), (6, 0)),
    "a function": (lambda base: Doubled.apply(written(base)).sum(), (12, 0)),
    "a function that writes": (lambda base: DoubledInPlace.apply(written(base)).sum(), (12, 0)),
    "the base of what a function writes":
        (lambda base: (DoubledInPlace.apply(base[0]), base.sum())[1], (4, 2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_reach_what_the_base_was_made_of(name: str) -> None:
    program, (first, others) = PROGRAMS[name]
    x = torch.ones(3, 3, requires_grad=True)
    want = [[first] * 3, [others] * 3, [others] * 3]
    found, = torch.autograd.grad(program(x * 2), x)
    assert found.tolist() == want
    program(x * 2).backward()
    assert x.grad.tolist() == want


def test_a_function_may_write_to_a_view_of_what_wants_no_gradient() -> None:
    class Copied(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.mark_dirty(x)
            return x.copy_(y)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None, 5 * grad

    base, y = torch.zeros(2, 3), torch.ones(3, requires_grad=True)
    row = base[1]
    assert Copied.apply(row, y) is row and row.requires_grad and type(base.grad_fn).__name__ == "CopySlices"
    assert torch.autograd.grad(base.sum(), y)[0].tolist() == [5, 5, 5]
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used"):
        DoubledInPlace.apply(torch.ones(2, 3, requires_grad=True)[0])


def test_gradients_have_the_shape_of_their_leaf() -> None:
    """Also where a result got a dimension without history: PyTorch sums over it."""
    x = torch.tensor(0.7, requires_grad=True)
    first, second = x.abs(), x.abs()
    with torch.no_grad():
        second.unsqueeze_(0)
    (second.sum() + first * 2).backward()
    assert x.grad is not None and x.grad.shape == () and x.grad.item() == 3


def test_a_leaf_that_got_a_dimension_since_keeps_the_gradient_it_had() -> None:
    x = torch.tensor(0.7, requires_grad=True)
    y = x * 2
    with torch.no_grad():
        x.unsqueeze_(0)
    y.backward()
    assert x.grad is not None and x.grad.shape == () and x.grad.item() == 2


def unrecorded(x: Any) -> Any:
    with torch.no_grad():
        return x.view(-1)


def test_a_view_that_was_made_unrecorded_leads_nowhere() -> None:
    x = torch.ones(3, requires_grad=True)
    row = unrecorded(x)
    assert row.requires_grad
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        row.backward(torch.ones(3))
    assert (row * 2).requires_grad and row.atan2(row).requires_grad
    y = x * 2
    product = row * y
    y.mul_(2)       # which is kept for the derivative by the row only
    product.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2, 2]
    again = unrecorded(x.detach().requires_grad_())
    again.retain_grad()     # of a leaf


def test_a_view_of_a_base_that_was_written_and_detached_leads_nowhere() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    row = y.view(1, 3)
    y.mul_(3)
    y.detach_()
    (row.sum() + x.sum()).backward()
    assert row.requires_grad and x.grad is not None and x.grad.tolist() == [1, 1, 1]
    y = x * 2
    first, _ = y.split(2)
    y.mul_(3)
    y.detach_()
    with pytest.raises(RuntimeError, match="Output 0 of Split is a view and its base or another"):
        first.sum().backward()


def test_as_strided_reads_the_base_whatever_it_is_a_view_of() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    y = x.diagonal(1).as_strided((2, 2), (2, 1), 1)
    with torch.no_grad():
        x.mul_(2)
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0, 1, 1], [1, 1, 0]]


def test_gradients_of_different_shapes_are_not_added() -> None:
    x = torch.ones(2, requires_grad=True)
    before = x * 2
    with torch.no_grad():
        x.unsqueeze_(1)
    with pytest.raises(RuntimeError, match="invalid gradient at index 0"):
        (before.sum() + x.sum()).backward()
    x.grad = None
    x.sum().backward()
    with torch.no_grad():
        x.unsqueeze_(0)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.sum().backward()


def test_what_got_dimensions_unrecorded_shows_what_computed_it() -> None:
    y = torch.ones(2, requires_grad=True) * 2
    with torch.no_grad():
        y.unsqueeze_(0)
    assert repr(y) == "tensor([[2., 2.]], grad_fn=<MulBackward0>)" and y.grad_fn.name() == "MulBackward0"


def test_the_product_is_kept_for_its_gradient() -> None:
    """PyTorch divides the product by each element, where none is 0."""
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    y = x.prod()
    x.data.mul_(2)
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [4, 2, 1]


def test_what_a_function_returns_as_it_is_may_be_viewed() -> None:
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = torch.ones(2, 2, requires_grad=True)
    Same.apply(x).view(-1)[1:].sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0, 2], [2, 2]]
    flat = torch.nn.Flatten()
    flat.register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 3,))
    assert torch.autograd.grad(flat(x * 1).sum(), x)[0].tolist() == [[3, 3], [3, 3]]
