"""Losses for classification: negative log likelihood, cross entropy and binary cross entropy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...graph.geometry import Geometry, contiguous
from ...graph.recent import Recent
from ...tensor import Tensor, composed, record, record_pair
from ...tensor.warned import warn
from ..activations.smooth_activation import logsigmoid, softplus
from ..activations.softmax import log_softmax
from ..calls.arguments import require_integer, type_in_words
from ..declaration.definition import arithmetic_dtype, operator, pointwise_operator
from ..declaration.registry import api
from ..declaration.undifferentiable import require_constant
from ..indexing.bounds import known_range, limits_of
from ..interop.looking import look


def reduction_of(size_average: Any, reduce: Any, reduction: str) -> str:
    """The reduction's name from the present argument and the two deprecated ones."""
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
        warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' "
             "instead.")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def older_reduction(size_average: Any, reduce: Any) -> str:
    """The reduction that the two deprecated arguments mean; each is True unless given."""
    if reduce is not None and not reduce:
        return "none"
    return "mean" if size_average is None or size_average else "sum"


def reduce_loss(loss: Tensor, reduction: str) -> Tensor:
    """The mean or sum of a loss, or the loss itself."""
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


# --- negative log likelihood --------------------------------------------------------------------------------

def _nll_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    x, target = operands[:2]
    reduction = attributes[1]
    loss = contiguous(target.shape if reduction == "none" else (), x.dtype, x.device)
    return loss, contiguous((), arithmetic_dtype(x.dtype), x.device)


def _target_weights(target: Any, weight: Any, classes: int, ignore_index: int,
                    numpy_type: Any) -> tuple[Any, Any]:
    """Valid indices (ignored ones as 0) and the weight of each position."""
    smallest, largest = limits_of(target) if target.size else (0, 0)
    if 0 <= smallest and largest < classes and weight is None and not 0 <= ignore_index < classes:
        return target, np.ones(target.shape, numpy_type)
    ignored = target == ignore_index
    wrong = ~ignored & ((target < 0) | (target >= classes))
    if wrong.any():
        raise IndexError(f"Target {int(target[wrong].reshape(-1)[0])} is out of bounds.")
    index = np.where(ignored, 0, target)
    if weight is None:
        return index, (~ignored).astype(numpy_type)
    return index, np.where(ignored, 0, weight[index]).astype(numpy_type)


@operator("nll_loss", _nll_geometry)
def NLL_LOSS(m: Any, input: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    """-weight[target] input[target] over (N, C, *) and (N, *), with the total weight."""
    axis = 1 if input.ndim > 1 else 0
    wide = input if input.dtype.kind in "f" and input.itemsize >= 4 else input.astype(np.float32)
    index, weights = _target_weights(target, weight, input.shape[axis], ignore_index, wide.dtype)
    picked = wide[_places(index, axis)]
    losses = np.where(weights == 0, 0, -picked * weights).astype(wide.dtype, copy=False)
    total = weights.sum()
    if reduction == "none":
        return losses, total
    return (losses.sum() / total if reduction == "mean" else losses.sum()), total


def _nll_backward_geometry(operands: Any, attributes: Any) -> Geometry:
    return contiguous(attributes[2], attributes[3], operands[0].device)


@operator("nll_loss_backward", _nll_backward_geometry)
def NLL_LOSS_BACKWARD(m: Any, grad: Any, target: Any, weight: Any, total: Any, ignore_index: int,
                      reduction: str, shape: Any, dtype: Any) -> Any:
    """-weight[target] at the targets, 0 elsewhere."""
    axis = 1 if len(shape) > 1 else 0
    numpy_type = arithmetic_dtype(dtype).numpy
    index, weights = _target_weights(target, weight, shape[axis], ignore_index, numpy_type)
    values = -weights * (grad / total if reduction == "mean" else grad)
    result = np.zeros(shape, numpy_type)
    result[_places(index, axis)] = np.where(weights == 0, 0, values)
    return result


def _places(index: Any, axis: int) -> Any:
    """Where (N, C, *) has the classes (N, *); the first dimension is missing where ``axis`` is 0."""
    if index.ndim < 2:
        return (np.arange(index.size), index) if axis else index
    outer, *rest = np.indices(index.shape, sparse=True)
    return (outer, index, *rest)


@NLL_LOSS.derivative("input", keeps="target weight output1", formal="input")
def _(ctx: Any, grads: Any, target: Tensor, weight: Any, total: Tensor) -> Any:
    g = ctx.operand_geometry(0)
    if grads[0] is None:
        return None
    return record(NLL_LOSS_BACKWARD, (grads[0], target, weight, total.detach()),
                  (*ctx.attributes, tuple(g.shape), g.dtype))


@NLL_LOSS_BACKWARD.derivative("grad", keeps="target weight total")
def _(ctx: Any, grad: Tensor, target: Tensor, weight: Any, total: Tensor) -> Tensor:
    ignore_index, reduction, _, _ = ctx.attributes
    result: Tensor = record(NLL_LOSS, (grad, target, weight), (ignore_index, reduction))[0]
    return result


def _check_nll(input: Tensor, target: Tensor, weight: Any) -> None:
    if input.ndim == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    classes = input.shape[1 if input.ndim > 1 else 0]
    batch = input.shape[0] if input.ndim > 1 else 1
    if input.ndim > 1 and (target.ndim == 0 or target.shape[0] != batch):
        raise ValueError(f"Expected input batch_size ({batch}) to match target batch_size "
                         f"({target.shape[0] if target.ndim else 0}).")
    if (input.ndim == 1 and target.ndim not in (0, 1)) or (input.ndim == 2 and target.ndim != 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input.ndim > 2:
        _check_places(input, target)
    if target.dtype is not dtypes.int64 and target.dtype is not dtypes.uint8:
        raise RuntimeError("expected target dtype to be Long or Byte, but got "
                           f"{dtypes.SCALAR_NAMES[target.dtype]}")
    if input.ndim > 2 and target.dtype is dtypes.uint8:
        raise RuntimeError("expected scalar type Long but found Byte")
    if input.ndim == target.ndim == 1 and target.shape[0] != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
    if input.dtype.category != dtypes.FLOATING:
        raise NotImplementedError('"nll_loss_out_frame" not implemented for '
                                  f"'{dtypes.SCALAR_NAMES[input.dtype]}'")
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes "
                           f"but got weight tensor of shape: {list(weight.shape)}")
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {dtypes.SCALAR_NAMES[input.dtype]} but found "
                           f"{dtypes.SCALAR_NAMES[weight.dtype]}")


def _check_places(input: Tensor, target: Tensor) -> None:
    """Whether there is a class for each place of (N, C, *); pictures have words of their own."""
    expected = [input.shape[0], *input.shape[2:]]
    if list(target.shape) == expected:
        return
    if input.ndim == 4 and target.ndim != 3:
        raise RuntimeError("only batches of spatial targets supported (3D tensors) but got targets of "
                           f"dimension: {target.ndim}")
    if input.ndim == 4:
        raise RuntimeError(f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)}")
    raise RuntimeError(f"Expected target size {expected}, got {list(target.shape)}")


def check_classes(target: Tensor, classes: int, ignore_index: int) -> None:
    """Raise at the caller's line if targets that are already values are out of range."""
    limits = known_range(target)
    if limits is not None and (limits[0] < 0 or limits[1] >= classes):  # ignored ones may be anywhere
        array = look(target, "nll_loss", only_checks=True)
        wrong = (array != ignore_index) & ((array < 0) | (array >= classes))
        if wrong.any():
            raise IndexError(f"Target {int(array[wrong].reshape(-1)[0])} is out of bounds.")


# Geometries of inputs, targets and weights that were found to fit together.
_LARGEST = 1 << 63
_fitting: Recent[tuple[Any, ...], bool] = Recent(1 << 12)


@api("nn.functional")
def nll_loss(input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None,
             ignore_index: int = -100, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """-input[target] weighted by class: log probabilities (N, C, *) and classes (N, *).

    >>> import flambeau as torch
    >>> torch.nn.functional.nll_loss(torch.tensor([[-0.5, -2.]]), torch.tensor([0]))
    tensor(0.5000)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if ignore_index.__class__ is not int or not -_LARGEST <= ignore_index < _LARGEST:
        require_integer(ignore_index)
    return _nll_loss(input, target, weight, ignore_index, reduction)


_extent = tuple.__getitem__     # of a Size, whose own method looks for slices


def _nll_loss(input: Tensor, target: Tensor, weight: Any, ignore_index: int, reduction: str) -> Tensor:
    key = (input._geometry, target._geometry, None if weight is None else weight._geometry)
    if key not in _fitting:
        _check_nll(input, target, weight)
        _fitting.keep(key, True)
    if weight is not None:
        require_constant("nll_loss_forward", weight=weight)
    shape = input._geometry.shape
    check_classes(target, _extent(shape, 1 if len(shape) > 1 else 0), ignore_index)
    if len(shape) == 1 and target._geometry.ndim == 1:
        target = target.reshape(())
    result: Tensor = record(NLL_LOSS, (input, target, weight), (ignore_index, reduction), 1)[0]
    return result


@api("nn.functional")
def cross_entropy(input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None,
                  ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """-log softmax(input)[target]: logits (N, C, *) with classes (N, *) or probabilities (N, C, *).

    >>> import flambeau as torch
    >>> torch.nn.functional.cross_entropy(torch.tensor([[0., 0.]]), torch.tensor([1]))
    tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if ignore_index.__class__ is not int or not -_LARGEST <= ignore_index < _LARGEST:
        require_integer(ignore_index)
    axis = 0 if input._geometry.ndim == 1 else 1
    if label_smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if target._geometry.shape == input._geometry.shape:
        if target._geometry.dtype.category != dtypes.FLOATING:
            raise RuntimeError("Expected floating point type for target with class probabilities, got "
                               f"{dtypes.SCALAR_NAMES[target.dtype]}")
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _cross_entropy_probabilities(input, target, weight, reduction, label_smoothing, axis)
    logs = log_softmax(input, axis)
    if label_smoothing <= 0:
        return _nll_loss(logs, target, weight, ignore_index, reduction)
    return _smoothed(logs, target, weight, ignore_index, reduction, label_smoothing, axis)


def _smoothed(logs: Tensor, target: Tensor, weight: Any, ignore_index: int, reduction: str, smoothing: float,
              axis: int) -> Tensor:
    """(1 - s) nll + s / C sum of -log p over the classes."""
    nll = _nll_loss(logs, target, weight, ignore_index, reduction)
    shape = [1] * logs.ndim
    shape[axis] = -1
    classes = logs.shape[axis]
    spread = -(logs if weight is None else logs * weight.reshape(shape)).sum(axis)
    kept = (target != ignore_index).reshape(spread.shape)
    spread = spread.masked_fill(~kept, 0.0)
    if reduction == "sum":
        smooth = spread.sum()
    elif reduction == "mean":
        total = kept.to(logs.dtype).sum() if weight is None else \
            weight[target.masked_fill(~kept.reshape(target.shape), 0)] \
            .masked_fill(~kept.reshape(target.shape), 0.0).sum()
        smooth = spread.sum() / total
    else:
        smooth = spread
    return (1 - smoothing) * nll + smoothing / classes * smooth


def _cross_entropy_probabilities(input: Tensor, target: Tensor, weight: Any, reduction: str, smoothing: float,
                                 axis: int) -> Tensor:
    classes = input.shape[axis]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(f"cross_entropy: weight tensor should be defined either for all {classes} classes "
                           f"or no classes but got weight tensor of shape: {list(weight.shape)}")
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / classes
    logs = log_softmax(input, axis)
    if weight is not None:
        shape = [1] * input.ndim
        shape[axis] = -1
        logs = logs * weight.reshape(shape)
    losses = -(logs * target)
    if reduction == "none":
        return losses.sum(axis)
    if reduction == "sum":
        return losses.sum()
    batch = input.numel() // classes if classes else 0
    return losses.sum() / max(batch, 1) if batch else losses.sum() * float("nan")


# --- binary cross entropy -----------------------------------------------------------------------------------

def _bce_kernel(m: Any, input: Any, target: Any) -> Any:
    if input.size and not ((input >= 0) & (input <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    if target.size and not ((target >= 0) & (target <= 1)).all():
        raise RuntimeError("all elements of target should be between 0 and 1")
    return -(target * m.maximum(m.log(input), -100) + (1 - target) * m.maximum(m.log1p(-input), -100))


BINARY_CROSS_ENTROPY = pointwise_operator("binary_cross_entropy", _bce_kernel)


@BINARY_CROSS_ENTROPY.derivative("input", keeps="input target")
def _(ctx: Any, grad: Tensor, input: Tensor, target: Tensor) -> Tensor:
    return grad * (input - target) / ((1 - input) * input).clamp_min(1e-12)


@BINARY_CROSS_ENTROPY.derivative("target", keeps="input", holds="target")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * ((1 - input).log().clamp_min(-100) - input.log().clamp_min(-100))


@api("nn.functional", judge="first")
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None,
                         reduce: Any = None, reduction: str = "mean") -> Tensor:
    """-(y log p + (1 - y) log(1 - p)), the logarithms clamped at -100.

    >>> import flambeau as torch
    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.]))
    tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size "
                         f"({input.size()}) is deprecated. Please ensure they have the same size.")
    if target.dtype is not input.dtype:
        raise RuntimeError(f"Found dtype {dtypes.SCALAR_NAMES[target.dtype]} but expected "
                           f"{dtypes.SCALAR_NAMES[input.dtype]}")
    require_constant("binary_cross_entropy", weight=weight)
    loss: Tensor = record_pair(BINARY_CROSS_ENTROPY, input, target)
    loss = reduce_loss(loss if weight is None else _weighted(loss, weight, input), reduction)
    return composed("BinaryCrossEntropyBackward0", loss, input, target)


def _weighted(loss: Tensor, weight: Any, input: Tensor) -> Tensor:
    """Losses times weights, which PyTorch's kernels write over the losses."""
    if not isinstance(weight, Tensor):
        raise AttributeError(f"'{type_in_words(weight)}' object has no attribute 'size'")
    require_room(input, weight)
    found = loss * weight
    if found.shape != loss.shape:
        raise RuntimeError(f"output with shape {list(loss.shape)} doesn't match the broadcast shape "
                           f"{list(found.shape)}")
    return found


def require_room(output: Tensor, other: Tensor) -> None:
    """Whether what is computed of two operands can be written over the first, as PyTorch's kernels do."""
    common = dtypes.promote_types(output.dtype, other.dtype)
    if common.category > max(output.dtype.category, dtypes.INTEGER) or output.dtype is dtypes.bool_:
        raise RuntimeError(f"result type {dtypes.SCALAR_NAMES[common]} can't be cast to the desired output "
                           f"type {dtypes.SCALAR_NAMES[output.dtype]}")


def written_over(output: Tensor, losses: Tensor) -> Tensor:
    """Losses in the type of the operand that PyTorch's kernels write them over."""
    if losses.dtype is output.dtype or output.dtype.category != dtypes.FLOATING:
        return losses
    return losses.to(output.dtype)


@api("nn.functional", judge="first")
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Any = None,
                                     size_average: Any = None, reduce: Any = None, reduction: str = "mean",
                                     pos_weight: Any = None) -> Tensor:
    """Binary cross entropy of sigmoid(input), computed without overflow.

    >>> import flambeau as torch
    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.zeros(2), torch.ones(2))
    tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    if target.dtype.category != dtypes.BOOL and not input.is_complex():
        require_room(target, input)
    require_constant("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    if pos_weight is None:
        loss = (1 - target) * input - logsigmoid(input)
    else:
        scale = (pos_weight - 1) * target + 1
        loss = (1 - target) * input + scale * softplus(-input)
    loss = loss if weight is None else _weighted(loss, weight, input)
    loss = reduce_loss(written_over(target, loss), reduction)
    return composed("BinaryCrossEntropyWithLogitsBackward0", loss, input, target)
