"""Operators of tensors without elements: an image without objects, an expert that no token goes to.

Results without elements need no computing. What else comes of nothing is one value everywhere (sums are 0),
or an operand as it was (nothing is written to it).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....graph.geometry import Geometry
from ....graph.node import Signature
from ..llvm.build import Module
from ..llvm.compiling.code import kernel
from ..movement.copying import Place, bits_of, copied, filled
from ..plan import Call, Plan, Words

# What reductions of no elements, and gradients and products that add up nothing, are.
_VALUES: dict[str, float] = {
    "sum": 0, "nansum": 0, "prod": 1, "mean": math.nan, "any": 0, "all": 1,
    "mm": 0, "bmm": 0, "matmul": 0, "convolution_weight": 0,
    "gather_backward": 0, "index_backward": 0, "index_select_backward": 0, "take_backward": 0,
    "embedding_dense_backward": 0,
}
# Whose first operand stays as it is if nothing is written to it.
_UPDATES = frozenset(("index_put", "index_add", "index_copy", "index_fill", "put", "scatter", "scatter_add"))


def is_about_nothing(signature: Signature) -> bool:
    """Whether an operand or a result has no elements."""
    return any(g.__class__ is Geometry and not g.numel for g in (*signature.geometries, *signature.outputs))


def of_nothing(signature: Signature) -> Plan | None:
    """The plan of an operator of which an operand or a result has no elements, if one follows from that."""
    operator = signature.operator
    operands = [g for g in signature.geometries if g.__class__ is Geometry]
    if all(not g.numel for g in signature.outputs):
        # Indices that there are may be out of range, though nothing is at them: most operators mind.
        minded = operator.name != "index" and any(g.numel and not g.dtype.is_floating_point
                                                  for g in operands[1:])
        return Plan([_nothing(signature)]) if signature.outputs and not (minded or operator.owns) else None
    out = signature.outputs[0]
    if not signature.single or not out.is_dense or out.offset:
        return None
    if operator.name in _VALUES:
        return _one_value(signature, operands, _VALUES[operator.name])
    return _unchanged(signature, operands) if operator.name in _UPDATES else None


def _nothing(signature: Signature) -> Call:
    """A call that has results and writes nothing."""
    words = Words()
    for k in range(len(signature.outputs)):
        words.output(k)
    return Call(_kernel(), words, 1)


@kernel("nothing")
def _kernel() -> str:
    module = Module()
    with module.kernel("nothing"):
        pass
    return module.text()


def _one_value(signature: Signature, operands: list[Any], value: float) -> Plan | None:
    out = signature.outputs[0]
    dtype = out.dtype.numpy
    if operands[0].numel or any(g.numel and not g.dtype.is_floating_point for g in operands[1:]) \
            or (value and dtype.kind == "c"):
        return None
    bits = bits_of(value, np.dtype(dtype)) if value else 0
    return Plan([filled(Place((1,)), (out.numel,), out.dtype.itemsize, bits=bits)],
                traffic=1.0 * signature.nbytes)


def _unchanged(signature: Signature, operands: list[Any]) -> Plan | None:
    x, out = operands[0], signature.outputs[0]
    indices = [g for g in operands[1:] if not g.dtype.is_floating_point]
    if x.dtype is not out.dtype or x.shape != out.shape or not indices or any(g.numel for g in indices):
        return None
    if x.is_dense and not x.offset and x.strides == out.strides:
        return Plan([_nothing(signature)], in_place=[(0, 0)])
    copy = copied(Place(out.strides), Place(x.strides, 0, 0, x), x.shape, out.dtype.itemsize)
    return Plan([copy], traffic=2.0 * signature.nbytes)
