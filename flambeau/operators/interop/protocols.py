"""Python's container protocol on tensors, and small questions about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...tensor import Tensor, assign
from ...tensor.aliasing.turned import is_turned, shares_memory
from ...tensor.attributes import PRIVATE as PRIVATE
from ...tensor.construct import from_array
from ..calls.arguments import is_integer
from ..declaration.registry import api
from .looking import look


def _len(self: Tensor) -> int:
    if self._geometry.ndim == 0:
        raise TypeError("len() of a 0-d tensor")
    return self._geometry.shape[0]


def _iter(self: Tensor) -> Iterator[Tensor]:
    if self._geometry.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _reversed(self: Tensor) -> Tensor:
    return self if self._geometry.ndim == 0 else self.flip(0)


def _delitem(self: Tensor, key: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


def _dir(self: Tensor) -> list[str]:
    return sorted({*dir(type(self)), *[name for name in self.__dict__ if name not in PRIVATE]})


_T: Any = Tensor
_T.__len__, _T.__iter__, _T.__reversed__, _T.__delitem__, _T.__dir__ = _len, _iter, _reversed, _delitem, _dir


# --- history ------------------------------------------------------------------------------------------------


@api("torch", "Tensor")
def detach_(self: Tensor) -> Tensor:
    """Forget this tensor's history: it becomes a leaf that requires no gradient.

    >>> import flambeau as torch
    >>> x = torch.ones(2, requires_grad=True) * 2
    >>> x.detach_().requires_grad
    False
    """
    if self._base is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel "
            "(DDP) for training, and gradient_as_bucket_view is set as True, gradients are views of DDP "
            "buckets, and hence detach_() cannot be called on these gradients. To fix this error, please "
            "refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.")
    self._grad_fn, self._output_nr, self._requires_grad = None, 0, False
    return self


@api("torch")
def detach(input: Tensor) -> Tensor:
    """The same storage without history.

    >>> import flambeau as torch
    >>> torch.detach(torch.ones(1, requires_grad=True)).requires_grad
    False
    """
    return input.detach()


@api("torch")
def numel(input: Tensor) -> int:
    """Number of elements.

    >>> import flambeau as torch
    >>> torch.numel(torch.ones(2, 3))
    6
    """
    return input._geometry.numel


@api("torch")
def get_device(input: Tensor) -> int:
    """Index of the device, -1 on the CPU.

    >>> import flambeau as torch
    >>> torch.get_device(torch.ones(1))
    -1
    """
    return input.get_device()


@api("torch")
def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made under ``inference_mode``.

    >>> import flambeau as torch
    >>> with torch.inference_mode():
    ...     x = torch.ones(1)
    >>> torch.is_inference(x)
    True
    """
    return input.is_inference()


@api("Tensor")
def _is_view(self: Tensor) -> bool:
    """Whether this tensor is a view of another."""
    return self._base is not None


@api("Tensor")
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both tensors read one storage in the same way.

    >>> import flambeau as torch
    >>> x = torch.ones(3)
    >>> x.is_set_to(x.view(3)), x.is_set_to(x.clone())
    (True, False)
    """
    return shares_memory(self, tensor) and self._geometry is tensor._geometry \
        and is_turned(self) == is_turned(tensor)


# --- Python functions on each element -----------------------------------------------------------------------


def _writable(self: Tensor, name: str) -> None:
    if self.requires_grad:
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
                           "instead.")


def _mapped(self: Tensor, function: Callable[..., Any], others: list[Tensor], name: str) -> Tensor:
    _writable(self, name)
    shape = self._geometry.shape
    arrays = [np.broadcast_to(look(x, name), shape).reshape(-1).tolist() for x in (self, *others)]
    values = (
        np.array([function(*row) for row in zip(*arrays)]).astype(self._geometry.dtype.numpy).reshape(shape)
    )
    return assign(self, from_array(values), name)


@api("Tensor")
def apply_(self: Tensor, callable: Callable[..., Any]) -> Tensor:
    """Replace each element by a Python function of it (slow).

    >>> import flambeau as torch
    >>> torch.arange(3).apply_(lambda x: x * 10)
    tensor([ 0, 10, 20])
    """
    return _mapped(self, callable, [], "apply_")


@api("Tensor")
def map_(self: Tensor, tensor: Tensor, callable: Callable[..., Any]) -> Tensor:
    """Replace each element by a Python function of it and another tensor's (slow).

    >>> import flambeau as torch
    >>> torch.arange(3).map_(torch.tensor([5, 6, 7]), lambda x, y: x * y)
    tensor([ 0,  6, 14])
    """
    return _mapped(self, callable, [tensor], "map_")


@api("Tensor")
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[..., Any]) -> Tensor:
    """Replace each element by a Python function of it and two other tensors' (slow).

    >>> import flambeau as torch
    >>> x = torch.zeros(2)
    >>> x.map2_(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), lambda a, b, c: b * c)
    tensor([3., 8.])
    """
    return _mapped(self, callable, [x, y], "map2_")


# --- the main diagonal, positions ---------------------------------------------------------------------------


@api("Tensor", judge="first")
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write a value on the main diagonal (again below the bottom of a tall matrix, with ``wrap``).

    >>> import flambeau as torch
    >>> torch.zeros(2, 3).fill_diagonal_(1)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    shape, strides = self._geometry.shape, self._geometry.strides
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) != 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step, offset = sum(strides), self._geometry.offset
    diagonal = self.as_strided((min(shape),), (step,), offset)
    diagonal.fill_(fill_value)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        skip = strides[0] * (shape[1] + 1)
        rest = self[shape[1] + 1:]
        rest.fill_diagonal_(fill_value, wrap=True) if skip else None
    return self


@api("torch")
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Positions in a flattened tensor as a coordinate in each dimension.

    >>> import flambeau as torch
    >>> torch.unravel_index(torch.tensor(5), (2, 3))
    (tensor(1), tensor(2))
    """
    if indices.is_complex() or indices.dtype.category != 1:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype!r}")
    if not isinstance(shape, (int, tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if (other := next((n for n in shape if not is_integer(n)), None)) is not None:
        raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(other)}")
    if any(n < 0 for n in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    indices = indices.long()
    found: list[Tensor] = []
    step = 1
    for n in reversed(shape):
        found.append((indices if step == 1 else indices.div(step, rounding_mode="floor")) % n)
        step *= n
    return tuple(reversed(found))


@api("Tensor")
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What ``load_state_dict`` puts in the place of this tensor.

    >>> import flambeau as torch
    >>> torch.zeros(2).module_load(torch.ones(2, dtype=torch.float64))
    tensor([1., 1.])
    """
    return other.detach() if assign else self.copy_(other).detach()
