"""Gradients of each example of a batch: ``call_for_per_sample_grads``.

While the module runs, its parameters stand for one copy for each example, and the functions that layers are
made of are mapped over examples and copies. So what backward gives for the copies are the examples' own
gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ...autograd import Function
from ...func import functional_call, vmap
from ...tensor import Tensor
from ...utils._pytree import tree_leaves
from ..modules.module import Module

# The functions of layers, by name, and where their input, weight and bias stand.
_LAYERS = {"linear": (0, 1, 2), "conv1d": (0, 1, 2), "conv2d": (0, 1, 2), "conv3d": (0, 1, 2),
           "layer_norm": (0, 2, 3), "group_norm": (0, 2, 3), "instance_norm": (0, 3, 4), "embedding": (0, 1)}
_NAMES = ("input", "weight", "bias")
# These want a batch: an example becomes a batch of one.
_BATCHED = frozenset({"group_norm", "instance_norm"})
_FACTS = frozenset({"__get__", "dim", "size", "numel", "is_floating_point", "is_complex"})


class _Copies(Function):
    """One copy of a parameter for each example; backward keeps their gradients as ``grad_sample``."""

    _suits_transforms = True

    @staticmethod
    def forward(ctx: Any, parameter: Tensor, count: int, scale: float) -> Tensor:
        ctx.parameter, ctx.scale = parameter, scale
        return parameter.detach().expand(count, *parameter.shape)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        found, parameter = grads[0] * ctx.scale, ctx.parameter
        known = getattr(parameter, "grad_sample", None)
        parameter.grad_sample = found if known is None else known + found
        return None, None, None


class ExpandedWeight(Tensor):
    """A parameter while the gradients of examples are recorded.

    >>> import flambeau as torch
    >>> from flambeau.nn.utils._per_sample_grad import call_for_per_sample_grads
    >>> layer = torch.nn.Linear(2, 1)
    >>> call_for_per_sample_grads(layer)(torch.ones(3, 2)).sum().backward()
    >>> layer.weight.grad_sample.shape
    torch.Size([3, 1, 2])
    """

    orig_weight: Tensor
    batch_size: int
    scale: float
    batch_dim: int

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = getattr(func, "__name__", str(func)), kwargs or {}
        if name in _LAYERS:
            return _mapped(func, name, args, kwargs)
        if name in _FACTS:
            return super().__torch_function__(func, types, args, kwargs)
        raise RuntimeError(f"Expanded Weights encountered but cannot handle function {name}")


def _expanded(parameter: Tensor, count: int, scale: float, batch_dim: int) -> Any:
    stand_in: Any = Tensor._make_subclass(ExpandedWeight, parameter.detach())
    stand_in.orig_weight, stand_in.batch_size, stand_in.scale = parameter, count, scale
    stand_in.batch_dim = batch_dim
    return stand_in


def _mapped(function: Callable[..., Any], name: str, args: tuple[Any, ...],
            kwargs: dict[str, Any]) -> Tensor:
    """The function of a layer, over examples and their own copies of the parameters."""
    # All arguments by what they are given by: positions and names.
    given: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
    keys = [place if place in given else said for place, said in zip(_LAYERS[name], _NAMES)]
    values = [given.get(key) for key in keys]
    one, x = next(value for value in values if isinstance(value, ExpandedWeight)), given[keys[0]]
    dim = 0 if name.startswith("conv") or name in _BATCHED else one.batch_dim
    if x.shape[dim] != one.batch_size:
        raise RuntimeError("Expected ExpandedWeights to have batch size matching input but got input batch "
                           f"size of {x.shape[dim]} with ExpandedWeight of batch size {one.batch_size}")

    def of_one(*members: Any) -> Tensor:
        now = {**given, **{key: member for key, member in zip(keys, members) if member is not None}}
        if name in _BATCHED:
            now[keys[0]] = members[0].unsqueeze(0)
        named = {key: value for key, value in now.items() if isinstance(key, str)}
        found: Tensor = function(*(now[i] for i in range(len(args))), **named)
        return found.squeeze(0) if name in _BATCHED else found
    copies = [_Copies.apply(value.orig_weight, value.batch_size, value.scale)
              if isinstance(value, ExpandedWeight) else value for value in values]
    in_dims = (dim, *(0 if isinstance(value, ExpandedWeight) else None for value in values[1:]))
    result: Tensor = vmap(of_one, in_dims=in_dims, out_dims=dim)(*copies)
    return result


def call_for_per_sample_grads(module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum",
                              batch_first: bool = True) -> Callable[..., Any]:
    """The module, such that backward gives each parameter ``grad_sample`` (N, *): one gradient an example.

    ``loss_reduction`` says whether the loss sums over the examples or takes their mean.

    >>> import flambeau as torch
    >>> from flambeau.nn.utils._per_sample_grad import call_for_per_sample_grads
    >>> layer = torch.nn.Linear(2, 1)
    >>> call_for_per_sample_grads(layer)(torch.tensor([[1., 2.], [3., 4.]])).sum().backward()
    >>> layer.weight.grad_sample
    tensor([[[1., 2.]],
    <BLANKLINE>
            [[3., 4.]]])
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for parameter in module.parameters():
        if getattr(parameter, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple "
                "calls without clearing gradients. Please clear out the grad_sample parameter of "
                f"{parameter} or post an issue to pytorch/pytorch to prioritize correct behavior")

    @wraps(module.forward)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        dim = 0 if batch_first else 1
        count = _batch_size(args, kwargs, dim) if batch_size is None else batch_size
        scale = 1.0 if loss_reduction == "sum" else float(count)
        members = {name: _expanded(x, count, scale, dim) for name, x in module.named_parameters()
                   if x.requires_grad}
        return functional_call(module, members, args, kwargs)
    return wrapper


def _batch_size(args: Any, kwargs: Any, dim: int) -> int:
    sizes = {x.shape[dim] for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor) and x.ndim > dim}
    if not sizes:
        raise RuntimeError("Unable to find a tensor in the passed args and kwargs. They may not be pytree-"
                           "able and so ExpandedWeights cannot infer the batch size. Please specify "
                           "explicitly")
    if len(sizes) > 1:
        raise RuntimeError(f"When inferring batch size from input, found several: {sorted(sizes)}. Please "
                           "specify it explicitly")
    return int(sizes.pop())


__all__ = ["call_for_per_sample_grads"]
