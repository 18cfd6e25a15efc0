"""``jacrev``, ``jacfwd``, ``hessian`` and ``jvp``.

Forward derivatives are computed by differentiating the backward pass: the gradient g(v) of an output is
linear in its cotangent v, so the derivative of <g(v), t> with respect to v is the forward derivative along t.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from .. import operators
from ..autograd import enable_grad
from ..autograd import grad as tape_grad
from ..autograd.forward_ad import computed_from
from ..tensor import Tensor, state
from ..utils import _pytree as pytree
from .derivatives import (
    JVP,
    VJP,
    Argnums,
    check_differentiable_outputs,
    check_outputs,
    check_real,
    differentiable,
    gradients_of,
    replace,
    select,
    with_aux,
)
from .levels import Level
from .vectorization import RANDOMNESS, for_each


def jacrev(func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False,
           chunk_size: int | None = None, _preallocate_and_copy: bool = False) -> Callable[..., Any]:
    """The function that computes the Jacobian of ``func``, a row (an output's gradient) at a time.

    Its shape is that of the output followed by that of the input.

    >>> import flambeau as torch
    >>> torch.func.jacrev(lambda x: x ** 2)(torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        level = Level()
        with enable_grad(), level:
            chosen = level.enter(differentiable(select(args, argnums)))
            result = func(*replace(args, argnums, chosen), **kwargs)
            result, aux = with_aux(result, VJP) if has_aux else (result, None)
            outputs = pytree.tree_leaves(result)
            check_outputs(outputs, VJP)
            check_differentiable_outputs(outputs)
            check_real(pytree.tree_leaves(chosen), "jacrev", "inputs")
            check_real(outputs, "jacrev", "outputs")
            rows = pytree.tree_map(lambda out: _rows(out, chosen, chunk_size), result)
        return (level.leave(rows), level.leave(aux)) if has_aux else level.leave(rows)
    return jacobian


def _rows(output: Tensor, variables: Any, chunk_size: int | None) -> Any:
    """The Jacobian of one output, as a tree like the variables: one backward pass for all its rows."""
    leaves, spec = pytree.tree_flatten(variables)
    wanted = [x for x in leaves if isinstance(x, Tensor)]
    if not output.numel():
        rows = [x.new_zeros((0, *x.shape)) for x in wanted]
    else:
        rows = each_direction(lambda weight: gradients_of([output], [weight], wanted), output, chunk_size)
    found = iter([row.reshape((*output.shape, *x.shape)) for row, x in zip(rows, wanted)])
    return spec.unflatten([next(found) if isinstance(x, Tensor) else x for x in leaves])


def each_direction(function: Callable[[Tensor], list[Tensor]], x: Tensor,
                   chunk_size: int | None = None) -> list[Tensor]:
    """``function`` of every unit vector like x, stacked."""
    units = operators.eye(x.numel(), dtype=x.dtype, device=x.device).reshape(x.numel(), *x.shape)
    return for_each(function, units, chunk_size=chunk_size)


def jacfwd(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *,
           randomness: str = "error") -> Callable[..., Any]:
    """The function that computes the Jacobian of ``func``, a column (an input's derivative) at a time.

    >>> import flambeau as torch
    >>> torch.func.jacfwd(torch.sum)(torch.ones(2))
    tensor([1., 1.])
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got "
                           f"{randomness}")

    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = pytree.tree_flatten(select(args, argnums))
        inputs = tuple(leaves)
        check_directions(inputs, "primal")

        def of(*values: Any) -> Any:
            return func(*replace(args, argnums, structure.unflatten(values)), **kwargs)

        value, push, aux = pushforward(of, inputs, has_aux)
        outputs, spec = pytree.tree_flatten(value)
        check_real(leaves, "jacfwd", "inputs")
        check_real(outputs, "jacfwd", "outputs")
        columns = [_columns(push, inputs, i) for i in range(len(inputs))]
        result = spec.unflatten([
            structure.unflatten([_join_columns(cols, number, output, x) for cols, x in zip(columns, inputs)])
            for number, output in enumerate(outputs)])
        return (result, aux) if has_aux else result
    return jacobian


def _columns(push: Callable[..., Any], inputs: tuple[Tensor, ...], i: int) -> list[Tensor]:
    """The forward derivatives of each output along all directions of input i: (directions, *output)."""
    if not inputs[i].numel():
        return []
    zeros = [operators.zeros_like(x) for x in inputs]
    return each_direction(lambda unit: push([*zeros[:i], unit, *zeros[i + 1:]]), inputs[i])


def _join_columns(columns: list[Tensor], number: int, output: Tensor, x: Tensor) -> Tensor:
    shape = tuple(output.shape) + tuple(x.shape)
    if not columns:
        return operators.zeros(shape, dtype=output.dtype)
    joined: Tensor = columns[number].movedim(0, -1).reshape(shape)
    return joined


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the Hessian of ``func``: ``jacfwd(jacrev(func))``.

    >>> import flambeau as torch
    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False,
        has_aux: bool = False) -> Any:
    """The value of ``func(*primals)``, and its derivative along the tangents.

    >>> import flambeau as torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.),), (torch.tensor(3.),))
    (tensor(0.), tensor(3.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be "
                           "valid to call f(*primals).")
    leaves, spec = pytree.tree_flatten(primals)
    directions, given = pytree.tree_flatten(tangents)
    if given != spec:
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to have the same python "
                           "structure. For example, if primals is a tuple of 3 tensors, tangents also must "
                           f"be. Got primals with structure {spec} and tangents with structure {given}")
    if not leaves:
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to contain at least one Tensor.")
    check_directions(leaves, "primal")
    check_directions(directions, "tangent")
    for x, direction in zip(leaves, directions):
        if x.shape != direction.shape:
            raise RuntimeError("Trying to set a forward gradient that has a different size than that of the "
                               "original Tensor, this is not supported. Tensor is of size "
                               f"{list(x.shape)} while the given forward gradient is of size "
                               f"{list(direction.shape)}.")
    value, push, aux = pushforward(lambda *xs: func(*spec.unflatten(xs)), tuple(leaves), has_aux, strict)
    derivative = pytree.tree_structure(value).unflatten(push(directions))
    return (value, derivative, aux) if has_aux else (value, derivative)


def check_directions(tensors: Sequence[Any], what: str) -> None:
    """An error for a primal or tangent that is not a tensor, or has no derivative."""
    for x in tensors:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"jvp(f, primals, tangents): Expected {what}s to only contain Tensors, got "
                               f"{type(x)}")
        if not (x.is_floating_point() or x.is_complex()):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {x.dtype!r}")


def _writable(x: Tensor) -> Tensor:
    """A variable of this level alone, so that the function may write to it in place."""
    return computed_from(x) if type(x) is Tensor and x.requires_grad and x._base is None else x


def pushforward(func: Callable[..., Any], primals: tuple[Tensor, ...], has_aux: bool,
                strict: bool = False) -> tuple[Any, Any, Any]:
    """The value, the function from tangents to derivatives of the outputs (a list), and the aux."""
    level = Level(forward=True)
    with enable_grad(), level:
        fresh = level.enter(primals)
        result = func(*map(_writable, fresh))
        result, aux = with_aux(result, JVP) if has_aux else (result, None)
        outputs = pytree.tree_leaves(result)
        check_outputs(outputs, JVP)
        if strict and not all(out.requires_grad for out in outputs):
            raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of "
                               "the inputs. This is not allowed with strict=True.")
        # Where the gradient is asked for does not matter: it is linear in these (see the module's docstring).
        # But rules that take logarithms of gradients can be differentiated at 1, not at 0.
        cotangents = level.enter([operators.zeros_like(out) + 1 for out in outputs])
        before, state.pushing = state.pushing, True
        try:
            gradients = gradients_of(outputs, cotangents, fresh)
        finally:
            state.pushing = before

    def push(tangents: Any) -> list[Tensor]:
        with enable_grad():
            pairs = [(g, t) for g, t in zip(gradients, tangents) if g.requires_grad]
            if not pairs:
                return [operators.zeros_like(out) for out in outputs]
            found = tape_grad([g for g, _ in pairs], cotangents, [t for _, t in pairs], create_graph=True,
                              allow_unused=True)
        return [level.leave(operators.zeros_like(out) if d is None else d) for out, d in zip(outputs, found)]

    return level.leave(result), push, level.leave(aux)
