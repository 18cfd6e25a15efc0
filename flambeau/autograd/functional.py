"""``torch.autograd.functional``: Jacobians, Hessians and their products with vectors.

Everywhere ``create_graph`` keeps the result differentiable, and ``strict`` refuses functions whose outputs do
not depend on their inputs, where otherwise zeros would be returned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..operators import NAMESPACES
from ..tensor import Tensor
from . import forward_ad
from ._functional_checks import (
    OUTPUTS,
    Tensors,
    as_tuple,
    differentiable_again,
    gradient_depends,
    known,
    outputs_depend,
    single,
    vectors,
)
from .backward import grad
from .modes import enable_grad

_torch = NAMESPACES["torch"]


def _inputs(inputs: Tensors, create_graph: bool) -> Tensors:
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs)
    return tuple(x.detach().requires_grad_() for x in inputs)


def _shaped(values: tuple[Any, ...], several: bool, create_graph: bool) -> Any:
    found = values if create_graph else tuple(v.detach() for v in values)
    return found if several else found[0]


def _gradients(outputs: Tensors, inputs: Tensors, weights: Any, create_graph: bool) -> tuple[Any, ...]:
    """The gradients by the inputs, ``None`` for inputs that no output depends on."""
    live = [(o, None if weights is None else w)
            for o, w in zip(outputs, weights or (None,) * len(outputs)) if o.requires_grad]
    if not live:
        return (None,) * len(inputs)
    return tuple(grad([o for o, _ in live], inputs, [w for _, w in live], create_graph=create_graph,
                      retain_graph=True, allow_unused=True))


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """The output and the product of a vector with the Jacobian of ``func``."""
    with enable_grad():
        several, xs = as_tuple(inputs, "inputs", "vjp")
        xs = _inputs(xs, create_graph)
        out_several, outs = as_tuple(func(*xs), OUTPUTS, "vjp")
        outputs_depend(outs, strict)
        weights = vectors(v, outs, out_several, "vjp", "the user-provided function returns")
        found = _gradients(outs, xs, weights, create_graph)
        products = known(found, xs, strict, "The output of the user-provided function")
        differentiable_again(products, strict and create_graph)
    return _shaped(outs, out_several, create_graph), _shaped(products, several, create_graph)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """The output and the product of the Jacobian of ``func`` with a vector (by differentiating twice)."""
    with enable_grad():
        several, xs = as_tuple(inputs, "inputs", "jvp")
        vs = vectors(v, xs, several, "jvp", "the input to the user-provided function is")
        xs = _inputs(xs, create_graph)
        out_several, outs = as_tuple(func(*xs), OUTPUTS, "jvp")
        outputs_depend(outs, strict)
        probes = tuple(_torch["zeros_like"](o).requires_grad_() for o in outs)
        found = _gradients(outs, xs, probes, True)
        first = known(found, xs, strict, "The output of the user-provided function")
        differentiable_again(first, strict and create_graph)
        second = _gradients(first, probes, vs, create_graph)
        products = known(second, outs, False, "")
        differentiable_again(products, strict and create_graph)
    return _shaped(outs, out_several, create_graph), _shaped(products, out_several, create_graph)


def _block(position: int, out: Tensor, xs: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The Jacobian of one output: a backward pass for each of its elements."""
    rows = []
    for element in out.reshape(-1).unbind(0):
        found = _gradients((element,), xs, None, create_graph)
        row = known(found, xs, strict, f"Output {position} of the user-provided function")
        differentiable_again(row, strict and create_graph)
        rows.append(row)
    return tuple(_torch["stack"]([row[i] for row in rows], 0).reshape(*out.shape, *x.shape) if rows
                 else x.new_zeros((*out.shape, *x.shape)) for i, x in enumerate(xs))


def _block_at_once(out: Tensor, xs: Tensors, create_graph: bool) -> Tensors:
    """The same by one backward pass for all elements."""
    if not (out.numel() and out.requires_grad):
        return tuple(x.new_zeros((*out.shape, *x.shape)) for x in xs)
    units = _torch["eye"](out.numel(), dtype=out.dtype).reshape(out.numel(), *out.shape)
    found = grad(out, xs, units, True, create_graph, allow_unused=True, is_grads_batched=True)
    return tuple((x.new_zeros((*out.shape, *x.shape)) if g is None else g.reshape(*out.shape, *x.shape))
                 for g, x in zip(found, xs))


def _forward_mode(func: Callable[..., Any], inputs: Any, create_graph: bool) -> Any:
    """The Jacobian by a forward pass for each element of the inputs, column by column."""
    if create_graph:
        raise NotImplementedError(
            "torch.autograd.functional.jacobian: `create_graph=True` and `strategy=\"forward-mode\"` are not "
            "supported together (yet). Please either set `create_graph=False` or "
            "`strategy=\"reverse-mode\"`.")
    several, xs = as_tuple(inputs, "inputs", "jacobian")
    xs = tuple(x.detach() for x in xs)
    columns: list[list[Tensors]] = []  # for each input, for each of its elements, the outputs' tangents
    out_several = False
    for i, x in enumerate(xs):
        columns.append([])
        for unit in _torch["eye"](x.numel(), dtype=x.dtype).unbind(0):
            with forward_ad.dual_level():
                duals = [forward_ad.make_dual(y, unit.reshape(x.shape) if j == i else _torch["zeros_like"](y))
                         for j, y in enumerate(xs)]
                out_several, outs = as_tuple(func(*duals), OUTPUTS, "jacobian")
                parts = [forward_ad.unpack_dual(out) for out in outs]
                columns[-1].append(tuple(part.primal.detach().new_zeros(part.primal.shape)
                                         if part.tangent is None else part.tangent.detach()
                                         for part in parts))
    blocks = []
    for k in range(len(columns[0][0])):
        row = tuple(_torch["stack"]([tangents[k] for tangents in of_input], -1)
                    .reshape(*of_input[0][k].shape, *x.shape) for of_input, x in zip(columns, xs))
        blocks.append(row if several else row[0])
    return tuple(blocks) if out_several else blocks[0]


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
             vectorize: bool = False, strategy: str = "reverse-mode") -> Any:
    """The Jacobian of ``func``: for each output and input a tensor of shape output.shape + input.shape.

    >>> import flambeau as torch
    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
                             'function has more outputs than inputs, "forward-mode" tends to be more '
                             'performant. Otherwise, prefer to use "reverse-mode".')
    if vectorize and strict:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                           "supported together. Please either set `strict=False` or `vectorize=False`.")
    if strategy == "forward-mode":
        if not vectorize:
            raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
                                      "only implemented for `vectorize=True`.")
        return _forward_mode(func, inputs, create_graph)
    with enable_grad():
        several, xs = as_tuple(inputs, "inputs", "jacobian")
        xs = _inputs(xs, create_graph)
        out_several, outs = as_tuple(func(*xs), OUTPUTS, "jacobian")
        outputs_depend(outs, strict)
        blocks = []
        for position, out in enumerate(outs):
            row = (_block_at_once(out, xs, create_graph) if vectorize
                   else _block(position, out, xs, create_graph, strict))
            if not create_graph:
                row = tuple(b.detach() for b in row)
            blocks.append(row if several else row[0])
    return tuple(blocks) if out_several else blocks[0]


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
            vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """The Hessian of a function with one number as its output."""
    several = as_tuple(inputs, "inputs", "hessian")[0]
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def gradient(*args: Tensor) -> Any:
        args = tuple(x if x.requires_grad else x.requires_grad_() for x in args)
        value = single(func(*args), "hessian", strict)
        found = known(_gradients((value,), args, None, True), args, False, "")
        gradient_depends(found, strict)
        return found if several else found[0]

    if outer_jacobian_strategy == "forward-mode" and vectorize:
        with enable_grad():
            return _forward_mode(gradient, inputs, create_graph)
    return jacobian(gradient, inputs, create_graph=create_graph, strict=strict, vectorize=vectorize,
                    strategy=outer_jacobian_strategy)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """The value of a scalar function and the product of its Hessian with a vector."""
    return _hessian_product(func, inputs, v, create_graph, strict, "hvp")


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """The value of a scalar function and the product of a vector with its Hessian, which is symmetric."""
    return _hessian_product(func, inputs, v, create_graph, strict, "vhp")


def _hessian_product(func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool,
                     function: str) -> tuple[Any, Any]:
    with enable_grad():
        several, xs = as_tuple(inputs, "inputs", function)
        xs = _inputs(xs, create_graph)
        vs = vectors(v, xs, several, function, "the input to the user-provided function is")
        result = func(*xs)
        value = single(result, function, strict)
        found = _gradients((value,), xs, None, True)
        first = known(found, xs, strict, "The output of the user-provided function")
        gradient_depends(first, strict)
        second = known(_gradients(first, xs, vs, create_graph), xs, False, "")
        differentiable_again(second, strict and create_graph)
    return _shaped((result,), False, create_graph), _shaped(second, several, create_graph)
