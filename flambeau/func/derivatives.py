"""``grad``, ``grad_and_value`` and ``vjp``: derivatives by the tape."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import operators
from ..autograd import enable_grad
from ..autograd import grad as tape_grad
from ..tensor import Tensor
from ..utils import _pytree as pytree
from .levels import Level

Argnums = int | tuple[int, ...]
# How errors name a transform.
VJP, JVP = "vjp(f, *primals)", "jvp(f, primals, tangents)"


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of ``func``, whose result is a scalar.

    ``argnums`` says with respect to which positional arguments; with ``has_aux`` the function returns a pair,
    and its second item comes back besides the gradient. Transforms nest.

    >>> import flambeau as torch
    >>> torch.func.grad(torch.func.grad(torch.sin))(torch.tensor(0.5))
    tensor(-0.4794)
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients
    return gradient


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0,
                   has_aux: bool = False) -> Callable[..., Any]:
    """Like ``grad``, but with the value: ``(gradient, value)`` or ``(gradient, (value, aux))``.

    >>> import flambeau as torch
    >>> torch.func.grad_and_value(torch.square)(torch.tensor(3.0))
    (tensor(6.), tensor(9.))
    """
    @wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        level = Level()
        with enable_grad(), level:
            chosen = level.enter(differentiable(select(args, argnums)))
            result = func(*replace(args, argnums, chosen), **kwargs)
            value, aux = with_aux(result, "grad_and_value(f)(*args)") if has_aux else (result, None)
            _check_scalar(value)
            gradients = gradients_of([value], None, chosen)
        value = level.leave(value)
        return level.leave(gradients), (value, level.leave(aux)) if has_aux else value
    return gradient_and_value


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of ``func(*primals)``, and the function from cotangents of it to those of the inputs.

    >>> import flambeau as torch
    >>> value, pull = torch.func.vjp(torch.sin, torch.tensor(0.))
    >>> pull(torch.tensor(2.))
    (tensor(2.),)
    """
    level = Level()
    with enable_grad(), level:
        fresh = level.enter(differentiable(primals))
        result = func(*fresh)
    result, aux = with_aux(result, VJP) if has_aux else (result, None)
    outputs, spec = pytree.tree_flatten(result)
    check_outputs(outputs, VJP)
    check_differentiable_outputs(outputs)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        weights, given = pytree.tree_flatten(cotangents)
        if given != spec:
            raise RuntimeError("Expected pytree structure of cotangents to be the same as pytree structure "
                               f"of outputs to the function. cotangents: {pytree.treespec_pprint(given)}, "
                               f"primal output: {pytree.treespec_pprint(spec)}")
        with enable_grad():
            gradients = gradients_of(outputs, weights, fresh)
        return level.leave(gradients)

    value = level.leave(result)
    return (value, pull, level.leave(aux)) if has_aux else (value, pull)


def gradients_of(outputs: list[Tensor], weights: Any, variables: Any) -> Any:
    """The gradients of outputs with respect to a tree of variables; zeros where there is no dependence."""
    leaves, spec = pytree.tree_flatten(variables)
    wanted = [x for x in leaves if isinstance(x, Tensor) and x.requires_grad]
    used = [i for i, out in enumerate(outputs) if out.requires_grad]
    if used:
        found = iter(tape_grad([outputs[i] for i in used], wanted,
                               None if weights is None else [weights[i] for i in used],
                               create_graph=True, allow_unused=True))
    else:
        found = iter([None] * len(wanted))

    def of(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        gradient = next(found) if x.requires_grad else None
        return operators.zeros_like(x) if gradient is None else gradient
    return spec.unflatten([of(x) for x in leaves])


def differentiable(variables: Any) -> Any:
    """The same variables; an error if one of them can have no gradient."""
    for x in pytree.tree_leaves(variables):
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        if not (x.is_floating_point() or x.is_complex()):
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
    return variables


def select(args: tuple[Any, ...], argnums: Argnums) -> Any:
    """The arguments that ``argnums`` names: one, or a tuple."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if isinstance(argnums, tuple) and not argnums:
        raise RuntimeError("argnums must be non-empty")
    for number in numbers:
        if not isinstance(number, int):
            raise RuntimeError(f"argnum must be int, got: {type(number)}")
        if not -len(args) <= number < len(args):
            raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")
    counted = tuple([number % len(args) for number in numbers])
    if len(set(counted)) < len(counted):
        raise RuntimeError(f"argnums elements must be unique, got {counted}")
    return tuple(args[i] for i in argnums) if isinstance(argnums, tuple) else args[argnums]


def replace(args: tuple[Any, ...], argnums: Argnums, chosen: Any) -> tuple[Any, ...]:
    """The arguments with others in the places that ``argnums`` names."""
    found = list(args)
    for i, value in zip(argnums, chosen) if isinstance(argnums, tuple) else ((argnums, chosen),):
        found[i] = value
    return tuple(found)


def with_aux(result: Any, name: str) -> tuple[Any, Any]:
    """What a function gives with ``has_aux``: its output and something else; ``name`` is in the error."""
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if "
                           "has_aux is True")
    return result


def check_outputs(outputs: list[Any], name: str) -> None:
    """An error for outputs (flattened) that are not all tensors, or none."""
    if not outputs or outputs == [None]:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = "
                           f"{outputs})")
    for out in outputs:
        if not isinstance(out, Tensor):
            raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type "
                               f"{type(out)}")


def check_differentiable_outputs(outputs: list[Tensor]) -> None:
    """An error for outputs to which no gradient can be given."""
    for out in outputs:
        if not (out.is_floating_point() or out.is_complex()):
            raise RuntimeError("vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                               f"Tensor with dtype {out.dtype!r}")


def check_real(tensors: list[Any], transform: str, what: str) -> None:
    """An error for complex inputs or outputs of Jacobians."""
    for i, x in enumerate(tensors):
        if isinstance(x, Tensor) and x.is_complex():
            raise RuntimeError(f"{transform}: Expected all {what} to be real but received complex tensor at "
                               f"flattened input idx: {i}")


def _check_scalar(value: Any) -> None:
    if not isinstance(value, Tensor):
        raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got "
                           f"{type(value)}")
    if value.dim() != 0:
        raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got "
                           f"tensor with {value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs "
                           "instead?")
