"""Gradients of convolutions by their input and by their weight, as functions of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operators.convolutions.convolution import CONVOLUTION_INPUT, CONVOLUTION_WEIGHT
from ..tensor import Tensor
from ..tensor.recording.record import record

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

Ints = int | Sequence[int]


def _numbers(value: Ints, dims: int) -> tuple[int, ...]:
    return (value,) * dims if isinstance(value, int) else tuple(value)


def _attributes(
    input_size: Sequence[int],
    weight_size: Sequence[int],
    grad: Tensor,
    options: tuple[Ints, Ints, Ints, int],
) -> tuple[Any, ...]:
    """Return (stride, padding, dilation, groups), after checking that the gradient has the output's shape."""
    dims, groups = len(weight_size) - 2, options[3]
    if len(input_size) != dims + 2:
        raise RuntimeError(
            f"Expected {dims + 2}-dimensional input for {dims + 2}-dimensional weight {list(weight_size)}, "
            f"but got {len(input_size)}-dimensional input of size {list(input_size)} instead"
        )
    stride, padding, dilation = (_numbers(option, dims) for option in options[:3])
    extents = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(input_size[2:], padding, dilation, weight_size[2:], stride, strict=True)
    ]
    expected = (input_size[0], weight_size[0], *extents)
    if tuple(grad.shape) != expected or input_size[1] != weight_size[1] * groups:
        raise RuntimeError(
            f"A convolution of input {list(input_size)} with weight {list(weight_size)} and groups={groups} "
            f"gives {list(expected)}, but grad_output has size {list(grad.shape)}"
        )
    return stride, padding, dilation, groups


def _by_input(size: Sequence[int], weight: Tensor, grad: Tensor, *options: Any) -> Tensor:
    attributes = _attributes(size, weight.shape, grad, options)
    result: Tensor = record(CONVOLUTION_INPUT, (grad, weight), (tuple(size[2:]), *attributes))
    return result


def _by_weight(input: Tensor, size: Sequence[int], grad: Tensor, *options: Any) -> Tensor:
    attributes = _attributes(input.shape, size, grad, options)
    result: Tensor = record(CONVOLUTION_WEIGHT, (grad, input), (tuple(size[2:]), *attributes))
    return result


def conv1d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Ints = 1, padding: Ints = 0,
    dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv1d by its input (N, C, L), from that by its output.

    >>> import flambeau as torch
    >>> torch.nn.grad.conv1d_input((1, 1, 4), torch.ones(1, 1, 3), torch.ones(1, 1, 2))
    tensor([[[1., 2., 2., 1.]]])
    """
    return _by_input(input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Ints = 1, padding: Ints = 0,
    dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv1d by its weight (O, C / groups, K), from that by its output.

    >>> import flambeau as torch
    >>> torch.nn.grad.conv1d_weight(torch.arange(4.0).view(1, 1, 4), (1, 1, 3), torch.ones(1, 1, 2))
    tensor([[[1., 3., 5.]]])
    """
    return _by_weight(input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Ints = 1, padding: Ints = 0,
    dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv2d by its input (N, C, H, W), from that by its output.

    >>> import flambeau as torch
    >>> torch.nn.grad.conv2d_input((1, 1, 2, 2), torch.ones(1, 1, 1, 2), torch.ones(1, 1, 2, 1))
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """
    return _by_input(input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Ints = 1, padding: Ints = 0,
    dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv2d by its weight (O, C / groups, H, W), from that by its output.

    >>> import flambeau as torch
    >>> torch.nn.grad.conv2d_weight(torch.ones(1, 1, 2, 2), (1, 1, 1, 2), torch.ones(1, 1, 2, 1))
    tensor([[[[2., 2.]]]])
    """
    return _by_weight(input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Ints = 1, padding: Ints = 0,
    dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv3d by its input (N, C, D, H, W), from that by its output.

    >>> import flambeau as torch
    >>> torch.nn.grad.conv3d_input((1, 1, 1, 1, 2), torch.ones(1, 1, 1, 1, 2), torch.ones(1, 1, 1, 1, 1))
    tensor([[[[[1., 1.]]]]])
    """
    return _by_input(input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Ints = 1, padding: Ints = 0,
    dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of conv3d by its weight (O, C / groups, D, H, W), from that by its output.

    >>> import flambeau as torch
    >>> torch.nn.grad.conv3d_weight(torch.ones(1, 1, 1, 1, 2), (1, 1, 1, 1, 2), torch.ones(1, 1, 1, 1, 1))
    tensor([[[[[1., 1.]]]]])
    """
    return _by_weight(input, weight_size, grad_output, stride, padding, dilation, groups)
