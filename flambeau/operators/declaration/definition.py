"""How operators are declared: pointwise, view and structured ones.

``@pointwise`` takes the formula on arrays; everything else follows: broadcasting, type promotion, the public
function with ``out=``, the method, the in-place method.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from numpy import ndarray

from ... import dtypes, layouts
from ...graph.geometry import Geometry, contiguous, dense_like, intern
from ...graph.operator import Operator, Price, Rows
from ...graph.strides import broadcast, dense_strides
from ...size import Size
from ...tensor import Tensor, record, record_one, record_pair, record_scaled
from ...tensor.aliasing.overlap import require_apart
from ...tensor.construct import tensor
from ...tensor.overrides import first_seen
from ..calls.arguments import type_in_words
from ..calls.keywords import Judge
from ..calls.out import CONVERTED, NO_OUT, Out, store
from .registry import NAMESPACES, api

NUMBERS = (int, float, bool, complex)
_IMAGES = (1, 3, 2, 0)     # the order of dimensions, channels last


def parameters_of(kernel: Callable[..., Any]) -> tuple[str, ...]:
    """Names of a kernel's parameters after ``m``."""
    return tuple(inspect.signature(kernel).parameters)[1:]


def operator(name: str, infer: Callable[..., Any], *, compute: Any = None, owns: tuple[int, ...] = (),
             grad_name: str | None = None, kind: str = "structured",
             non_differentiable_outputs: tuple[int, ...] = (), price: Price | None = None,
             rows: Rows | None = None) -> Callable[[Callable[..., Any]], Operator]:
    """Declare a structured operator.

    The decorated kernel is ``kernel(m, *operands, *attributes)`` and returns one array or a tuple.
    ``infer(geometries, attributes)`` returns one ``Geometry`` or a tuple; ``compute(geometries)`` may name
    the dtype to which the operands are converted first. ``price``: see ``prices.py``; ``rows``, ``kind``: see
    ``Operator``.
    """
    def declare(kernel: Callable[..., Any]) -> Operator:
        return Operator(name, kernel, infer, parameters_of(kernel), compute=compute, owns=owns,
                        grad_name=grad_name, kind=kind,
                        non_differentiable_outputs=non_differentiable_outputs, price=price, rows=rows)
    return declare


# --- shapes and types ---------------------------------------------------------------------------------------

def broadcast_shapes(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape of operands, PyTorch's error where there is none."""
    found = broadcast(shapes)
    if found is None:
        raise _no_common_shape(shapes)
    return tuple(found)


def _no_common_shape(shapes: Sequence[tuple[int, ...]]) -> RuntimeError:
    """The error names the first operand that does not fit those before it, and its last such dimension."""
    have = [*shapes[0]]
    for shape in shapes:
        found = broadcast((have, shape))
        if found is None:
            break
        have = found
    a, b, d = next((a, b, d) for d, (a, b) in enumerate(zip(have[::-1], shape[::-1]), 1)
                   if a != b and 1 not in (a, b))
    return RuntimeError(f"The size of tensor a ({a}) must match the size of tensor b ({b}) at "
                        f"non-singleton dimension {max(len(have), len(shape)) - d}")


def result_dtype(operands: Sequence[Any]) -> dtypes.dtype:
    """Type promotion over geometries and number types; None operands do not count."""
    same = operands[0].dtype if operands and operands[0].__class__ is Geometry else None
    for g in operands:
        if g.__class__ is not Geometry or g.dtype is not same:
            break
    else:
        if same is not None:
            return same
    tensors = [g for g in operands if isinstance(g, Geometry)]
    return dtypes.combine([g.dtype for g in tensors if g.ndim], [g.dtype for g in tensors if not g.ndim],
                          [t for t in operands if isinstance(t, type) and t is not type(None)])


def float_dtype(operands: Sequence[Any]) -> dtypes.dtype:
    """Type promotion where integers become the default floating type."""
    found = result_dtype(operands)
    return dtypes.get_default_dtype() if found.category < dtypes.FLOATING else found


def arithmetic_dtype(d: dtypes.dtype) -> dtypes.dtype:
    """The type in which kernels compute: 16-bit floating types compute in float32."""
    return dtypes.float32 if d in dtypes.LOW_PRECISION else d


def operand_dtype(operands: Sequence[Any]) -> dtypes.dtype:
    """The type in which kernels compute with the first operand's elements."""
    return arithmetic_dtype(operands[0].dtype)


def between_steps(d: dtypes.dtype) -> dtypes.dtype | None:
    """The type to which ``m.rounded`` rounds where PyTorch rounds 16-bit types within a formula."""
    return d if d in dtypes.LOW_PRECISION else None


def device_of(operands: Sequence[Any]) -> Any:
    """The device of the result."""
    found = None
    for g in operands:
        if isinstance(g, Geometry):
            if g.ndim:
                return g.device
            found = found or g.device
    return found


def contiguous_as_first(operands: Sequence[Any], attributes: Any) -> Geometry:
    """The shape and type of the first operand, row by row."""
    g = operands[0]
    return contiguous(g.shape, g.dtype, g.device)


def dense_as_first(operands: Sequence[Any], attributes: Any) -> Geometry:
    """The shape and type of the first operand, its dimensions in the same order in memory."""
    g = operands[0]
    return dense_like(g.shape, g, g.dtype)


def pointwise_geometry(operands: Sequence[Any], dtype: dtypes.dtype, common: dtypes.dtype | None = None,
                       counts: bool | None = None) -> Geometry:
    """Broadcast shape; memory in the order of the first operand of that shape.

    ``common``: the type to which operands are converted first, which leaves no gaps between their elements.
    ``counts``: whether a number is to PyTorch a tensor of another shape; None: one beside a single tensor.
    """
    tensors = [g for g in operands if isinstance(g, Geometry)]
    if not tensors:
        raise TypeError("argument 'input' (position 1) must be Tensor, not a number")
    device = device_of(tensors)
    if common is not None:
        tensors = [g if g.dtype is common or not g.ndim else dense_like(g.shape, g, common) for g in tensors]
    first = tensors[0]
    ordered = True      # all of them lie row by row
    alike = True        # and have one shape
    for g in tensors:
        ordered = ordered and g.is_contiguous
        alike = alike and (g is first or g.shape == first.shape)
    if alike:
        shape: tuple[int, ...] = first.shape
        if counts is None:
            counts = len(operands) == 2
        if not counts or len(tensors) == len(operands):
            if ordered:
                return contiguous(shape, dtype, device)
            if len(shape) == 4 and all(layouts.lies_in(g.shape, g.strides, _IMAGES) for g in tensors):
                return intern(first.shape, layouts.strides_in(shape, _IMAGES), 0, dtype, device)
            if first.is_dense and all(g.strides == first.strides for g in tensors):
                return intern(first.shape, first.strides, 0, dtype, device)
    else:
        shape = broadcast_shapes([g.shape for g in tensors])
        if ordered and 1 not in shape and 0 not in shape:
            return contiguous(shape, dtype, device)     # none of them has another order in mind
    strides = dense_strides(shape, [_aligned(g, shape) for g in tensors])
    return intern(Size(shape), strides, 0, dtype, device)


def _aligned(g: Geometry, shape: Sequence[int]) -> tuple[int, ...]:
    """The strides with which g is read as a tensor of ``shape``."""
    lead = len(shape) - g.ndim
    read = [s if n == m else 0 for n, s, m in zip(g.shape, g.strides, shape[lead:])]
    return (*[0] * lead, *read)


# --- pointwise operators ------------------------------------------------------------------------------------

_PROMOTIONS: dict[str, Callable[[Sequence[Any]], dtypes.dtype]] = {"same": result_dtype, "float": float_dtype}


def _rounding(promotion: Callable[..., dtypes.dtype], parameters: tuple[str, ...],
              exact: str) -> Callable[..., tuple[Any, ...] | None]:
    """The rule by which operands are rounded to their common type, if that has 16 bits."""
    spared = parameters.index(exact) if exact else -1

    def rounds(operands: Sequence[Any]) -> tuple[Any, ...] | None:
        dtype = promotion(operands)
        if dtype not in dtypes.LOW_PRECISION:
            return None
        found = [_is_other(g, dtype) and not (i == spared and (g.__class__ is not Geometry or not g.ndim))
                 for i, g in enumerate(operands)]
        return tuple([dtype.numpy if other else None for other in found]) if any(found) else None
    return rounds


def _is_other(g: Any, dtype: dtypes.dtype) -> bool:
    """Whether an operand is a number, or of another type."""
    return g.dtype is not dtype if isinstance(g, Geometry) else g is not type(None)


def pointwise_operator(name: str, kernel: Callable[..., Any], promotes: str = "same",
                       grad_name: str | None = None, leads: int = 0, price: Price | None = None,
                       casts: bool = False, exact: str = "", counts: bool | None = None,
                       lies_alike: bool = False) -> Operator:
    """The operator of a formula on arrays.

    ``casts``: all operands are cast to their common type before it is computed, though a kernel computes
    16-bit types in float32; except for numbers, and tensors without dimensions, as operand ``exact``.

    ``counts``: whether numbers among the operands are tensors to PyTorch (see ``pointwise_geometry``).

    ``lies_alike``: the result lies in memory as the first operand does, where its extents are 1 too.

    ``leads``: which operand's order of dimensions the result takes before the others'.

    ``promotes``: "same" (ordinary promotion), "float" (integers become floating), "bool" (a truth value of
    operands promoted ordinarily), "real" (as float, and complex numbers give real ones).
    """
    promotion = _PROMOTIONS.get(promotes, result_dtype)

    def infer(operands: Sequence[Any], attributes: tuple[Any, ...]) -> Geometry:
        common = dtype = promotion(operands)
        if promotes == "bool":
            dtype = dtypes.bool_
        elif promotes == "real":
            dtype = dtype.to_real()
        found = pointwise_geometry((operands[leads], *operands) if leads else operands, dtype, common, counts)
        if lies_alike and found.shape == operands[0].shape:
            return dense_like(found.shape, operands[0], dtype)
        return found

    def compute(operands: Sequence[Any]) -> dtypes.dtype:
        return arithmetic_dtype(promotion(operands))

    parameters = parameters_of(kernel)
    return Operator(name, kernel, infer, parameters, compute=compute, kind="pointwise", grad_name=grad_name,
                    price=price, rounds=_rounding(promotion, parameters, exact) if casts else None)


def pointwise(*namespaces: str, name: str | None = None, promotes: str = "same", inplace: bool = True,
              aliases: tuple[str, ...] = (), grad_name: str | None = None,
              judge: Judge = "late", price: Price | None = None,
              exact: str = "", out: Out = CONVERTED) -> Callable[[Callable[..., Any]], Any]:
    """Declare a pointwise operator of one, two or three tensors and publish its function.

    Default namespaces: ``torch`` and ``Tensor``. ``out``: what it asks of ``out=``. The
    returned function carries ``.operator`` and ``.derivative``.
    """
    def declare(kernel: Callable[..., Any]) -> Any:
        public_name = name or kernel.__name__
        op = pointwise_operator(public_name, kernel, promotes, grad_name, price=price,
                                casts=len(parameters_of(kernel)) > 1, exact=exact)
        made = (_unary, _binary, _ternary)[len(op.parameters) - 1]
        function = made(op, public_name, (*namespaces, "torch")[0], out)
        function.__name__ = function.__qualname__ = public_name
        function.__doc__ = kernel.__doc__
        function.__module__ = kernel.__module__
        function.operator = op
        function.derivative = op.derivative
        api(*(namespaces or ("torch", "Tensor")), aliases=aliases, judge=judge,
            inplace="pointwise" if inplace and len(op.parameters) > 1 else inplace, writes=op)(function)
        return function
    return declare


def _stored(result: Tensor, out: Any, name: str, operands: tuple[Any, ...], asks: Out) -> Any:
    """What ``out=`` gives: it may be an operand, but not overlap with one."""
    if isinstance(out, Tensor):
        require_apart(out, operands)
    return store(result, out, name, asks)


def _unary(op: Operator, name: str, namespace: str, asks: Out) -> Any:
    def function(input: Any, *, out: Any = None) -> Any:
        if out is not None and asks is NO_OUT:
            raise TypeError(f"{name}() got an unexpected keyword argument 'out'")
        if not isinstance(input, Tensor):
            if first_seen((input,)):
                return NAMESPACES[namespace][name](input)
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not "
                            f"{type_in_words(input)}")
        result = record_one(op, input)
        return result if out is None else _stored(result, out, name, (input,), asks)
    return function


def _binary(op: Operator, name: str, namespace: str, asks: Out) -> Any:
    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        if isinstance(input, Tensor) and out is None:
            if isinstance(other, Tensor):
                return record_pair(op, input, other)
            if other.__class__ in NUMBERS:
                return record_scaled(op, input, other)
        if first_seen((input, other)):
            return NAMESPACES[namespace][name](input, other)
        if not isinstance(other, Tensor) and other.__class__ not in NUMBERS:
            other = operand(other, name, "other", 2)
        if not isinstance(input, Tensor):
            input = operand(input, name, "input", 1)
            if not isinstance(other, Tensor):
                input = tensor(input)
        result = record(op, (input, other))
        return result if out is None else _stored(result, out, name, (input, other), asks)
    return function


def _ternary(op: Operator, name: str, namespace: str, asks: Out) -> Any:
    def function(input: Any, tensor1: Any, tensor2: Any, *, out: Any = None) -> Any:
        result = record(op, (operand(input, name, "input", 1), operand(tensor1, name, "tensor1", 2),
                             operand(tensor2, name, "tensor2", 3)))
        return result if out is None else store(result, out, name, asks)
    return function


def operand(value: Any, function: str, argument: str, position: int) -> Any:
    """``value`` as a tensor or Python number; PyTorch's TypeError for anything else."""
    if isinstance(value, Tensor) or value.__class__ in NUMBERS:
        return value
    if isinstance(value, NUMBERS):
        return value
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "shape", None) == () and not isinstance(value, ndarray):
        return item()
    raise TypeError(f"{function}(): argument '{argument}' (position {position}) must be Tensor, not "
                    f"{type_in_words(value)}")
