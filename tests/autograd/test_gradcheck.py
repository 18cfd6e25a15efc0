"""``gradcheck`` finds wrong derivatives, each kind of them, and takes right ones for right."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch
from flambeau import config
from flambeau.autograd import Function, gradcheck, gradgradcheck
from flambeau.autograd.gradcheck import GradcheckError

X = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
Z = torch.tensor([1 + 2j, 2 - 1j], dtype=torch.complex128, requires_grad=True)


def function(of: Any, backward: Any, jvp: Any = None) -> Any:
    """A function whose derivatives are what one says."""
    class Made(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return of(x)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

    Made.backward = staticmethod(lambda ctx, grad: backward(grad))
    Made.jvp = staticmethod(lambda ctx, tangent: jvp(tangent))
    return Made.apply


EVERYTHING = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}


@pytest.mark.parametrize("options", [{}, EVERYTHING, {"fast_mode": True, "check_forward_ad": True},
                                     {"check_backward_ad": False, "check_forward_ad": True}], ids=str)
@pytest.mark.parametrize(("right", "x"), [
    (lambda x: (x * x).sin(), X),
    (lambda x: (x.sum(), x * 3, x.detach()), X),
    (lambda x: x * 3, torch.zeros(0, dtype=torch.float64, requires_grad=True)),
    (lambda x: torch.ones(2, dtype=torch.float64), X),
    (lambda x: torch.complex(x, x * x), X),
    (lambda z: z * z.conj() * z, Z),
    (lambda z: z.abs(), Z),
    (lambda z: torch.ldexp(z, z * 0.5), Z),
])
def test_right_derivatives(right: Any, x: Any, options: dict[str, bool]) -> None:
    assert gradcheck(right, (x,), **options)


def _calls() -> Any:
    """A gradient that changes from call to call."""
    count = iter(range(100))
    return lambda grad: grad * 2 + 1e-7 * next(count)


WRONG = {
    "reverse": (function(lambda x: x * 2, lambda g: g * 3), X, {}, "Jacobian mismatch for output 0"),
    "fast": (function(lambda x: x * 2, lambda g: g * 3), X, {"fast_mode": True}, "Jacobian mismatch"),
    "forward": (function(lambda x: x * 2, lambda g: g * 2, lambda t: t * 3), X, {"check_forward_ad": True},
                "computed with forward mode mismatch"),
    "complex output": (function(lambda x: torch.complex(x, x), lambda g: g.real), X, {},
                       "imaginary part of complex outputs only, Jacobian mismatch"),
    "complex input": (function(lambda z: z * 2j, lambda g: g * -2j, lambda t: t * 2), Z,
                      {"check_forward_ad": True}, "imaginary part of complex inputs only, Jacobian computed"),
    "detached": (lambda x: x.detach() * 2, X, {}, "expected to be zero"),
    "not the same again": (function(lambda x: x * 2, _calls()), X, {}, "Backward is not reentrant"),
    "not multiplied": (function(lambda x: x * 2, lambda g: g * 2 + 1e-7), X, {}, "not multiplied by"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_derivatives(kind: str) -> None:
    wrong, x, options, message = WRONG[kind]
    with pytest.raises(GradcheckError, match=message):
        gradcheck(wrong, (x,), **options)
    assert not gradcheck(wrong, (x,), raise_exception=False, **options)


def test_gradients_in_a_batch_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    from flambeau.autograd import _jacobians

    monkeypatch.setattr(_jacobians, "analytical_at_once",
                        lambda output, x: _jacobians.analytical(output, x) + 1)
    assert gradcheck(lambda x: x * 2, (X,))
    with pytest.raises(GradcheckError, match="Batched gradients differ"):
        gradcheck(lambda x: x * 2, (X,), check_batched_grad=True)


def test_what_cannot_be_checked() -> None:
    with pytest.raises(ValueError, match="at least one input tensor to require gradient, but none of them"):
        gradcheck(lambda x: x * 2, (X.detach(),), raise_exception=False)
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(lambda x: x * 2, (X.detach()[:1].expand(3).requires_grad_(),))
    for options in ({"check_backward_ad": False}, {"check_batched_forward_grad": True},
                    {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True}):
        with pytest.raises(AssertionError):
            gradcheck(lambda x: x * 2, (X,), **options)


@pytest.mark.parametrize("options", [{}, {"check_fwd_over_rev": True}, {"check_batched_grad": True},
                                     {"gen_non_contig_grad_outputs": True}, {"fast_mode": True}], ids=str)
def test_second_derivatives(options: dict[str, bool]) -> None:
    assert gradgradcheck(lambda x: x ** 3, (X,), **options)
    once = function(lambda x: x ** 3, lambda g: g.detach() * 3)
    with pytest.raises(GradcheckError):
        gradgradcheck(once, (X,), **options)


def test_fast_mode_leaves_the_users_random_numbers_alone() -> None:
    before = torch.get_rng_state()
    gradcheck(lambda x: x * 2, (X,), fast_mode=True)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("apart", [False, True])
def test_weights_of_second_derivatives_are_drawn_as_in_pytorch(apart: bool) -> None:
    torch.manual_seed(0)
    torch.testing.make_tensor((3, 2), dtype=torch.float64, device="cpu", low=-1, high=1, noncontiguous=apart)
    expected = torch.get_rng_state()
    torch.manual_seed(0)
    x = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(torch.exp, x, gen_non_contig_grad_outputs=apart)
    assert torch.equal(torch.get_rng_state(), expected)


@pytest.mark.parametrize("tier, expected", [("auto", "interpreter"), ("native", "native")])
def test_who_computes_does_not_change_within_a_check(tier: str, expected: str) -> None:
    """Two passes are compared bit by bit, and a graph that comes back would become a program."""
    seen = set()

    def twice(x: torch.Tensor) -> torch.Tensor:
        seen.add(config.settings.executor)
        return x * 2

    with config.executor(tier):
        assert gradcheck(twice, (X,))
        assert config.settings.executor == tier
    assert seen == {expected}
