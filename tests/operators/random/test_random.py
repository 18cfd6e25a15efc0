"""Random operators: what they refuse, and that draws go on afterwards."""

from __future__ import annotations

import pytest

import flambeau as torch


@pytest.mark.parametrize("tier", ["interpreter", "native"])
def test_chances_and_rates_are_checked_and_draws_go_on(tier: str) -> None:
    with torch.config.executor(tier):
        torch.manual_seed(0)
        want = [torch.rand(1).item(), torch.rand(1).item(), torch.bernoulli(torch.full((9,), 0.5)).tolist()]
        torch.manual_seed(0)
        found = [torch.rand(1).item()]
        for bad in ([0.5, 2.0], [0.5, float("nan")], [-0.1, 0.5]):
            with pytest.raises(RuntimeError, match="Expected p_in >= 0 && p_in <= 1 to be true"):
                torch.bernoulli(torch.tensor(bad)).tolist()
        with pytest.raises(RuntimeError, match="Expected p_in >= 0"):
            torch.ones(2).bernoulli_(torch.tensor([0.5, 1.5])).tolist()
        with pytest.raises(RuntimeError, match="invalid Poisson rate, expected rate to be non-negative"):
            torch.poisson(torch.tensor([-1.0])).tolist()
        with pytest.raises(RuntimeError, match=r"bernoulli_ expects p to be in \[0, 1\], but got p=1.5"):
            torch.bernoulli(torch.ones(1), p=1.5)
        found += [torch.rand(1).item(), torch.bernoulli(torch.full((9,), 0.5)).tolist()]
        assert found == want


def test_draws_do_not_follow_what_they_are_drawn_from() -> None:
    mean, std = torch.ones(3, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)
    for draw, name in ((lambda: torch.normal(mean, 1.0), "NormalBackward1"),
                       (lambda: torch.normal(0.0, std), "NormalBackward2"),
                       (lambda: torch.normal(mean, std), "NormalBackward3"),
                       (lambda: torch.poisson(mean * 1), "PoissonBackward0")):
        y = draw()
        assert type(y.grad_fn).__name__ == name
        y.square().sum().backward()
    assert mean.grad.tolist() == std.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("tier", ["interpreter", "native"])
def test_single_numbers_are_drawn_from_parameters_without_dimensions(tier: str) -> None:
    with torch.config.executor(tier):
        torch.manual_seed(0)
        shape = torch.tensor(3.0, requires_grad=True)
        drawn = torch._standard_gamma(shape)
        drawn.backward()
        assert drawn.shape == shape.grad.shape == ()
        for one in torch.poisson(shape), torch.binomial(torch.tensor(5.0), torch.tensor(0.5)):
            assert one.shape == () and one.item() >= 0
        assert torch.distributions.StudentT(shape.detach()).rsample().shape == ()
