"""Random tensors: PyTorch's numbers for the same seed (Note: random numbers, in ``generator.py``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import devices, dtypes
from ...engine import look_at_draws
from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Operator
from ...random_streams.bernoulli import bernoulli, bernoulli_each
from ...random_streams.few import FEW, few_normals, few_uniform
from ...random_streams.normal import normal as draw_normal
from ...random_streams.permutation import randperm as draw_permutation
from ...random_streams.state import STATE_BYTES
from ...random_streams.uniform import uniform as draw_uniform
from ...tensor import Tensor, record, state
from ...tensor.construct import empty_geometry
from ...tensor.generator import draw, draw_few, draw_group, few_by_few, may_fail, numbers_ahead
from ...tensor.overrides import modes
from ...tensor.samples.drawn import drawn_number
from ...type_info import iinfo
from ..calls.extents import sizes_of
from ..creation.creation import factory_geometry, leaf, like_geometry, usual_geometry
from ..creation.zero_gradients import draws_of
from ..declaration.definition import broadcast_shapes, operator
from ..declaration.prices import draws
from ..declaration.registry import api
from ..interop.looking import look

STATE = contiguous((STATE_BYTES,), dtypes.uint8)


def with_state(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    """The geometry of the values is the last attribute."""
    return attributes[-1], STATE


def in_memory_order(geometry: Geometry, draw_values: Callable[[tuple[int, ...]], Any]) -> Any:
    """Draw in the order of memory for a result whose dimensions lie there in any order."""
    if geometry.is_contiguous:
        return draw_values(geometry.shape)
    order = geometry.order
    values, state = draw_values(tuple([geometry.shape[d] for d in order]))
    return values.transpose(np.argsort(order)), state


@operator("uniform", with_state, kind="draw", price=draws(6.0))
def UNIFORM(m: Any, state: Any, low: Any, high: Any, geometry: Geometry) -> Any:
    dtype = geometry.dtype.numpy
    return in_memory_order(geometry, lambda shape: draw_uniform(state, shape, float(low), float(high), dtype))


@operator("normal", with_state, kind="draw", price=draws(40.0))
def NORMAL(m: Any, state: Any, mean: Any, std: Any, contiguous: bool, geometry: Geometry) -> Any:
    def values(shape: tuple[int, ...]) -> Any:
        return draw_normal(state, shape, float(mean), float(std), geometry.dtype.numpy, contiguous=contiguous)

    return in_memory_order(geometry, values)


@operator("bernoulli", with_state, kind="draw", price=draws(6.0))
def BERNOULLI(m: Any, state: Any, p: Any, geometry: Geometry) -> Any:
    return in_memory_order(geometry, lambda shape: bernoulli(state, shape, float(p), geometry.dtype.numpy))


@operator("bernoulli_each", with_state, kind="draw")
def BERNOULLI_EACH(m: Any, state: Any, p: Any, geometry: Geometry) -> Any:
    if not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error "
                           "message be improved?  If so, please report an enhancement request to PyTorch.)")
    return bernoulli_each(state, np.broadcast_to(p, geometry.shape), geometry.dtype.numpy)


_OF_PROBABILITIES = draws_of("bernoulli", "p")
# By whether the mean, and the deviation, is a tensor.
_OF_MOMENTS = {tensors: draws_of("normal_of", "mean", "std", grad_name=f"NormalBackward{number}")
               for tensors, number in (((True, False), 1), ((False, True), 2), ((True, True), 3))}


few_by_few.update({UNIFORM: few_uniform, NORMAL: few_normals})


@operator("randperm", with_state, price=draws(70.0))
def RANDPERM(m: Any, state: Any, geometry: Geometry) -> Any:
    return draw_permutation(state, geometry.numel, geometry.dtype.numpy)


def drawn(op: Any, generator: Any, operands: tuple[Any, ...], geometry: Geometry, *attributes: Any) -> Tensor:
    """The values of a random operator; on the meta device nothing is drawn."""
    if geometry.device is devices.META:
        return empty_geometry(geometry)
    return draw(op, generator, operands, (*attributes, geometry))


# --- factories ----------------------------------------------------------------------------------------------

def finished(x: Tensor, requires_grad: bool) -> Tensor:
    """What a factory that draws returns."""
    if state.at_once is None:
        look_at_draws(x._geometry.numel)
    if requires_grad is False or requires_grad is None:
        return x
    return leaf(x, requires_grad)


def _few_numbers(count: Any = None, *more: Any) -> Any:
    """``rand(1)``, mostly."""
    if more or count.__class__ is not int or not 0 < count <= FEW:
        return None
    dtype = dtypes.get_default_dtype()
    if count == 1 and dtype is dtypes.float32 and (ahead := numbers_ahead()) is not None:
        return drawn_number(ahead.one_uniform(), _ONE_NUMBER)
    return draw_few(few_uniform, contiguous((count,), dtype, devices.resolve(None)), 0.0, 1.0)


_ONE_NUMBER = contiguous((1,), dtypes.float32)


def _shortly(op: Operator, operands: tuple[Any, ...],
             attributes: tuple[Any, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A short way to draw what sizes alone describe."""
    def shorten(function: Callable[..., Any]) -> Callable[..., Any]:
        def short(*sizes: Any, **kwargs: Any) -> Any:
            # Of few numbers it is asked first whether they are drawn at once.
            many = len(sizes) != 1 or sizes[0].__class__ is not int or sizes[0] > FEW
            if many and state.at_once is None and (g := usual_geometry(sizes, kwargs)) is not None \
                    and g.numel > FEW and g.device is devices.CPU and g.dtype.category >= dtypes.FLOATING:
                found = draw(op, None, operands, (*attributes, g))
                look_at_draws(g.numel)
                return found
            return function(*sizes, **kwargs)
        return short
    return shorten


@api("torch", out=True, quick=_few_numbers, shorten=_shortly(UNIFORM, (0.0, 1.0), ()))
def rand(*sizes: Any, size: Any = None, generator: Any = None, dtype: Any = None, layout: Any = None,
         device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Uniform numbers of [0, 1).

    >>> import flambeau as torch
    >>> _ = torch.manual_seed(0); torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    geometry = factory_geometry(sizes_of(sizes, "rand", "size", size), dtype, device, "rand")
    require_floating(geometry.dtype, "check_uniform_bounds")
    return finished(drawn(UNIFORM, generator, (0.0, 1.0), geometry), requires_grad)


def require_floating(d: dtypes.dtype, kernel: str) -> None:
    """Raise where numbers of a distribution are asked for in an integer type."""
    if d.category < dtypes.FLOATING:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.SCALAR_NAMES[d]}'")


def _normal_numbers(*sizes: Any) -> Any:
    """``randn`` for a sample."""
    if state.at_once is None:
        return None
    for n in sizes:
        if n.__class__ is not int or n < 0:
            return None
    return draw_group(contiguous(sizes, dtypes.get_default_dtype(), devices.resolve(None)))


def _normal_numbers_like(*args: Any) -> Any:
    """``randn_like`` of a sample."""
    if state.at_once is None or len(args) != 1 or args[0].__class__ is not Tensor \
            or not args[0]._geometry.is_contiguous:
        return None
    return draw_group(args[0]._geometry.family[0])


@api("torch", out=True, quick=_normal_numbers, shorten=_shortly(NORMAL, (0.0, 1.0), (True,)))
def randn(*sizes: Any, size: Any = None, generator: Any = None, dtype: Any = None, layout: Any = None,
          device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Numbers of the standard normal distribution.

    >>> import flambeau as torch
    >>> _ = torch.manual_seed(0); torch.randn(2)
    tensor([ 1.5410, -0.2934])
    """
    geometry = factory_geometry(sizes_of(sizes, "randn", "size", size), dtype, device, "randn")
    require_floating(geometry.dtype, "normal_kernel_cpu")
    return finished(drawn(NORMAL, generator, (0.0, 1.0), geometry, True), requires_grad)


def _shortly_like(op: Operator) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A short way to draw what is like a tensor whose elements lie in order."""
    def shorten(function: Callable[..., Any]) -> Callable[..., Any]:
        def short(*args: Any, **kwargs: Any) -> Any:
            if len(args) == 1 and not kwargs and (x := args[0]).__class__ is Tensor and state.at_once is None:
                g = x._geometry
                if g.is_contiguous and not g.offset and g.numel > FEW and g.device is devices.CPU \
                        and g.dtype.category >= dtypes.FLOATING and not modes:
                    return finished(draw(op, None, (0.0, 1.0), (True, g) if op is NORMAL else (g,)), False)
            return function(*args, **kwargs)
        return short
    return shorten


@api("torch", judge="first", shorten=_shortly_like(UNIFORM))
def rand_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
              requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False,
              generator: Any = None) -> Tensor:
    """Uniform numbers of [0, 1) in a tensor's shape and type.

    >>> import flambeau as torch
    >>> torch.rand_like(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    geometry = like_geometry(input, dtype, device)
    require_floating(geometry.dtype, "check_uniform_bounds")
    return finished(drawn(UNIFORM, generator, (0.0, 1.0), geometry), requires_grad)


@api("torch", judge="first", quick=_normal_numbers_like, shorten=_shortly_like(NORMAL))
def randn_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
               requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False,
               generator: Any = None) -> Tensor:
    """Normal numbers in a tensor's shape and type.

    >>> import flambeau as torch
    >>> torch.randn_like(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    geometry = like_geometry(input, dtype, device)
    require_floating(geometry.dtype, "normal_kernel_cpu")
    return finished(drawn(NORMAL, generator, (0.0, 1.0), geometry, geometry.is_contiguous), requires_grad)


@api("torch", out=True, judge="first")
def randperm(n: int, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A random permutation of 0 .. n - 1.

    >>> import flambeau as torch
    >>> torch.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if dtype is not None and dtype.category == dtypes.INTEGER and n - 1 > iinfo(dtype).max:
        raise RuntimeError(f"value cannot be converted to type {dtype.name}_t without overflow")
    geometry = factory_geometry((int(n),), dtype or dtypes.int64, device)
    return finished(drawn(RANDPERM, generator, (), geometry), requires_grad)


# --- with parameters of each element's own ------------------------------------------------------------------

def _number(x: Any) -> Any:
    """A mean or deviation that goes with a size: a number, or a tensor of no dimensions."""
    if isinstance(x, Tensor) and x.ndim:
        raise TypeError("normal() received an invalid combination of arguments: with a size, mean and std "
                        "are numbers")
    return x.item() if isinstance(x, Tensor) else x


@api("torch", out=True, judge="first")
def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, dtype: Any = None,
           layout: Any = None, device: Any = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:
    """Normal numbers with means and standard deviations given as numbers (with a size) or tensors.

    Of two tensors, shapes are broadcast. A deviation below 0 is a RuntimeError.

    >>> import flambeau as torch
    >>> torch.normal(torch.tensor([1.0, 2.0]), 0.0)
    tensor([1., 2.])
    >>> torch.normal(0.0, 1.0, size=(2, 3)).shape
    torch.Size([2, 3])
    """
    if size is not None:
        mean, std = (_number(x) for x in (mean, std))
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError("normal() received an invalid combination of arguments")
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        geometry = factory_geometry(sizes_of((), "normal", "size", size), dtype, device, "normal")
        require_floating(geometry.dtype, "normal_kernel_cpu")
        return finished(drawn(NORMAL, generator, (float(mean), float(std)), geometry, True), requires_grad)
    if isinstance(std, Tensor) and std.numel() and (look(std, "normal", only_checks=True) < 0).any():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    if not isinstance(std, Tensor) and not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if isinstance(std, Tensor) and std.is_complex():
        raise RuntimeError("normal expects standard deviation to be non-complex")
    tensors = [t for t in (mean, std) if isinstance(t, Tensor)]
    d = tensors[0].dtype
    require_floating(d, "normal_kernel_cpu")
    geometry = contiguous(broadcast_shapes([t.shape for t in tensors]), d, tensors[0].device)
    shift, scale = (t.detach() if isinstance(t, Tensor) else t for t in (mean, std))
    draws = drawn(NORMAL, generator, (0.0, 1.0), geometry, True) * scale + shift
    if not any(t.requires_grad for t in tensors):
        return draws
    return record(_OF_MOMENTS[isinstance(mean, Tensor), isinstance(std, Tensor)], (draws, mean, std))


def chance(p: Any) -> float:
    """A probability that is a number."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return float(p)


def _bernoulli(input: Tensor, p: Any = None, *, generator: Any = None) -> Tensor:
    """1 with the probability that ``input`` (or the number p) gives, else 0.

    >>> import flambeau as torch
    >>> torch.bernoulli(torch.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    geometry = contiguous(input.shape, input.dtype, input._geometry.device)
    if p is not None:
        return drawn(BERNOULLI, generator, (chance(p),), geometry)
    if input.dtype.category < dtypes.FLOATING:
        raise NotImplementedError("\"bernoulli_tensor_cpu_p_\" not implemented for "
                                  f"'{dtypes.SCALAR_NAMES[input.dtype]}'")
    if input.dtype.is_complex:
        raise NotImplementedError("\"bernoulli_tensor_cpu_self_\" not implemented for "
                                  f"'{dtypes.SCALAR_NAMES[input.dtype]}'")
    may_fail(generator)
    draws = drawn(BERNOULLI_EACH, generator, (input.detach(),), geometry)
    return record(_OF_PROBABILITIES, (draws, input)) if input.requires_grad else draws


api("torch", "Tensor", out=True, name="bernoulli", judge="first")(_bernoulli)
