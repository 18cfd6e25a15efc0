"""What may be assigned to a tensor's ``requires_grad``, ``data`` and ``grad``; the dtype of its gradient."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dtypes import c_name
from .attributes import Handle
from .leaves import SAME_AS_LEAF, leaf_hooks_of
from .tape import state

NOT_A_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't "
    "be populated during autograd.backward(). If you indeed want the .grad field to be populated for a "
    "non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by "
    "mistake, make sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for "
    "more information.")

INFERENCE_LEAF = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."


def check_requires_grad(tensor: Any, requires_grad: Any) -> None:
    """Raise PyTorch's error where this may not become ``tensor.requires_grad``."""
    if requires_grad.__class__ is not bool:
        raise TypeError("requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                        f"{type(requires_grad).__name__}")
    if not requires_grad:
        if tensor.grad_fn is not None:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use var_no_grad = "
                "var.detach()."
            )
    elif tensor._geometry.dtype.category < dtypes.FLOATING:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    elif tensor._counter is not None and tensor._counter.inference:
        raise RuntimeError(INFERENCE_LEAF)


def check_subclass_leaf(data: Any) -> None:
    """Raise PyTorch's error where an instance of a subclass on this data may not require gradients."""
    if data._geometry.dtype.category < dtypes.FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    if data.is_inference() and not state.inference:
        raise RuntimeError(INFERENCE_LEAF)


def check_data(tensor: Any, new: Any) -> None:
    """Raise PyTorch's error where ``new`` may not become ``tensor.data``."""
    if not isinstance(new, Handle):
        raise TypeError("Variable data has to be a tensor, but got " + type(new).__name__)
    found: Any = new
    if tensor._requires_grad and found._geometry.dtype.category < dtypes.FLOATING:
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or "
                           "complex dtype")


def check_grad(tensor: Any, value: Any) -> None:
    """Raise PyTorch's error where ``value`` may not become ``tensor.grad``."""
    if not isinstance(value, Handle):
        raise TypeError("assigned grad expected to be a Tensor or None but got grad of type "
                        f"{type(value).__name__}")
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    given: Any = value
    wanted = tensor.dtype if tensor.grad_fn is not None else grad_dtype(tensor)
    if wanted is not None and given.dtype is not wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{c_name(given.dtype)}' to a tensor with "
            f"grad_dtype '{dtypes.SCALAR_NAMES[wanted]}'. The gradient must match the tensor's grad_dtype "
            "(defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a specific "
            "dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a "
            "tensor and its gradient may break downstream systems that assume they match.")
    if given.device.type != tensor.device.type:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{given.device.type}' to a tensor with device "
            f"type '{tensor.device.type}'. Please ensure that the gradient and the tensor are on the same "
            "device")
    if given.shape != tensor.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(given.shape)}' to a tensor of size "
            f"'{list(tensor.shape)}'. Please ensure that the gradient and the tensor are the same size")


def grad_dtype(tensor: Any) -> Any:
    """The dtype in which a leaf's gradient is accumulated; None if it may be any."""
    if not tensor.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    hooks = tensor._hooks
    return tensor.dtype if hooks is None or hooks.dtype is SAME_AS_LEAF else hooks.dtype


def set_grad_dtype(tensor: Any, wanted: Any) -> None:
    """Have a leaf's gradients in another dtype than its own, or (None) in whatever they come in."""
    if not tensor.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if wanted is not None and not isinstance(wanted, dtypes.dtype):
        raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(wanted).__name__}")
    have = tensor._grad
    if wanted is not None and have is not None and have.dtype is not wanted:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{dtypes.SCALAR_NAMES[wanted]}' because there is already a gradient "
            f"with dtype '{c_name(have.dtype)}'. Please clear the gradient (.grad = None) before changing "
            "grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype.")
    leaf_hooks_of(tensor).dtype = wanted
