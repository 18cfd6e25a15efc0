"""Methods that make tensors of the dtype and on the device of another: new_zeros and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...devices import CPU
from ...graph.geometry import Geometry
from ...tensor import Tensor, record_numbers
from ...tensor.batching import BatchedTensor, rules
from ..calls.extents import sizes_of
from ..declaration.registry import api
from .creation import FULL, factory_geometry, filled, of_value, unset, usual_geometry


def _new_geometry(x: Tensor, sizes: tuple[Any, ...], dtype: Any, device: Any, name: str,
                  size: Any = None) -> Geometry:
    return factory_geometry(
        sizes_of(sizes, name, "size", size), dtype or x.dtype, x.device if device is None else device, name
    )


_ON_CPU = {"device": CPU}


def _filling(value: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A short way to make what sizes alone describe."""
    def shorten(function: Callable[..., Any]) -> Callable[..., Any]:
        def short(*args: Any, **kwargs: Any) -> Any:
            if args and not kwargs and args[0].__class__ is Tensor:
                g = args[0]._geometry
                if g.device is CPU and (made := usual_geometry(args[1:], _ON_CPU, g.dtype)) is not None:
                    return record_numbers(FULL, (value,), (made,))
            return function(*args, **kwargs)
        return short
    return shorten


@api("Tensor", shorten=_filling(0))
def new_zeros(
    self: Tensor,
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Zeros of this tensor's dtype and device.

    >>> import flambeau as torch
    >>> torch.ones(1, dtype=torch.int64).new_zeros(2)
    tensor([0, 0])
    """
    made = filled(
        _new_geometry(self, sizes, dtype, device, "new_zeros", size), 0, requires_grad
    )
    return made if self.__class__ is not BatchedTensor else rules.like(self, made)


@api("Tensor", shorten=_filling(1))
def new_ones(
    self: Tensor,
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Ones of this tensor's dtype and device.

    >>> import flambeau as torch
    >>> torch.ones(1, dtype=torch.int64).new_ones(2)
    tensor([1, 1])
    """
    made = filled(
        _new_geometry(self, sizes, dtype, device, "new_ones", size), 1, requires_grad
    )
    return made if self.__class__ is not BatchedTensor else rules.like(self, made)


@api("Tensor")
def new_empty(
    self: Tensor,
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of this one's dtype and device, without particular values.

    >>> import flambeau as torch
    >>> torch.ones(1, dtype=torch.int64).new_empty(2, 3).shape
    torch.Size([2, 3])
    """
    made = unset(_new_geometry(self, sizes, dtype, device, "new_empty", size), requires_grad)
    return made if self.__class__ is not BatchedTensor else rules.like(self, made)


@api("Tensor", judge="first")
def new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """One value in this tensor's dtype and device.

    >>> import flambeau as torch
    >>> torch.ones(1, dtype=torch.int64).new_full((2,), 7)
    tensor([7, 7])
    """
    made = of_value(_new_geometry(self, (size,), dtype, device, "new_full"), fill_value, requires_grad)
    return made if self.__class__ is not BatchedTensor else rules.like(self, made)
