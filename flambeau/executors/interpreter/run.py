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
from ..freed import keep_freed_memory
from ..measure import KernelTime, measured
from . import direct, half_complex, mathematics, multi_tensor
from .arrays import Array, flatten, read
from .quiet import hush, speak
from .readers import readers_of

Plan = Callable[[tuple[Any, ...]], Any]

# An operand that only its reader holds: a local variable, getrefcount's argument, the tuple of operands.
_SOLE_READER = pending.UNHELD + 1


def run(nodes: list[Node]) -> list[Node]:
    """Compute ``nodes`` (last one first), emptying the list. A failing kernel leaves a ``Failure`` as value.

    Returns the nodes whose own kernel failed. On an interrupt the nodes not yet computed stay in the list.
    """
    keep_freed_memory()
    failed: list[Node] = []
    plain = not (settings.kernel_times or Failure.made)
    before = hush()
    try:
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
    finally:
        speak(before)
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
    if operator.owns:
        return _prepare_owning(signature)
    if draws(signature):
        return _prepare_draw(signature)
    if (plan := direct.prepare(signature)) is not None:
        return plan
    if operator.kind in ("pointwise", "conversion") and _is_flat(signature):
        return _prepare_flat(signature)
    return _prepare_general(signature)


def draws(signature: Signature) -> bool:
    """Whether this draws a dense result from a random stream, whose state is read and comes last."""
    geometries, outputs = signature.geometries, signature.outputs
    return len(outputs) == 2 and geometries[:1] == outputs[1:] and signature.attributes[-1:] == outputs[:1] \
        and outputs[0].is_contiguous and Geometry not in map(type, geometries[1:])


def _prepare_draw(signature: Signature) -> Plan:
    """A stream gives fresh values, in order."""
    kernel, attributes = signature.operator.kernel, signature.attributes

    def execute_draw(operands: tuple[Any, ...]) -> Any:
        before = operands[0].value
        values, after = kernel(mathematics, before, *operands[1:], *attributes)
        return values if values.ndim == 1 else values.reshape(-1), after.copy() if after is before else after
    return execute_draw


def _prepare_general(signature: Signature) -> Plan:
    kernel, attributes, outputs = signature.operator.kernel, signature.attributes, signature.outputs
    readers = readers_of(signature, False)
    variadic = signature.operator.kind == "variadic"
    if len(outputs) != 1 or not signature.single:
        laid_out = [_laying_out(g) for g in outputs]

        def execute_several(operands: tuple[Any, ...]) -> Any:
            arrays = [reader(x) for reader, x in zip(readers, operands)]
            results = kernel(mathematics, *((arrays,) if variadic else arrays), *attributes)
            return tuple([lay_out(r, operands) for r, lay_out in zip(results, laid_out)])
        return execute_several
    lay_out = _laying_out(outputs[0])

    def execute(operands: tuple[Any, ...]) -> Any:
        arrays = [reader(x) for reader, x in zip(readers, operands)]
        return lay_out(kernel(mathematics, *((arrays,) if variadic else arrays), *attributes), operands)
    return execute


def _laying_out(geometry: Geometry) -> Callable[[Any, tuple[Any, ...]], Array]:
    """What makes a kernel's results the flat values of a geometry."""
    numpy_type, shape = geometry.dtype.numpy, tuple(geometry.shape) if geometry.is_contiguous else None
    scalar = numpy_type.type if shape == () else None   # what a reduction to one element gives

    def lay_out(result: Any, operands: tuple[Any, ...]) -> Array:
        if result.__class__ is np.ndarray and result.base is None and result.dtype is numpy_type \
                and result.shape == shape and result.flags.c_contiguous:
            return result if result.ndim == 1 else result.reshape(-1)   # fresh: readers give views
        if result.__class__ is scalar:
            flat = np.empty(1, numpy_type)
            flat[0] = result
            return flat
        return _own(flatten(result, geometry), operands)
    return lay_out


def _prepare_flat(signature: Signature) -> Plan:
    """A pointwise kernel on flat arrays: most of the interpreter's time for small ones goes into shapes."""
    kernel, attributes, geometry = signature.operator.kernel, signature.attributes, signature.outputs[0]
    readers, numpy_type = readers_of(signature, True), geometry.dtype.numpy

    def execute(operands: tuple[Any, ...]) -> Any:
        result = kernel(mathematics, *[reader(x) for reader, x in zip(readers, operands)], *attributes)
        if result.dtype is not numpy_type and result.dtype != numpy_type:
            result = result.astype(numpy_type)
        return _own(result if result.ndim == 1 else flatten(result, geometry), operands)
    return execute


def _prepare_owning(signature: Signature) -> Plan:
    """A kernel that overwrites operands."""
    operator, attributes, outputs = signature.operator, signature.attributes, signature.outputs
    geometries, owns = signature.geometries, operator.owns
    readers = readers_of(signature, False)

    def execute(operands: tuple[Any, ...]) -> Any:
        arrays = [_private(operands, i, geometries[i]) if i in owns else reader(operands[i])
                  for i, reader in enumerate(readers)]
        result = operator.kernel(mathematics, *arrays, *attributes)
        results = (result,) if signature.single else result
        found = tuple([_own(flatten(r, g), operands, owns) for r, g in zip(results, outputs)])
        return found[0] if signature.single else found
    return execute


def _is_flat(signature: Signature) -> bool:
    """Whether all arrays have the same elements in the same order, so that their shape does not matter."""
    out = signature.outputs[0] if signature.single else None
    if out is None or not out.is_contiguous or not out.numel:
        return False
    for g in signature.geometries:
        if g.__class__ is Geometry and not (g.is_contiguous and g.shape == out.shape):
            return False
    return True


def _private(operands: tuple[Any, ...], i: int, geometry: Geometry) -> Array:
    """The operand's array, for the kernel to overwrite: itself when nobody else can see it, else a copy."""
    node = operands[i]
    value = node.value
    if not geometry.is_dense:   # elements may share memory: a copy in which they do not
        return read(value, geometry).copy()
    if sys.getrefcount(node) > _SOLE_READER or sys.getrefcount(value) > _SOLE_READER \
            or value.base is not None or not value.flags.writeable:
        value = value.copy()
    return read(value, geometry)


def _own(value: Array, operands: tuple[Any, ...], owns: tuple[int, ...] = ()) -> Array:
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
