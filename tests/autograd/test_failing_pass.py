"""A backward pass that an error ends: leaves that nothing else would have reached have their gradients."""

import pytest

import flambeau as torch


def _fails(gradient: torch.Tensor) -> None:
    raise ValueError("no gradient")


@pytest.mark.parametrize("times", [1, 12])
def test_complete_leaves_have_their_gradients(times: int) -> None:
    for _ in range(times):      # the last ones by templates
        a, b, c = (torch.full((2,), k, requires_grad=True) for k in (1.0, 2.0, 3.0))
        product = a * b
        total = (product * c).sum()
        with torch.no_grad():
            b.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            total.backward()
        assert a.grad is None
        assert b.grad is None
        assert c.grad.tolist() == [2.0, 2.0]


def test_a_leaf_that_waits_for_more_has_none() -> None:
    a, c = (torch.ones(2, requires_grad=True) for _ in range(2))
    middle = (a * c).exp()
    middle.register_hook(_fails)
    with pytest.raises(ValueError, match="no gradient"):
        (middle * c).sum().backward()
    assert a.grad is None
    assert c.grad is None


def test_gradients_come_to_what_was_there() -> None:
    a, c = (torch.ones(2, requires_grad=True) for _ in range(2))
    for times in (1, 2):
        middle = a.exp()
        middle.register_hook(_fails)
        with pytest.raises(ValueError, match="no gradient"):
            (middle * c).sum().backward()
        assert a.grad is None
        assert torch.allclose(c.grad, times * middle)


def test_only_leaves_say_that_they_require_gradients() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match=r"^you can only change requires_grad flags of leaf variables\.$"):
        y.requires_grad = True
    assert y.requires_grad_() is y
    x.requires_grad = True
