"""Operators that are one function of NumPy: it is called, and as little as can be around it.

In small graphs the interpreter's time goes into what lies between the calls. Which kernels do nothing but
call one universal function on their operands is found by calling them once with a namespace that notes what
is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from operator import ge, gt, le, lt
from typing import Any, NamedTuple

import numpy as np

from ...dtypes import float32, float64, int64
from ...graph.geometry import Geometry
from ...graph.node import Signature
from ...graph.operator import Kernel
from . import blas, mathematics, products
from .arrays import Array, reinterpret
from .readers import Reader, number_of, reader, readers_of


class _Call(NamedTuple):
    """A function of the namespace that was called, and with what."""

    name: str
    operands: tuple[Any, ...]


class _Names:
    """A namespace whose functions only say that they were called."""

    def __getattr__(self, name: str) -> Callable[..., _Call]:
        return lambda *operands: _Call(name, operands)


@cache
def _function_of(kernel: Kernel, count: int) -> tuple[np.ufunc, tuple[int, ...]] | None:
    """The universal function that a kernel is, and its operands' order; None where it does anything else."""
    operands = [object() for _ in range(count)]
    try:
        call = kernel(_Names(), *operands)
    except Exception:   # it reads an operand, or passes an argument by name
        return None
    if call.__class__ is not _Call or len(call.operands) != count:
        return None
    order = [next((i for i, own in enumerate(operands) if own is x), count) for x in call.operands]
    function = getattr(mathematics, call.name, None)
    if function is products.matmul:
        function = np.matmul
    if sorted(order) != list(range(count)) or not isinstance(function, np.ufunc) or function.nin != count \
            or function.nout != 1:
        return None
    return function, tuple(order)


def prepare(signature: Signature) -> Callable[[tuple[Any, ...]], Any] | None:
    """How to run such an operator; None where this is none."""
    geometries, out = signature.geometries, signature.outputs[0]
    if len(geometries) == 3 and _is_linear(signature.operator.kernel):
        return _linear(signature)
    if signature.attributes or not 0 < len(geometries) < 3 or not signature.single \
            or not out.is_contiguous or not out.numel or type(None) in geometries:
        return None
    found = _function_of(signature.operator.kernel, len(geometries))
    arrays = [g for g in geometries if g.__class__ is Geometry]
    if found is None or not arrays:
        return None
    function, order = found
    if (compare := _COMPARISONS.get(function)) is not None and (one := _of_one(compare, order, signature)):
        return one
    if signature.operator.kind != "pointwise":
        product = products.function_of(*arrays) if function is np.matmul else None
        if product is None:
            return None
        return _runner(product, readers_of(signature, False), order, out)
    flat, shape = True, out.shape
    for g in arrays:
        if not g.is_contiguous or g.shape != shape:
            flat = False
    if flat and signature.rounds is None:
        return _on_flat(function, order, signature)
    if not flat and not out.ndim:   # NumPy gives no array then
        return None
    return _runner(function, readers_of(signature, flat), order, out)


@cache
def _is_linear(kernel: Kernel) -> bool:
    """Whether a kernel is ``linear`` of its operands."""
    operands = object(), object(), object()
    try:
        call = kernel(_Names(), *operands)
    except Exception:   # as above
        return False
    return call.__class__ is _Call and call.name == "linear" and call.operands == operands


def _linear(signature: Signature) -> Callable[[tuple[Any, ...]], Any] | None:
    """How to run ``linear`` where BLAS takes the operands as they are and one thread is enough."""
    x, weight, bias = signature.geometries
    dtype, given = signature.outputs[0].dtype, [g for g in signature.geometries if g.__class__ is Geometry]
    if dtype not in (float32, float64) or signature.rounds is not None or not signature.outputs[0].numel \
            or not 0 < x.ndim < 3 or weight.ndim != 2 or (x.ndim == 2 and x.shape[1] == 1) \
            or x.numel * weight.shape[0] >= blas.PARALLEL \
            or not all(g.is_contiguous and g.dtype is dtype for g in given):
        return None
    matmul, add = np.matmul, np.add
    read, read_weight = reader(x, None), reader(weight, None)
    if bias.__class__ is not Geometry:
        return lambda operands: matmul(read(operands[0]), read_weight(operands[1]).T).reshape(-1)
    read_bias = reader(bias, None)

    def execute(operands: tuple[Any, ...]) -> Array:
        product: Array = matmul(read(operands[0]), read_weight(operands[1]).T)
        return add(product, read_bias(operands[2]), product).reshape(-1)
    return execute


# Python compares two numbers in a fraction of the time that NumPy takes to be called.
_COMPARISONS: dict[np.ufunc, Callable[[Any, Any], bool]] = {
    np.less: lt, np.less_equal: le, np.greater: gt, np.greater_equal: ge}
_KINDS = frozenset(((float32, float), (float64, float), (int64, int)))
_TRUTH = np.array([False]), np.array([True])    # which many nodes have
for _value in _TRUTH:
    _value.flags.writeable = False


def _of_one(compare: Callable[[Any, Any], bool], order: tuple[int, ...],
            signature: Signature) -> Callable[[tuple[Any, ...]], Array] | None:
    """How to compare one element with a Python number; None where this is something else."""
    g, kind = signature.geometries
    if not isinstance(g, Geometry) or (g.dtype, kind) not in _KINDS or order != (0, 1) \
            or signature.outputs[0].numel != 1:
        return None
    numpy_type, at = g.dtype.numpy, g.offset
    converted = lru_cache(1 << 8)(lambda number: number_of(number, numpy_type).item())

    def execute(operands: tuple[Any, ...]) -> Array:
        node, number = operands
        flat = node.value if node.value.dtype is numpy_type else reinterpret(node.value, numpy_type)
        return _TRUTH[compare(flat.item(at), converted(number))]
    return execute


def _on_flat(function: np.ufunc, order: tuple[int, ...],
             signature: Signature) -> Callable[[tuple[Any, ...]], Array]:
    """How to run it on arrays of one shape.

    Values that are no more than such an array are taken as they are, which prepares, and runs, in half the
    time that readers take.
    """
    geometries, out = signature.geometries, signature.outputs[0]
    compute = None if signature.compute is None else signature.compute.numpy
    count, numpy_type = out.numel, out.dtype.numpy

    def read(node: Any, geometry: Any) -> Any:
        return reader(geometry, compute, True)(node)

    first, second = geometries[order[0]], geometries[order[-1]]
    first_type, second_type = _type_as_is(first, compute), _type_as_is(second, compute)
    if first_type is None or second_type is None:   # there are readers for numbers, and for conversions
        return _runner(function, readers_of(signature, True), order, out)
    if len(order) == 1:
        def execute(operands: tuple[Any, ...]) -> Array:
            x = operands[0].value
            result = function(x if x.dtype is first_type and len(x) == count else read(operands[0], first))
            return result if result.dtype is numpy_type else result.astype(numpy_type)
        return execute
    left, right = order

    def execute_two(operands: tuple[Any, ...]) -> Array:
        x, y = operands[left].value, operands[right].value
        if x.dtype is not first_type or len(x) != count:
            x = read(operands[left], first)
        if y.dtype is not second_type or len(y) != count:
            y = read(operands[right], second)
        result: Array = function(x, y)
        return result if result.dtype is numpy_type else result.astype(numpy_type)
    return execute_two


def _type_as_is(geometry: Any, compute: Any) -> Any:
    """The type of values that need no conversion; None where all do, and for numbers."""
    if geometry.__class__ is not Geometry:
        return None
    numpy_type = geometry.dtype.numpy
    return numpy_type if compute is None or compute is numpy_type else None


def _runner(function: np.ufunc, readers: list[Reader], order: tuple[int, ...],
            out: Geometry) -> Callable[[tuple[Any, ...]], Any]:
    """Results of universal functions are fresh arrays."""
    numpy_type = out.dtype.numpy

    def finished(result: Any) -> Array:
        if result.dtype != numpy_type:
            result = result.astype(numpy_type)
        return result if result.ndim == 1 else result.reshape(-1)

    if len(readers) == 1:
        only, = readers

        def execute(operands: tuple[Any, ...]) -> Array:
            result = function(only(operands[0]))
            return result if result.ndim == 1 and result.dtype is numpy_type else finished(result)
        return execute
    first, second = order
    read_first, read_second = readers[first], readers[second]

    def execute_two(operands: tuple[Any, ...]) -> Array:
        result = function(read_first(operands[first]), read_second(operands[second]))
        return result if result.ndim == 1 and result.dtype is numpy_type else finished(result)
    return execute_two
