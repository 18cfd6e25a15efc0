"""``torch.autograd.functional``: Jacobians, Hessians and their products with vectors.

With ``strict`` an output that does not depend on an input is an error, and with ``create_graph`` as well a
result that cannot be differentiated again; otherwise their derivatives are zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..operators.creation.creation import eye, ones_like, zeros_like
from ..operators.shapes.joining import stack
from ..tensor import Tensor
from .backward import grad
from .grad_mode import enable_grad

Tensors = tuple[Tensor, ...]

_STRICT = "This is not allowed in strict mode"
_DETACHED = "Output {} of the user-provided function does not require gradients. The outputs must be " \
            "computed in a differentiable manner from the input when running in strict mode."
_INDEPENDENT = f"The output of the user-provided function is independent of input {{}}. {_STRICT}."
_JACOBIAN = f"The jacobian of the user-provided function is independent of input {{}}. {_STRICT} when " \
            "create_graph=True."
_HESSIAN = f"The hessian of the user-provided function is independent of input {{}}. {_STRICT} when " \
           "create_graph=True."
_LINEAR = "While computing the hessian, found that the jacobian of the user-provided function with respect " \
          f"to input {{}} is independent of the input. {_STRICT}. You should ensure that your function is " \
          "twice differentiable and that the jacobian depends on the inputs (this would be violated by a " \
          "linear function for example)."
_ONE_OUTPUT = "the user-provided function returns a single Tensor with a single element."
_ONE_INPUT = "the input to the user-provided function is a single Tensor with a single element."
_OUTPUTS = "outputs of the user-provided function"


# --- arguments ----------------------------------------------------------------------------------------------


def _as_tuple(value: Any, name: str, function: str) -> tuple[bool, Tensors]:
    several = isinstance(value, tuple)
    values = value if several else (value,)
    for i, x in enumerate(values):
        if not isinstance(x, Tensor):
            what = f"value at index {i}" if several else f"given {name}"
            raise TypeError(f"The {name} given to {function} must be either a Tensor or a tuple of Tensors "
                            f"but the {what} has type {type(x)}.")
    return several, values


def _inputs(inputs: Tensors, create_graph: bool) -> Tensors:
    """The inputs as leaves, or, to be differentiated further, as views of those that require gradients."""
    return tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_()
                 for x in inputs)


def _vector(v: Any, like: Tensors, several: bool, function: str, alone: str) -> Tensors:
    """The vector that a product is with; left out it is 1, where there is one element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {alone}")
        return (ones_like(like[0]),)
    _, vs = _as_tuple(v, "v", function)
    if len(vs) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vs)}."
                           if several else "The given v should contain a single Tensor.")
    for i, (x, expected) in enumerate(zip(vs, like)):
        if x.shape != expected.shape:
            raise RuntimeError(f"{f'Entry {i} in ' if several else ''}v has invalid size: should be "
                               f"{expected.shape} but got {x.shape}.")
    return vs


def _single(found: Any, function: str, strict: bool) -> Tensor:
    """The value of a function that has to give one number."""
    several, outs = _as_tuple(found, _OUTPUTS, function)
    _require_gradients(outs, strict, _DETACHED)
    if several:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single "
                           "element")
    return outs[0]


# --- results ------------------------------------------------------------------------------------------------


def _gradients(outs: Sequence[Tensor], xs: Tensors, weights: Sequence[Tensor],
               create_graph: bool) -> tuple[Tensor | None, ...]:
    live = [(out, weight) for out, weight in zip(outs, weights) if out.requires_grad]
    if not live:
        return (None,) * len(xs)
    return grad([out for out, _ in live], xs, [weight for _, weight in live], retain_graph=True,
                create_graph=create_graph, allow_unused=True)


def _require_gradients(found: Tensors, strict: bool, message: str) -> None:
    for i, x in enumerate(found):
        if strict and not x.requires_grad:
            raise RuntimeError(message.format(i))


def _filled(found: Sequence[Tensor | None], like: Tensors, strict: bool = False, independent: str = "",
            constant: str = "") -> Tensors:
    """Zeros for what is None. In strict mode that is an error, ``independent``, and ``constant`` is another,
    for what cannot be differentiated.
    """
    for i, x in enumerate(found if strict else ()):
        if x is None:
            raise RuntimeError(independent.format(i))
        if constant and not x.requires_grad:
            raise RuntimeError(constant.format(i))
    return tuple(zeros_like(x) if g is None else g for g, x in zip(found, like))


def _shaped(values: Tensors, several: bool, create_graph: bool) -> Any:
    found = values if create_graph else tuple(v.detach() for v in values)
    return found if several else found[0]


# --- products -----------------------------------------------------------------------------------------------


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """The output, and v^T J: the product of a vector of the output's shape with the Jacobian of ``func``.

    >>> import flambeau as torch
    >>> torch.autograd.functional.vjp(lambda x: x * x, torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        several, xs = _as_tuple(inputs, "inputs", "vjp")
        xs = _inputs(xs, create_graph)
        out_several, outs = _as_tuple(func(*xs), _OUTPUTS, "vjp")
        _require_gradients(outs, strict, _DETACHED)
        weights = _vector(v, outs, out_several, "vjp", _ONE_OUTPUT)
        products = _filled(_gradients(outs, xs, weights, create_graph), xs, strict, _INDEPENDENT,
                           _JACOBIAN if create_graph else "")
    return _shaped(outs, out_several, create_graph), _shaped(products, several, create_graph)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """The output, and J v: the product of the Jacobian of ``func`` with a vector of the input's shape.

    It is found by differentiating twice: J^T u is linear in u, and the gradient of v^T J^T u by u is J v.

    >>> import flambeau as torch
    >>> torch.autograd.functional.jvp(lambda x: x * x, torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        several, xs = _as_tuple(inputs, "inputs", "jvp")
        xs = _inputs(xs, create_graph)
        vs = _vector(v, xs, several, "jvp", _ONE_INPUT)
        out_several, outs = _as_tuple(func(*xs), _OUTPUTS, "jvp")
        _require_gradients(outs, strict, _DETACHED)
        probes = tuple(zeros_like(out).requires_grad_() for out in outs)
        first = _filled(_gradients(outs, xs, probes, True), xs, strict, _INDEPENDENT)
        products = _filled(_gradients(first, probes, vs, create_graph), outs)
        _require_gradients(products, strict and create_graph, _JACOBIAN)
    return _shaped(outs, out_several, create_graph), _shaped(products, out_several, create_graph)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """The value of a function that gives one number, and H v: the product of its Hessian with a vector.

    >>> import flambeau as torch
    >>> x, v = torch.tensor([1., 2.]), torch.tensor([1., 10.])
    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), x, v)
    (tensor(9.), tensor([  6., 120.]))
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "hvp")


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """The value of a function that gives one number, and v^T H: the product of a vector with its Hessian.

    >>> import flambeau as torch
    >>> value, product = torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.ones(2), torch.ones(2))
    >>> value, product
    (tensor(2.), tensor([6., 6.]))
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "vhp")


def _hessian_product(func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool,
                     function: str) -> tuple[Any, Any]:
    """The Hessian is symmetric: both products are the gradient of v^T g, where g is the gradient."""
    with enable_grad():
        several, xs = _as_tuple(inputs, "inputs", function)
        xs = _inputs(xs, create_graph)
        vs = _vector(v, xs, several, function, _ONE_INPUT)
        value = _single(func(*xs), function, strict)
        first = _gradients((value,), xs, (ones_like(value),), True)
        first = _filled(first, xs, strict, _INDEPENDENT, _LINEAR)
        products = _filled(_gradients(first, xs, vs, create_graph), xs)
        _require_gradients(products, strict and create_graph, _HESSIAN)
    return _shaped((value,), False, create_graph), _shaped(products, several, create_graph)


# --- whole matrices -----------------------------------------------------------------------------------------


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
             vectorize: bool = False, strategy: str = "reverse-mode") -> Any:
    """The Jacobian of ``func``: for each output and input a tensor of shape output.shape + input.shape.

    ``vectorize`` computes all rows in one pass; with ``strategy="forward-mode"`` it is all columns.

    >>> import flambeau as torch
    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    assert strategy in ("forward-mode", "reverse-mode"), (
        'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more '
        'outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use '
        '"reverse-mode".')
    if strategy == "forward-mode":
        return _by_columns(func, inputs, create_graph, strict, vectorize)
    if strict and vectorize:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                           "supported together. Please either set `strict=False` or `vectorize=False`.")
    with enable_grad():
        several, xs = _as_tuple(inputs, "inputs", "jacobian")
        xs = _inputs(xs, create_graph)
        out_several, outs = _as_tuple(func(*xs), _OUTPUTS, "jacobian")
        _require_gradients(outs, strict, _DETACHED)
        blocks = []
        for i, out in enumerate(outs):
            found = _rows_at_once(out, xs, create_graph) if vectorize \
                else _rows(out, i, xs, create_graph, strict)
            blocks.append(_shaped(found, several, create_graph))
    return tuple(blocks) if out_several else blocks[0]


def _rows(out: Tensor, i: int, xs: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The Jacobians of output i by each input, with a backward pass for each row."""
    independent = f"Output {i} of the user-provided function is independent of input {{}}. {_STRICT}."
    rows = [_filled(_gradients((element,), xs, (ones_like(element),), create_graph), xs, strict, independent,
                    _JACOBIAN if create_graph else "") for element in out.reshape(-1).unbind(0)]
    return tuple(stack([row[j] for row in rows]).reshape((*out.shape, *x.shape)) if rows
                 else x.new_zeros((*out.shape, *x.shape)) for j, x in enumerate(xs))


def _rows_at_once(out: Tensor, xs: Tensors, create_graph: bool) -> Tensors:
    found: Any = (None,) * len(xs)
    if out.numel() and out.requires_grad:
        units = eye(out.numel(), dtype=out.dtype).reshape(out.numel(), *out.shape)
        found = grad(out, xs, units, True, create_graph, allow_unused=True, is_grads_batched=True)
    return tuple(x.new_zeros((*out.shape, *x.shape)) if g is None else g.reshape((*out.shape, *x.shape))
                 for g, x in zip(found, xs))


def _by_columns(func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool,
                vectorize: bool) -> Any:
    """The Jacobian by forward mode."""
    told = "torch.autograd.functional.jacobian: `{}=True` and `strategy=\"forward-mode\"` are not " \
           "supported together (yet). Please either set `{}=False` or `strategy=\"reverse-mode\"`."
    if strict:
        raise RuntimeError(told.format("strict", "strict"))
    if create_graph:
        raise NotImplementedError(told.format("create_graph", "create_graph"))
    if not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
                                  "only implemented for `vectorize=True`.")
    from ..func import jvp as pushed  # made of autograd
    from ..func import vmap  # made of autograd

    several, xs = _as_tuple(inputs, "inputs", "jacobian")
    xs = tuple(x.detach() for x in xs)
    out_several, outs = _as_tuple(func(*xs), _OUTPUTS, "jacobian")

    def columns(j: int, x: Tensor) -> Tensors:
        if not x.numel():
            return tuple(out.new_zeros((*out.shape, *x.shape)) for out in outs)
        units = eye(x.numel(), dtype=x.dtype).reshape(x.numel(), *x.shape)
        found = vmap(lambda v: pushed(lambda y: func(*xs[:j], y, *xs[j + 1:]), (x,), (v,))[1])(units)
        return tuple(part.detach().movedim(0, -1).reshape((*out.shape, *x.shape))
                     for part, out in zip(found if out_several else (found,), outs))
    blocks = list(zip(*(columns(j, x) for j, x in enumerate(xs))))
    if several:
        return [list(block) for block in blocks] if out_several else list(blocks[0])
    return tuple(block[0] for block in blocks) if out_several else blocks[0][0]


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
            vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """The Hessian of a function that gives one number: for each two inputs a tensor of both their shapes.

    It is the Jacobian, by ``outer_jacobian_strategy``, of the gradient.

    >>> import flambeau as torch
    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    several, _ = _as_tuple(inputs, "inputs", "hessian")
    assert outer_jacobian_strategy in ("forward-mode", "reverse-mode"), \
        'Expected strategy to be either "forward-mode" or "reverse-mode".'

    def gradient(*given: Tensor) -> Any:
        with enable_grad():
            xs = tuple(x if x.requires_grad else x.detach().requires_grad_() for x in given)
            value = _single(func(*xs), "hessian", strict)
            found = _filled(_gradients((value,), xs, (ones_like(value),), True), xs, strict, _LINEAR, _LINEAR)
        return found if several else found[0]
    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
