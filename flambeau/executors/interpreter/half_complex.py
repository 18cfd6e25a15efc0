"""Half complex numbers, which NumPy does not have: kernels get, and return, complex64 in their place.

In memory they are pairs of float16. A signature that has them is prepared as if it had complex64; its
operands are widened before, its results narrowed after.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dtypes import HALF_PAIR, complex32, complex64, converted
from ...graph.geometry import Geometry, intern
from ...graph.node import Node, Signature, constant
from .arrays import reinterpret

Plan = Callable[[tuple[Any, ...]], Any]

_WIDE = np.dtype(np.complex64)


def present(signature: Signature) -> bool:
    """Whether a signature has half complex operands or results."""
    # Asked for every new signature: those of one form have the same types.
    form = signature.form
    found = _present.get(form)
    if found is None or form < 0:
        found = _present[form] = any(g.__class__ is Geometry and g.dtype is complex32
                                     for g in (*signature.geometries, *signature.outputs))
    return found


_present: dict[int, bool] = {}


def computes(signature: Signature) -> bool:
    """Whether a signature has such operands or results and does more than to move them.

    What moves elements sees memory that may also be read as float16.
    """
    return signature.operator.kind != "move" and present(signature)


def prepare(signature: Signature, prepare_wide: Callable[[Signature], Plan]) -> Plan:
    """The plan of such a signature, made from that of the wide one."""
    geometries, outputs = signature.geometries, signature.outputs
    compute = complex64 if signature.compute is complex32 else signature.compute
    wide = Signature(signature.operator, _widened(signature.attributes), _widened(geometries),
                     _widened(outputs), signature.single, compute)
    plan = prepare_wide(wide)
    halves = [g.__class__ is Geometry and g.dtype is complex32 for g in geometries]
    results = [g.dtype is complex32 for g in outputs]

    def execute(operands: tuple[Any, ...]) -> Any:
        found = plan(tuple([_wide_node(x) if half else x for x, half in zip(operands, halves)]))
        if wide.single:
            return converted(found, HALF_PAIR) if results[0] else found
        return tuple([converted(x, HALF_PAIR) if half else x for x, half in zip(found, results)])
    return execute


def _widened(item: Any) -> Any:
    """Attributes and geometries with complex64 for complex32."""
    if item is complex32:
        return complex64
    if item.__class__ is Geometry and item.dtype is complex32:
        return intern(item.shape, item.strides, item.offset, complex64, item.device)
    return tuple([_widened(x) for x in item]) if item.__class__ is tuple else item


def _wide_node(node: Node) -> Node:
    return constant(converted(reinterpret(node.value, HALF_PAIR), _WIDE))
