"""``torch.autograd.functional``: Jacobians, Hessians and their products with vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..operators import NAMESPACES
from ..tensor import Tensor
from .backward import grad
from .modes import enable_grad

_torch = NAMESPACES["torch"]


def _tuple(value: Any, name: str, function: str) -> tuple[bool, tuple[Tensor, ...]]:
    several = isinstance(value, (tuple, list))
    values = tuple(value) if several else (value,)
    for i, x in enumerate(values):
        if not isinstance(x, Tensor):
            if several:
                raise TypeError(f"The {name} given to {function} must be either a Tensor or a tuple of "
                                f"Tensors but the value at index {i} has type {type(x)}.")
            raise TypeError(f"The {name} given to {function} must be either a Tensor or a tuple of Tensors "
                            f"but the given {name} has type {type(x)}.")
    return several, values


def _inputs(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs)
    return tuple(x.detach().requires_grad_() for x in inputs)


def _shaped(values: tuple[Any, ...], several: bool, create_graph: bool) -> Any:
    found = values if create_graph else tuple(v.detach() for v in values)
    return found if several else found[0]


def _zeros_for_none(grads: Any, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(_torch["zeros_like"](x) if g is None else g for g, x in zip(grads, inputs))


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """The output and the product of a vector with the Jacobian of ``func``."""
    with enable_grad():
        several, xs = _tuple(inputs, "inputs", "vjp")
        xs = _inputs(xs, create_graph)
        out_several, outs = _tuple(func(*xs), "outputs of the user-provided function", "vjp")
        weights = None if v is None else _tuple(v, "v", "vjp")[1]
        if v is None and outs[0].numel() != 1:
            raise RuntimeError("The vector v can only be None if the user-provided function returns a single "
                               "Tensor with a single element.")
        grads = _grads(outs, xs, weights, create_graph)
    return _shaped(outs, out_several, create_graph), _shaped(grads, several, create_graph)


def _grads(outs: tuple[Tensor, ...], xs: tuple[Tensor, ...], weights: Any,
           create_graph: bool) -> tuple[Tensor, ...]:
    live = [(o, None if weights is None else w) for o, w in zip(outs, weights or (None,) * len(outs))
            if o.requires_grad]
    if not live:
        return tuple(_torch["zeros_like"](x) for x in xs)
    found = grad([o for o, _ in live], xs, [w for _, w in live], create_graph=create_graph, retain_graph=True,
                 allow_unused=True)
    return _zeros_for_none(found, xs)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """The output and the product of the Jacobian of ``func`` with a vector (by differentiating twice)."""
    with enable_grad():
        _, xs = _tuple(inputs, "inputs", "jvp")
        xs = _inputs(xs, create_graph)
        vs = tuple(_torch["ones_like"](x) for x in xs) if v is None else _tuple(v, "v", "jvp")[1]
        out_several, outs = _tuple(func(*xs), "outputs of the user-provided function", "jvp")
        probes = tuple(_torch["zeros_like"](o).requires_grad_() for o in outs)
        first = grad(outs, xs, probes, create_graph=True, allow_unused=True)
        first = _zeros_for_none(first, xs)
        used = [(f, w) for f, w in zip(first, vs) if f.requires_grad]
        second: Any = (None,) * len(probes)
        if used:
            second = grad([f for f, _ in used], probes, [w for _, w in used], create_graph=create_graph,
                          allow_unused=True)
        products = _zeros_for_none(second, outs)
    return _shaped(outs, out_several, create_graph), _shaped(products, out_several, create_graph)


def _block(out: Tensor, xs: tuple[Tensor, ...], create_graph: bool, vectorize: bool) -> tuple[Tensor, ...]:
    """The Jacobian of one output: a backward pass for each row, or one for all."""
    if vectorize and out.numel() and out.requires_grad:
        units = _torch["eye"](out.numel(), dtype=out.dtype).reshape(out.numel(), *out.shape)
        found = grad(out, xs, units, True, create_graph, allow_unused=True, is_grads_batched=True)
        return tuple((x.new_zeros((*out.shape, *x.shape)) if g is None else g.reshape(*out.shape, *x.shape))
                     for g, x in zip(found, xs))
    rows = [_grads((element,), xs, None, create_graph) for element in out.reshape(-1).unbind(0)]
    return tuple(_torch["stack"]([row[i] for row in rows], 0).reshape(*out.shape, *x.shape) if rows
                 else x.new_zeros((*out.shape, *x.shape)) for i, x in enumerate(xs))


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
             vectorize: bool = False, strategy: str = "reverse-mode") -> Any:
    """The Jacobian of ``func``: for each output and input a tensor of shape output.shape + input.shape.

    >>> import flambeau as torch
    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    with enable_grad():
        several, xs = _tuple(inputs, "inputs", "jacobian")
        xs = _inputs(xs, create_graph)
        out_several, outs = _tuple(func(*xs), "outputs of the user-provided function", "jacobian")
        blocks = []
        for out in outs:
            row_blocks = _block(out, xs, create_graph, vectorize)
            if not create_graph:
                row_blocks = tuple(b.detach() for b in row_blocks)
            blocks.append(row_blocks if several else row_blocks[0])
    return tuple(blocks) if out_several else blocks[0]


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
            vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """The Hessian of a function with one number as its output."""
    several, _ = _tuple(inputs, "inputs", "hessian")

    def gradient(*args: Tensor) -> Any:
        args = tuple(x if x.requires_grad else x.requires_grad_() for x in args)
        value = func(*args)
        if not isinstance(value, Tensor) or value.numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single "
                               "element.")
        found = _zeros_for_none(grad(value.reshape(()), args, create_graph=True, allow_unused=True), args)
        return found if several else found[0]
    return jacobian(gradient, inputs, create_graph=create_graph, vectorize=vectorize)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """The value of a scalar function and the product of its Hessian with a vector."""
    with enable_grad():
        several, xs = _tuple(inputs, "inputs", "hvp")
        xs = _inputs(xs, create_graph)
        value = func(*xs)
        first = _zeros_for_none(grad(value, xs, create_graph=True, allow_unused=True), xs)
        vs = (_torch["ones_like"](xs[0]),) if v is None else _tuple(v, "v", "hvp")[1]
        second = _grads(first, xs, vs, create_graph)
    return _shaped((value,), False, create_graph), _shaped(second, several, create_graph)


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """The value of a scalar function and the product of a vector with its Hessian."""
    return hvp(func, inputs, v, create_graph, strict)
