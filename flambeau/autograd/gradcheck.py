"""``gradcheck`` and ``gradgradcheck``: derivatives against finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from .. import config
from ..config import settings
from ..operators.pointwise.comparison import allclose
from ..operators.random.random import randn
from ..tensor import Tensor
from ..tensor.generator import Generator
from . import _jacobians as jacobians
from ._jacobians import Checked, Inputs, outputs_of
from .backward import grad
from .grad_mode import enable_grad


class GradcheckError(RuntimeError):
    """A derivative differs from the difference quotient."""


class _Checks(NamedTuple):
    """What is checked, and how closely."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    grad_dtypes: bool
    batched: bool
    batched_forward: bool
    forward: bool
    backward: bool
    fast: bool

    def agree(self, a: Tensor, b: Tensor) -> bool:
        """Whether two Jacobians agree."""
        if a.is_complex() != b.is_complex():
            a, b = a + 0j, b + 0j
        return allclose(a, b.to(a.dtype), self.rtol, self.atol, equal_nan=True)


def gradcheck(func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5,
              rtol: float = 1e-3, raise_exception: bool = True, nondet_tol: float = 0.0,
              check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
              check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
              check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
              masked: bool | None = None) -> bool:
    """Whether the derivatives of ``func`` agree with central differences (f(x + eps) - f(x - eps)) / (2 eps).

    Inputs that require gradients are checked, in double precision. In reverse mode each output is
    differentiated alone, so that the others' gradients are undefined, whatever ``check_undefined_grad`` says;
    two passes must agree up to ``nondet_tol``. ``fast_mode`` compares u^T J v for random u and v instead of
    every element of J. ``masked`` matters to sparse inputs alone, which cannot be checked.

    >>> import flambeau as torch
    >>> x = torch.tensor([1., 2.], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: (x * x).sum(), (x,), check_forward_ad=True)
    True
    """
    assert check_forward_ad or check_backward_ad, \
        "Expected at least one of check_forward_ad or check_backward_ad to be True"
    assert check_backward_ad or not check_batched_grad, \
        "Setting check_batched_grad=True requires check_backward_ad to be True"
    assert check_forward_ad or not check_batched_forward_grad, \
        "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    _require_checkable(given)
    # Who computes must not change between two passes: the bits would.
    tier = "interpreter" if settings.executor == "auto" else settings.executor
    try:
        with config.executor(tier):
            _check(func, given, _Checks(eps, atol, rtol, nondet_tol, check_grad_dtypes,
                                        check_batched_grad, check_batched_forward_grad,
                                        check_forward_ad, check_backward_ad, fast_mode))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _checked(inputs: Inputs) -> Iterator[tuple[int, Tensor]]:
    """The inputs that are checked, with their positions."""
    return ((j, x) for j, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad)


def _require_checkable(inputs: Inputs) -> None:
    if not any(True for _ in _checked(inputs)):
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them "
                         "have requires_grad=True.")
    for j, x in _checked(inputs):
        if x.dtype.to_real().itemsize < 8:
            warnings.warn(f"Input #{j} requires gradient and is not a double precision floating point or "
                          "complex. This check will likely fail if all the inputs are not of double "
                          "precision floating point or complex. ", stacklevel=3)
        if any(step == 0 and n > 1 for step, n in zip(x.stride(), x.shape)):
            raise RuntimeError(f"The {j}th input has a dimension with stride 0. gradcheck only supports "
                               "inputs that are non-overlapping to be able to compute the numerical "
                               "gradients correctly. You should call .contiguous on the input before passing "
                               "it to gradcheck.")


def _check(func: Callable[..., Any], inputs: Inputs, checks: _Checks) -> None:
    def whole(inputs: Inputs) -> list[Tensor]:
        return [out for out in outputs_of(func(*inputs)) if out.requires_grad]

    def real(inputs: Inputs) -> list[Tensor]:
        return [out.real if out.is_complex() else out for out in whole(inputs)]

    def imaginary(inputs: Inputs) -> list[Tensor]:
        return [out.imag if out.is_complex() else out.detach() * 0 for out in whole(inputs)]

    outputs = whole(inputs)
    if not outputs:
        _require_no_slope(lambda inputs: outputs_of(func(*inputs)), inputs, checks)
        return
    if checks.backward:
        if any(out.is_complex() for out in outputs):
            _check_reverse(imaginary, inputs, checks, _PART.format("imaginary", "outputs"))
            _check_reverse(real, inputs, checks, _PART.format("real", "outputs"))
        else:
            _check_reverse(real, inputs, checks, "")
    if checks.forward:
        for j, x in _checked(inputs):
            if x.is_complex():
                _check_forward(whole, inputs, j, x, 1j, checks, _PART.format("imaginary", "inputs"))
                _check_forward(whole, inputs, j, x, 1, checks, _PART.format("real", "inputs"))
            else:
                _check_forward(whole, inputs, j, x, 1, checks, "")


_PART = "While considering the {} part of complex {} only, "


def _require_no_slope(fn: Checked, inputs: Inputs, checks: _Checks) -> None:
    """Outputs that say they do not depend on the inputs must not change with them."""
    outputs = fn(inputs)
    for _, x in _checked(inputs):
        found = jacobians.along(x, 1, outputs, partial(jacobians.slopes, fn, inputs, x, eps=checks.eps))
        if any((jacobian != 0).any() for jacobian in found):
            raise GradcheckError("Numerical gradient for function expected to be zero")


# --- reverse mode -------------------------------------------------------------------------------------------


def _check_reverse(fn: Checked, inputs: Inputs, checks: _Checks, part: str) -> None:
    outputs = fn(inputs)
    for j, x in _checked(inputs):
        if checks.fast:
            _check_projection(fn, inputs, outputs, j, x, checks, part)
            continue
        numerical = jacobians.numerical(fn, inputs, x, outputs, checks.eps)
        for i, output in enumerate(outputs):
            analytical = jacobians.analytical(output, x)
            if not checks.agree(analytical, numerical[i]):
                raise _mismatch(f"{part}Jacobian mismatch", i, j, numerical[i], analytical)
            _require_same_again(analytical, jacobians.analytical(output, x), checks)
            if checks.batched and output.requires_grad and output.numel():
                _require_same_batched(analytical, partial(jacobians.analytical_at_once, output, x), checks)
    _check_gradients(outputs, inputs, checks)


def _require_same_again(first: Tensor, second: Tensor, checks: _Checks) -> None:
    if first.numel() and float((first - second).abs().max()) > checks.nondet_tol:
        raise GradcheckError("Backward is not reentrant, i.e., running backward with same input and "
                             "grad_output multiple times gives different values, although analytical "
                             "gradient matches numerical gradient.The tolerance for nondeterminism was "
                             f"{checks.nondet_tol}.")


def _require_same_batched(one_by_one: Tensor, at_once: Callable[[], Tensor], checks: _Checks) -> None:
    try:
        found = at_once()
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}") from error
    if not checks.agree(found, one_by_one):
        raise GradcheckError("Batched gradients differ from those computed one by one:\n"
                             f"batched:{found}\none by one:{one_by_one}\n")


def _check_gradients(outputs: Sequence[Tensor], inputs: Inputs, checks: _Checks) -> None:
    """Gradients are those of their weights (so zero for zeros), and of the inputs' types."""
    differentiated = [out for out in outputs if out.requires_grad]
    wanted = [x for _, x in _checked(inputs)]
    if not differentiated:
        return
    found = grad(differentiated, wanted, [out.detach() * 0 for out in differentiated], retain_graph=True,
                 allow_unused=True)
    for x, g in zip(wanted, found):
        if g is not None and (g != 0).any():
            raise GradcheckError("backward not multiplied by grad_output")
        if checks.grad_dtypes and g is not None and g.dtype is not x.dtype:
            raise GradcheckError(f"a gradient is of {g.dtype!r}, and its input of {x.dtype!r}")


def _mismatch(what: str, i: int, j: int, numerical: Tensor, analytical: Tensor) -> GradcheckError:
    return GradcheckError(f"{what} for output {i} with respect to input {j},\n"
                          f"numerical:{numerical}\nanalytical:{analytical}\n")


# --- forward mode -------------------------------------------------------------------------------------------


def _check_forward(fn: Checked, inputs: Inputs, j: int, x: Tensor, factor: complex, checks: _Checks,
                   part: str) -> None:
    what = f"{part}Jacobian computed with forward mode mismatch"
    slopes = partial(jacobians.slopes, fn, inputs, x, eps=checks.eps)
    tangents = partial(jacobians.tangents, fn, inputs, x)
    if checks.fast:
        direction = _random_direction(x) * factor
        differences, derivatives = slopes(direction), tangents(direction)
    else:
        outputs = fn(inputs)
        differences, derivatives = (jacobians.along(x, factor, outputs, way) for way in (slopes, tangents))
    for i, (numerical, analytical) in enumerate(zip(differences, derivatives)):
        if not checks.agree(analytical, numerical):
            raise _mismatch(what, i, j, numerical, analytical)
        if checks.batched_forward and not checks.fast and factor == 1 and x.numel():
            _require_same_batched(analytical, partial(jacobians.forward_at_once, fn, inputs, x, i), checks)


# --- fast mode ----------------------------------------------------------------------------------------------


def _random_direction(x: Tensor) -> Tensor:
    """A random unit vector; the user's generator is left alone."""
    v = randn(x.shape, generator=Generator().manual_seed(x.numel()), dtype=x.dtype)
    return v / v.abs().square().sum().sqrt() if x.numel() else v


def _check_projection(fn: Checked, inputs: Inputs, outputs: Sequence[Tensor], j: int, x: Tensor,
                      checks: _Checks, part: str) -> None:
    """u^T J v: the outputs' slopes along v, weighted by u, against the gradient for u along v."""
    v = _random_direction(x)
    slopes = jacobians.slopes(fn, inputs, x, v, checks.eps)
    for i, (output, slope) in enumerate(zip(outputs, slopes)):
        u = _random_direction(output)
        first, second = (jacobians.gradient(output, x, u) for _ in range(2))
        products = first.conj() * v
        numerical, analytical = (u * slope).sum(), (products.real if x.is_complex() else products).sum()
        if not checks.agree(analytical, numerical):
            raise _mismatch(f"{part}Jacobian mismatch", i, j, numerical, analytical)
        _require_same_again(first, second, checks)


# --- the second derivative ----------------------------------------------------------------------------------


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6,
                  atol: float = 1e-5, rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False,
                  raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
                  check_grad_dtypes: bool = False, check_batched_grad: bool = False,
                  check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False,
                  masked: bool = False) -> bool:
    """``gradcheck`` of the gradients of ``func``, as a function of its inputs and of weights of its outputs.

    The weights are ``grad_outputs``, or random. ``check_rev_over_rev`` differentiates the gradients by
    reverse mode, ``check_fwd_over_rev`` by forward mode.

    >>> import flambeau as torch
    >>> x = torch.tensor([1., 2.], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(lambda x: x ** 3, (x,))
    True
    """
    assert check_fwd_over_rev or check_rev_over_rev, \
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
    assert check_rev_over_rev or not check_batched_grad, \
        "Setting check_batched_grad=True requires check_rev_over_rev to be True"
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    _require_checkable(given)
    if grad_outputs is None:
        weights = tuple(_weight(out, gen_non_contig_grad_outputs) for out in outputs_of(func(*given)))
    else:
        weights = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)

    def gradients(*both: Any) -> tuple[Tensor, ...]:
        xs, ws = both[:len(given)], both[len(given):]
        with enable_grad():
            xs = tuple(x if not isinstance(y, Tensor) or not y.requires_grad or x.requires_grad
                       else x.detach().requires_grad_() for x, y in zip(xs, given))
            wanted = [x for x, y in zip(xs, given) if isinstance(y, Tensor) and y.requires_grad]
            found: tuple[Tensor, ...] = grad(outputs_of(func(*xs)), wanted, ws, create_graph=True,
                                             allow_unused=True, materialize_grads=True)
        return found
    return gradcheck(gradients, (*given, *weights), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception, nondet_tol=nondet_tol,
                     check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
                     check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev,
                     check_backward_ad=check_rev_over_rev, fast_mode=fast_mode, masked=masked)


def _weight(output: Tensor, apart: bool) -> Tensor:
    """A random weight of an output, on request one whose elements do not lie side by side."""
    from ..testing.creation import make_tensor  # what tests need is imported by those that check
    return make_tensor(output.shape, dtype=output.dtype, device=output.device, low=-1, high=1,
                       requires_grad=True, noncontiguous=apart)
