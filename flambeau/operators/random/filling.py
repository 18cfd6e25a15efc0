"""Random numbers written into a tensor that is there."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...graph.geometry import dense_like
from ...random_streams.integers import limit_of
from ...tensor import Tensor, assign
from ...tensor.generator import may_fail
from ...type_info import finfo
from ..declaration.registry import api
from .integers import RANDINT, RANDOM_FULL, check_range
from .random import (
    BERNOULLI,
    BERNOULLI_EACH,
    NORMAL,
    UNIFORM,
    chance,
    drawn,
    require_floating,
)


def fill_with(x: Tensor, op: Any, operands: tuple[Any, ...], generator: Any, name: str,
              *attributes: Any) -> Tensor:
    """Let x take drawn values, in the order of x's memory."""
    geometry = dense_like(x.shape, x._geometry, x.dtype)
    return assign(x, drawn(op, generator, operands, geometry, *attributes), name)


@api("Tensor")
def uniform_(self: Tensor, from_: Any = 0, to: Any = 1, *, generator: Any = None, **kwargs: Any) -> Tensor:
    """Fill with uniform numbers of [from, to).

    >>> import flambeau as torch
    >>> x = torch.empty(1000).uniform_(-1, 1)
    >>> bool(x.min() >= -1), bool(x.max() < 1)
    (True, True)
    """
    low = kwargs.pop("from", from_)
    if kwargs:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(kwargs))}'")
    require_floating(self.dtype, "check_uniform_bounds")
    largest = finfo(self.dtype).max
    for name, bound in (("from", low), ("to", to)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {dtypes.c_name(self.dtype)}")
    if low > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found "
                           f"from={float(low):g} > to={float(to):g}")
    return fill_with(self, UNIFORM, (float(low), float(to)), generator, "uniform_")


@api("Tensor")
def normal_(self: Tensor, mean: Any = 0, std: Any = 1, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers.

    >>> import flambeau as torch
    >>> torch.empty(2, 3).normal_(mean=5, std=0)
    tensor([[5., 5., 5.],
            [5., 5., 5.]])
    """
    require_floating(self.dtype, "normal_kernel_cpu")
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    return fill_with(self, NORMAL, (float(mean), float(std)), generator, "normal_",
                     self._geometry.is_contiguous)


@api("Tensor")
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with 1 with probability p (a number or a tensor), else 0.

    >>> import flambeau as torch
    >>> torch.empty(3).bernoulli_(torch.tensor([0.0, 1.0, 1.0]))
    tensor([0., 1., 1.])
    """
    if self.is_complex():
        kind = "tensor_cpu_self_" if isinstance(p, Tensor) else "scalar_cpu_"
        raise NotImplementedError(f"\"bernoulli_{kind}\" not implemented for "
                                  f"'{dtypes.SCALAR_NAMES[self.dtype]}'")
    geometry = dense_like(self.shape, self._geometry, self.dtype)
    if isinstance(p, Tensor):
        if p.dtype.category < dtypes.FLOATING:
            raise RuntimeError("expected probabilities tensor to have floating type, got "
                               f"{dtypes.SCALAR_NAMES[p.dtype]}")
        p.expand(self.shape)    # or its words for shapes that do not fit
        may_fail(generator)
        return assign(self, drawn(BERNOULLI_EACH, generator, (p.detach(),), geometry), "bernoulli_")
    return assign(self, drawn(BERNOULLI, generator, (chance(p),), geometry), "bernoulli_")


@api("Tensor", judge="first")
def random_(self: Tensor, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
    """Fill with integers: ``random_()``, ``random_(to)`` or ``random_(from, to)``.

    Without bounds they are those that the element type represents exactly.

    >>> import flambeau as torch
    >>> torch.empty(3).random_(7, 8)
    tensor([7., 7., 7.])
    """
    if self.is_complex():
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    low = kwargs.pop("from", args[0] if len(args) > 1 else 0)
    high = kwargs.pop("to", args[-1] if args else None)
    if high is None and not args and not low:
        return fill_with(self, RANDOM_FULL, (), generator, "random_")
    high = limit_of(self.dtype.numpy) if high is None else int(high)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    check_range(self.dtype, int(low), high - 1)
    return fill_with(self, RANDINT, (int(low), high), generator, "random_")
