"""The interpreter's loop.

A node's operands are dropped when its value is there, so a value is freed as soon as its last reader has run:
no lifetime analysis is needed (Note: liveness).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...config import settings
from ...graph import pending
from ...graph.geometry import Geometry
from ...graph.node import Failure, Node, Signature
from ...graph.recent import Recent
from ..freed import keep_freed_memory
from ..measure import KernelTime, measured
from . import half_complex, mathematics, multi_tensor
from .arrays import Array, flatten, read, reinterpret

Plan = Callable[[tuple[Any, ...]], Any]
Reader = Callable[[tuple[Any, ...], int], Any]
_readers: Recent[Any, Reader] = Recent(1 << 12)

# Pointwise by what they compute, though they declare their shapes themselves.
_ELEMENTWISE = frozenset(("to_copy",))

# An operand that only its reader holds: a local variable, getrefcount's argument, the tuple of operands.
_SOLE_READER = pending.UNHELD + 1


def run(nodes: list[Node]) -> list[Node]:
    """Compute ``nodes`` (last one first), emptying the list. A failing kernel leaves a ``Failure`` as value.

    Returns the nodes whose own kernel failed. On an interrupt the nodes not yet computed stay in the list.
    """
    keep_freed_memory()
    failed: list[Node] = []
    plain = not (settings.kernel_times or Failure.made)
    with np.errstate(all="ignore"):
        while nodes:
            node = nodes[-1]
            if node.value is None:  # else an interrupt fell between the next lines
                try:
                    plan = node.signature.plan if plain else None   # type: ignore[union-attr]
                    node.value = _watched(node) if plan is None else plan(node.operands)
                except Exception as error:
                    node.value = Failure(error)
                    failed.append(node)
                    plain = False
            node.operands = ()
            nodes.pop()
            del node
    return failed


def _watched(node: Node) -> Any:
    """The value of a node that comes for the first time, after a failure, or with a clock running."""
    if not settings.kernel_times:
        return _compute(node)
    began = time.perf_counter()
    value = _compute(node)
    assert node.signature is not None
    measured.append(KernelTime(node.signature.operator.name, "interpreter", node.site,
                               time.perf_counter() - began))
    return value


def _compute(node: Node) -> Any:
    operands = node.operands
    if Failure.made:
        for operand in operands:
            if operand.__class__ is Node and operand.value.__class__ is Failure:
                return operand.value
    signature = node.signature
    assert signature is not None
    plan = signature.plan
    if plan is None:
        plan = signature.plan = prepare(signature)
    return plan(operands)


def prepare(signature: Signature) -> Plan:
    """What it takes to run a signature, decided once."""
    operator = signature.operator
    if operator.kind == "project":
        position = signature.attributes[0]
        return lambda operands: operands[0].value[position]
    if operator.kind == "multi_tensor":
        return multi_tensor.prepare(signature)
    if half_complex.computes(signature):
        return half_complex.prepare(signature, prepare)
    kernel, attributes, outputs = operator.kernel, signature.attributes, signature.outputs
    compute = _compute_type(signature)
    if (operator.kind == "pointwise" or operator.name in _ELEMENTWISE) and _is_flat(signature):
        return _prepare_flat(signature, compute)
    readers = [_reader(g, compute, i in operator.owns) for i, g in enumerate(signature.geometries)]
    variadic = operator.kind == "variadic"

    def execute(operands: tuple[Any, ...]) -> Any:
        arrays = [reader(operands, i) for i, reader in enumerate(readers)]
        result = kernel(mathematics, *((arrays,) if variadic else arrays), *attributes)
        if len(outputs) == 1 and signature.single:
            return _own(flatten(result, outputs[0]), operands, operator.owns)
        return tuple([_own(flatten(r, g), operands, operator.owns) for r, g in zip(result, outputs)])
    return execute


def _is_flat(signature: Signature) -> bool:
    """Whether all arrays have the same elements in the same order, so that their shape does not matter."""
    if not signature.single or signature.operator.owns:
        return False
    shape = signature.outputs[0].shape
    return all(
        not isinstance(g, Geometry) or (g.is_contiguous and g.shape == shape and g.numel > 0)
        for g in (*signature.geometries, signature.outputs[0]))


def _prepare_flat(signature: Signature, compute: np.dtype[Any] | None) -> Plan:
    """A pointwise kernel on flat arrays: most of the interpreter's time for small ones goes into shapes."""
    kernel, attributes = signature.operator.kernel, signature.attributes
    numpy_type = signature.outputs[0].dtype.numpy
    readers = [_flat_reader(g, compute) for g in signature.geometries]

    def execute(operands: tuple[Any, ...]) -> Any:
        result = kernel(mathematics, *[reader(x) for reader, x in zip(readers, operands)], *attributes)
        if result.dtype is not numpy_type and result.dtype != numpy_type:
            result = result.astype(numpy_type)
        if result.ndim != 1:
            result = flatten(result, signature.outputs[0])
        return _own(result, operands, ())
    return execute


def _flat_reader(geometry: Any, compute: np.dtype[Any] | None) -> Callable[[Any], Any]:
    if not isinstance(geometry, Geometry):
        if compute is None or geometry is type(None):
            return lambda number: number
        return lambda number: _number(number, compute)
    first, after, numpy_type = geometry.offset, geometry.offset + geometry.numel, geometry.dtype.numpy
    converts = compute is not None and numpy_type != compute

    def read_flat(node: Node) -> Any:
        value = node.value
        if value.dtype is not numpy_type and value.dtype != numpy_type:
            value = reinterpret(value, numpy_type)
        if len(value) != after or first:
            value = value[first:after]
        return value.astype(compute) if converts else value
    return read_flat


def _compute_type(signature: Signature) -> np.dtype[Any] | None:
    return signature.compute.numpy if signature.compute is not None else None


def _reader(geometry: Any, compute: np.dtype[Any] | None, owned: bool) -> Reader:
    """How an operand becomes what the kernel gets; signatures share their readers."""
    key = geometry, compute, owned
    found = _readers.get(key) or _readers.recall(key)
    return found or _readers.keep(key, _new_reader(geometry, compute, owned))


def _new_reader(geometry: Any, compute: np.dtype[Any] | None, owned: bool) -> Reader:
    if isinstance(geometry, Geometry):
        if owned and not geometry.is_dense:  # elements may share memory: a copy in which they do not
            return lambda operands, i: read(operands[i].value, geometry).copy()
        if owned:
            return lambda operands, i: _private(operands, i, geometry)
        if compute is not None and geometry.dtype.numpy != compute:
            return lambda operands, i: read(operands[i].value, geometry).astype(compute)
        return lambda operands, i: read(operands[i].value, geometry)
    if compute is not None and geometry is not type(None):
        return lambda operands, i: _number(operands[i], compute)
    return lambda operands, i: operands[i]


def _number(number: Any, numpy_type: np.dtype[Any]) -> Any:
    """A Python number as a scalar of the type, integers wrapping around as PyTorch's do."""
    if numpy_type.kind in "iu" and isinstance(number, int):
        bits = numpy_type.itemsize * 8
        number &= (1 << bits) - 1
        if numpy_type.kind == "i" and number >> (bits - 1):
            number -= 1 << bits
    return numpy_type.type(number)


def _private(operands: tuple[Any, ...], i: int, geometry: Geometry) -> Array:
    """The operand's array, for the kernel to overwrite: itself when nobody else can see it, else a copy."""
    node = operands[i]
    value = node.value
    if sys.getrefcount(node) > _SOLE_READER or sys.getrefcount(value) > _SOLE_READER \
            or value.base is not None or not value.flags.writeable:
        value = value.copy()
    return read(value, geometry)


def _own(value: Array, operands: tuple[Any, ...], owns: tuple[int, ...]) -> Array:
    """``value``, copied if a kernel returned (a view of) one of its operands: values never alias.

    What is a view of all of a fresh array is that array: one that is nobody's view can be overwritten.
    """
    root = value.base
    if root.__class__ is np.ndarray and root.shape == value.shape and root.strides == value.strides \
            and root.dtype == value.dtype and root.base is None:
        value, root = root, None
    if root is None and not owns:
        for operand in operands:
            if operand.__class__ is Node and operand.value is value:
                return value.copy()
        return value
    if isinstance(root, np.ndarray):
        for i, operand in enumerate(operands):
            if operand.__class__ is Node and i not in owns:
                other = operand.value
                if other.__class__ is not tuple and (other is root
                                                     or (other.base is not None and other.base is root)):
                    return value.copy()
        if not value.flags.writeable:
            return value.copy()
    return value
