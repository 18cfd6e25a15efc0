"""What ``torch.autograd.functional`` asks of inputs, outputs and vectors, in PyTorch's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensor import Tensor

OUTPUTS = "outputs of the user-provided function"

Tensors = tuple[Tensor, ...]


def as_tuple(value: Any, name: str, function: str) -> tuple[bool, Tensors]:
    """Whether several tensors were given, and the tensors."""
    several = isinstance(value, tuple)
    values = value if several else (value,)
    for i, x in enumerate(values):
        if isinstance(x, Tensor):
            continue
        wrong = f"value at index {i}" if several else f"given {name}"
        raise TypeError(f"The {name} given to {function} must be either a Tensor or a tuple of Tensors but "
                        f"the {wrong} has type {type(x)}.")
    return several, values


def vectors(v: Any, like: Tensors, several: bool, function: str, missing: str) -> Tensors:
    """The vector as tensors of the shapes of `like`; ones for a single number, if there is none."""
    if v is None:
        if several or len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {missing} a single Tensor with a single "
                               "element.")
        return (like[0].detach().new_ones(like[0].shape),)
    _, given = as_tuple(v, "v", function)
    if len(given) != len(like):
        if several:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (x, w) in enumerate(zip(like, given)):
        if x.shape != w.shape:
            which = f"Entry {i} in " if several else ""
            raise RuntimeError(f"{which}v has invalid size: should be {x.shape} but got {w.shape}.")
    return given


def outputs_depend(outputs: Sequence[Tensor], strict: bool) -> None:
    """With `strict`, every output has a history."""
    for i, out in enumerate(outputs):
        if strict and not out.requires_grad:
            raise RuntimeError(f"Output {i} of the user-provided function does not require gradients. The "
                               "outputs must be computed in a differentiable manner from the input when "
                               "running in strict mode.")


def single(value: Any, function: str, strict: bool) -> Tensor:
    """The one number that a function returns."""
    several, outputs = as_tuple(value, OUTPUTS, function)
    outputs_depend(outputs, strict)
    if several:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single "
                           "element")
    return outputs[0].reshape(())


def known(grads: Sequence[Any], inputs: Tensors, strict: bool, what: str) -> Tensors:
    """The gradients, zeros for those of inputs that nothing depends on; with `strict` there are none such."""
    found = []
    for i, (grad, x) in enumerate(zip(grads, inputs)):
        if grad is None:
            if strict:
                raise RuntimeError(f"{what} is independent of input {i}. This is not allowed in strict mode.")
            grad = x.detach().new_zeros(x.shape)
        found.append(grad)
    return tuple(found)


def differentiable_again(grads: Sequence[Tensor], strict: bool) -> None:
    """With `strict`, the Jacobian depends on the inputs."""
    for i, grad in enumerate(grads):
        if strict and not grad.requires_grad:
            raise RuntimeError(f"The jacobian of the user-provided function is independent of input {i}. "
                               "This is not allowed in strict mode when create_graph=True.")


def gradient_depends(grads: Sequence[Tensor], strict: bool) -> None:
    """With `strict`, the gradient of a function whose Hessian is wanted depends on the inputs."""
    for i, grad in enumerate(grads):
        if strict and not grad.requires_grad:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with "
                f"respect to input {i} is independent of the input. This is not allowed in strict mode. You "
                "should ensure that your function is twice differentiable and that the jacobian depends on "
                "the inputs (this would be violated by a linear function for example).")
