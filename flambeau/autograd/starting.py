"""Where a backward pass starts and ends: outputs and inputs (tensors or edges), and starting gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import dtypes
from ..graph.geometry import Geometry
from ..operators.creation.creation import filled, ones_like
from ..size import Size
from ..tensor import Tensor
from ..tensor.leaves import AccumulateGrad
from ..tensor.recording.history import edge
from ..tensor.tape import GradFn


class GradientEdge(NamedTuple):
    """Where a gradient arrives: a node and the number of its output; ``grad`` takes it for a tensor.

    >>> import flambeau as torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> edge = torch.autograd.graph.GradientEdge((w * 2).grad_fn, 0)
    >>> torch.autograd.grad(edge, w, torch.ones(1))
    (tensor([2.]),)
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def leaf_or_edge(x: Any) -> Any:
    """A tensor as it is; the tensor of an edge to a leaf; else the edge."""
    return x.node.variable if isinstance(x, GradientEdge) and isinstance(x.node, AccumulateGrad) else x


def tensors_of(value: Any) -> tuple[Tensor, ...] | None:
    """A tensor, or several in a list or tuple, if there is nothing else among them."""
    if isinstance(value, Tensor):
        return (value,)
    if value.__class__ is not list and value.__class__ is not tuple:
        return None
    return tuple(value) if all([isinstance(x, Tensor) for x in value]) else None  # noqa: C419


def outputs_of(value: Any) -> tuple[Any, ...]:
    """``outputs`` of grad, ``tensors`` of backward: a tuple of tensors and edges."""
    outputs = (value,) if isinstance(value, (Tensor, GradientEdge)) else tuple(value)
    for x in outputs:
        if not isinstance(x, (Tensor, GradientEdge)):
            raise AssertionError("Expected output to be a torch.Tensor")
    return tuple([leaf_or_edge(x) for x in outputs])


def inputs_of(value: Any, function: str) -> tuple[Any, ...]:
    """``inputs`` of grad and backward: a tuple of tensors and edges."""
    inputs = (value,) if isinstance(value, (Tensor, GradientEdge)) else tuple(value)
    if not inputs:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    for x in inputs:
        if not isinstance(x, (Tensor, GradientEdge)):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(x).__name__}")
    return tuple([leaf_or_edge(x) for x in inputs])


def start_of(root: Any) -> Any:
    """Where the gradient of an output goes (Note: edges)."""
    if not isinstance(root, GradientEdge):
        return edge(root)
    return (root.node, root.output_nr) if root.output_nr else root.node


def place_of(x: Any) -> tuple[GradFn, int] | None:
    """The node and output number at which the gradient of an input arrives; None for a leaf."""
    if isinstance(x, GradientEdge):
        return x.node, x.output_nr
    fn = x._grad_fn if x._base is None else x.grad_fn
    return None if fn is None else (fn, x._output_nr)


def geometry_of(root: Any) -> Geometry:
    """Shape, dtype and device of an output."""
    geometry: Geometry = (root._geometry if isinstance(root, Tensor)
                          else root.node.output_geometries[root.output_nr])
    return geometry


def starting_gradients(roots: Sequence[Any], given: Any) -> list[Tensor]:
    """The gradient each output starts with: what was given, or 1 for a single number."""
    if len(roots) == 1 and (given is None or given.__class__ is Tensor):
        return [_starting_gradient(roots[0], given, 0)]
    if given is None:
        grads: tuple[Any, ...] = (None,) * len(roots)
    else:
        grads = (given,) if isinstance(given, Tensor) else tuple(given)
    if len(grads) < len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
    return [_starting_gradient(root, g, i) for i, (root, g) in enumerate(zip(roots, grads))]


def _starting_gradient(root: Any, given: Any, i: int) -> Tensor:
    if isinstance(root, Tensor) and not (root._requires_grad and root._base is None) \
            and (not root.requires_grad or edge(root) is None):
        raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
    g = geometry_of(root)
    if given.__class__ is Tensor and given._geometry.shape == g.shape and given._geometry.dtype is g.dtype:
        return given
    if given is None:
        if g.numel != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if g.dtype.category != dtypes.FLOATING:
            raise RuntimeError("grad can be implicitly created only for real scalar outputs but got "
                               f"{g.dtype!r}")
        return filled(g, 1) if g.offset == 0 and g.is_contiguous else ones_like(root)
    if not isinstance(given, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(given).__name__}")
    if given.shape != g.shape:
        raise RuntimeError(f"Mismatch in shape: grad_output[{i}] has a shape of {given.shape} and "
                           f"output[{i}] has a shape of {Size(g.shape)}.")
    if given.is_complex() != g.dtype.is_complex:
        raise RuntimeError("For complex Tensors, both grad_output and output are required to have the same "
                           f"dtype. Mismatch in dtype: grad_output[{i}] has a dtype of {given.dtype!r} and "
                           f"output[{i}] has a dtype of {g.dtype!r}.")
    return given.to(g.dtype)
