"""Rules of what layers are made of, for a batch in front: windows, normalization, attention, losses.

Many have a batch of their own, which takes the other one in, or channels, which do.
"""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor, record
from .batching import Call
from .batching_rules import moved, rule

# --- convolution, pooling, sampling -------------------------------------------------------------------------

def folded(x: Tensor) -> Tensor:
    """The batch and the dimension after it as one."""
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


def unfolded(x: Any, size: int) -> Any:
    """The inverse of ``folded``, of each result."""
    if isinstance(x, tuple):
        return tuple([unfolded(each, size) for each in x])
    return x.reshape(size, x.shape[0] // size, *x.shape[1:])


def in_channels(x: Tensor) -> Tensor:
    """The batch (B, N, C, ...) in the channels: (N, B C, ...)."""
    return x.transpose(0, 1).reshape(x.shape[1], x.shape[0] * x.shape[2], *x.shape[3:])


def out_of_channels(x: Tensor, size: int) -> Tensor:
    """The inverse of ``in_channels``."""
    return x.reshape(x.shape[0], size, x.shape[1] // size, *x.shape[2:]).transpose(0, 1)


@rule("convolution", "convolution_input")
def _convolution(call: Call) -> Any:
    """With one weight for all the batch joins the examples; else each example has groups of its own."""
    x, weight = call.operands[:2]
    rest = call.operands[2:]
    if not call.has[1] and not any(call.has[2:]):
        return unfolded(call.again(folded(x), weight, *rest), call.size)
    groups = _more_groups(call)
    filters = folded(call.front(1))
    biases = [None if b is None else call.front(i + 2).reshape(-1) for i, b in enumerate(rest)]
    found = call.again(in_channels(call.front(0)), filters, *biases, attributes=groups)
    return out_of_channels(found, call.size)


@rule("convolution_weight")
def _convolution_weight(call: Call) -> Any:
    found = call.again(in_channels(call.front(0)), in_channels(call.front(1)), attributes=_more_groups(call))
    return unfolded(found, call.size)


def _more_groups(call: Call) -> tuple[Any, ...]:
    """The attributes with as many groups for each example; the last one may ask for channels last."""
    *others, last = call.attributes
    if last is True:
        return (*others[:-1], others[-1] * call.size, last)
    return (*others, last * call.size)


def _on_folded(call: Call, spatial: int, attributes: tuple[Any, ...] | None = None) -> Any:
    """An operator on (N, C, *spatial) or (C, *spatial) with the batch as (part of) N."""
    operands = [call.front(i) for i in range(len(call.operands))]
    if call.ndim(0) <= spatial + 1:
        return call.again(*operands, attributes=attributes) if call.ndim(0) == spatial + 1 else None
    return unfolded(call.again(*[folded(x) for x in operands], attributes=attributes), call.size)


@rule("max_pool", "max_pool_values", "avg_pool", "adaptive_max_pool")
def _pool(call: Call) -> Any:
    return _on_folded(call, len(call.attributes[0]))


@rule("pool_scatter")
def _pool_scatter(call: Call) -> Any:
    return _on_folded(call, call.attributes[1])


@rule("pool_gather")
def _pool_gather(call: Call) -> Any:
    return _on_folded(call, call.attributes[0])


@rule("avg_pool_backward")
def _avg_pool_backward(call: Call) -> Any:
    shape, kernel = call.attributes[:2]
    larger = (call.size * shape[0], *shape[1:]) if len(shape) > len(kernel) + 1 else (call.size, *shape)
    return _on_folded(call, len(kernel), (larger, *call.attributes[1:]))


@rule("grid_sample", "grid_sample_input", "grid_sample_grid")
def _grid_sample(call: Call) -> Any:
    """Images have a batch of their own, which takes the other one in."""
    found = call.again(*[call.front(i).flatten(0, 1) for i in range(len(call.operands))])
    return found.unflatten(0, (call.size, -1))


@rule("im2col", "col2im")
def _columns(call: Call) -> Any:
    return unfolded(call.again(folded(call.operands[0])), call.size)


# --- normalization and attention ----------------------------------------------------------------------------

@rule("native_layer_norm")
def _layer_norm(call: Call) -> Any:
    dims = moved(call.attributes[0])
    x, eps = call.front(0), call.operands[3]
    if not call.has[1] and not call.has[2]:
        return call.again(x, *call.operands[1:4], attributes=(dims,))
    result, mean, rstd = call.again(x, None, None, eps, attributes=(dims,))
    weight, bias = [None if call.operands[i] is None else call.aligned(i, call.ndim(0)) for i in (1, 2)]
    result = result if weight is None else result * weight
    return (result if bias is None else result + bias).to(x.dtype), mean, rstd


@rule("native_batch_norm")
def _batch_norm(call: Call) -> Any:
    """The statistics are of each channel of each example: the batch joins the channels."""
    affine = [None if call.operands[i] is None else call.front(i).reshape(-1) for i in (1, 2)]
    result, mean, rstd = call.again(in_channels(call.front(0)), *affine, call.operands[3])
    return out_of_channels(result, call.size), mean.reshape(call.size, -1), rstd.reshape(call.size, -1)


@rule("native_group_norm")
def _group_norm(call: Call) -> Any:
    """The examples join the samples; what is of channels comes after, if it differs."""
    x = call.front(0)
    affine = [None if call.has[i] else call.operands[i] for i in (1, 2)]
    if call.has[1]:
        affine[1] = None
    results = call.again(x.flatten(0, 1), *affine, call.operands[3])
    result, mean, rstd = [r.unflatten(0, (call.size, -1)) for r in results]
    for i, join in ((1, Tensor.__mul__), (2, Tensor.__add__)):
        if call.operands[i] is not None and affine[i - 1] is None:
            own = call.front(i).unsqueeze(1) if call.has[i] else call.operands[i].unsqueeze(0)
            result = join(result, own.reshape(*own.shape, *([1] * (x.ndim - 3)))).to(x.dtype)
    return result, mean, rstd


@rule("scaled_dot_product_attention")
def _attention(call: Call) -> Any:
    q, k, v = (call.front(i) for i in range(3))
    mask = call.operands[3]
    mask = mask if mask is None else call.aligned(3, call.ndim(0))
    return call.again(q, k, v, mask, *call.operands[4:])


# --- losses -------------------------------------------------------------------------------------------------

@rule("nll_loss")
def _nll_loss(call: Call) -> Any:
    """The losses of all examples' elements, reduced example by example."""
    weight = call.operands[2]
    if call.has[2]:
        return None
    ignore_index, reduction = call.attributes
    x, target = call.front(0), call.front(1)
    single = call.ndim(0) == 1
    losses = record(call.operator, (x if single else folded(x), target if single else folded(target), weight),
                    (ignore_index, "none"))[0]
    losses = losses if single else unfolded(losses, call.size)
    kept = target != ignore_index
    shares = kept.to(call.outputs[1].dtype)
    if weight is not None:
        shares = shares * weight[target.where(kept, 0)].to(shares.dtype)
    total = shares.reshape(call.size, -1).sum(1)
    if reduction != "none":
        losses = losses.reshape(call.size, -1).sum(1)
    if reduction == "mean":
        losses = losses / total
    return losses.to(call.outputs[0].dtype), total
