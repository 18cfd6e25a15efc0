"""``gradcheck`` and ``gradgradcheck``: analytical gradients against finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..operators.registry import NAMESPACES
from ..tensor import Tensor
from .backward import grad
from .modes import enable_grad, no_grad


class GradcheckError(RuntimeError):
    """The analytical gradient differs from the numerical one."""


def _outputs(fn: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    result = fn(*inputs)
    several = result if isinstance(result, (tuple, list)) else (result,)
    return tuple(x for x in several if isinstance(x, Tensor) and x.dtype.category >= 2)


def _numerical(fn: Callable[..., Any], inputs: tuple[Any, ...], x: Tensor, output: int, eps: float) -> Any:
    """Jacobian (elements of x, elements of the output) by central differences."""
    flat = x.detach().reshape(-1)
    columns = []
    for k in range(flat.numel()):
        steps = (eps, 1j * eps) if x.is_complex() else (eps,)
        parts = []
        for step in steps:
            sides = []
            for sign in (1, -1):
                moved = flat.clone()
                moved[k] = moved[k] + sign * step
                replaced = tuple(moved.reshape(x.shape).to(x.dtype) if y is x else y for y in inputs)
                with no_grad():
                    sides.append(np.array(_outputs(fn, replaced)[output].detach().reshape(-1).tolist()))
            parts.append((sides[0] - sides[1]) / (2 * eps))
        columns.append(parts)
    return columns


def _analytical(output: Tensor, x: Tensor, weight: Tensor) -> Any:
    found = grad(output, x, weight, retain_graph=True, allow_unused=True)[0]
    if found is None:
        return np.zeros(x.numel(), complex if x.is_complex() else float)
    return np.array(found.detach().reshape(-1).tolist())


def gradcheck(func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5,
              rtol: float = 1e-3, raise_exception: bool = True, nondet_tol: float = 0.0,
              check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
              check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
              check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
              masked: bool | None = None) -> bool:
    """Whether the gradients of ``func`` agree with central differences, in double precision.

    Every element is checked, in reverse mode: the arguments for other checks (``nondet_tol``, ``fast_mode``,
    ``check_undefined_grad``, ``check_forward_ad``, batched ones) are accepted and have no effect yet.

    >>> import flambeau as torch
    >>> x = torch.tensor([1., 2.], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: (x * x).sum(), (x,))
    True
    """
    tupled = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    try:
        _check(func, tupled, eps, atol, rtol, nondet_tol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(func: Callable[..., Any], inputs: tuple[Any, ...], eps: float, atol: float, rtol: float,
           nondet_tol: float) -> None:
    checked = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    if not checked:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the "
                         "them have requires_grad=True.")
    for i, x in enumerate(inputs):
        if isinstance(x, Tensor) and x.requires_grad and x.dtype.to_real().itemsize < 8:
            warnings.warn(f"Input #{i} requires gradient and is not a double precision floating point or "
                          "complex. This check will likely fail if all the inputs are not of double "
                          "precision floating point or complex. ",
                          stacklevel=3)
    outputs = _outputs(func, inputs)
    for i, output in enumerate(outputs):
        if not output.requires_grad:
            raise ValueError("gradcheck expects outputs that require grad, but one of them does not")
        for j, x in enumerate(inputs):
            if isinstance(x, Tensor) and x.requires_grad:
                _compare(func, inputs, output, i, x, j, eps, atol, rtol)


def _compare(func: Callable[..., Any], inputs: tuple[Any, ...], output: Tensor, i: int, x: Tensor, j: int,
             eps: float, atol: float, rtol: float) -> None:
    columns = _numerical(func, inputs, x, i, eps)
    for k in range(output.numel()):
        for unit in (1, 1j) if output.is_complex() else (1,):
            weight = (output.detach() * 0).reshape(-1).clone()
            weight[k] = unit
            analytical = _analytical(output, x, weight.reshape(output.shape))
            numerical = np.array([_cotangent(parts, k, unit) for parts in columns]).reshape(-1)
            if not np.allclose(analytical, numerical, rtol=rtol, atol=atol, equal_nan=True):
                raise GradcheckError(f"Jacobian mismatch for output {i} with respect to input {j},\n"
                                     f"numerical:{numerical}\nanalytical:{analytical}\n")


def _cotangent(parts: Any, k: int, unit: Any) -> Any:
    """The gradient by one element: Re(conj(unit) dL) along the real and the imaginary axis."""
    found = [(np.conj(unit) * part[k]).real for part in parts]
    return found[0] if len(found) == 1 else found[0] + 1j * found[1]


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6,
                  atol: float = 1e-5, rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False,
                  raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
                  check_grad_dtypes: bool = False, check_batched_grad: bool = False,
                  check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False,
                  masked: bool = False) -> bool:
    """Whether the second derivatives of ``func`` agree with differences of the first."""
    tupled = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    outputs = _outputs(func, tupled)
    if grad_outputs is None:
        randn_like = NAMESPACES["torch"]["randn_like"]
        weights = tuple(randn_like(x).detach().requires_grad_() for x in outputs)
    else:
        weights = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)

    def first_gradients(*both: Any) -> Any:
        xs, ws = both[:len(tupled)], both[len(tupled):]
        with enable_grad():
            xs = tuple(x if not (isinstance(x, Tensor) and isinstance(y, Tensor) and y.requires_grad)
                       or x.requires_grad else x.detach().requires_grad_() for x, y in zip(xs, tupled))
            wanted = [x for x in xs if isinstance(x, Tensor) and x.requires_grad]
            return grad(_outputs(func, xs), wanted, ws, create_graph=True, allow_unused=True,
                        materialize_grads=True)
    return gradcheck(first_gradients, (*tupled, *weights), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception, nondet_tol=nondet_tol)
