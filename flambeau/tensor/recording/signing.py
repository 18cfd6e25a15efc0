"""Signatures: what is checked once about operands of these geometries, and found in a table afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...devices import CPU, META
from ...graph.geometry import Geometry, contiguous
from ...graph.node import Signature, plain
from ...graph.operator import Operator
from ...graph.recent import Recent
from ...graph.strides import broadcast
from . import casting

signatures: Any = Recent(1 << 14)       # by operator, attributes, and geometries or classes of operands
dtypes.on_default_change += [signatures.clear, casting.guarded.clear]
_by_families: Recent[Any, Signature] = Recent(1 << 12)  # of those whose operands do not begin at offset 0

PROJECT = Operator("project", lambda m, x, i: x[i], lambda geometries, attributes: (), ("input",),
                   kind="project")
projections: Recent[tuple[int, Geometry], Signature] = Recent(1 << 13)


def projection(i: int, geometry: Geometry) -> Signature:
    """The signature of taking the i-th result, of this geometry."""
    key = i, geometry
    found = projections.get(key) or projections.recall(key)
    return found or projections.keep(key, Signature(PROJECT, (i,), (None,), (geometry,), True, None))


def parts_of(signature: Signature) -> tuple[Signature, ...]:
    """The signatures of taking each of an operation's results."""
    found = parts.get(signature) or parts.recall(signature)
    return found or parts.keep(signature, tuple([projections.get((i, g)) or projection(i, g)
                                                 for i, g in enumerate(signature.outputs)]))


parts: Recent[Signature, tuple[Signature, ...]] = Recent(1 << 10)


def sign(operator: Operator, key: tuple[Any, ...], attributes: tuple[Any, ...]) -> Signature:
    """Check the operands and make the signature; errors are not remembered."""
    table = casting.guarded if casting.used and operator.name in casting.OPERATORS else signatures
    found = table.recall(key)
    if found is not None:
        return found
    geometries = key[2:]
    kept = plain(attributes)
    if kept is not attributes:
        return sign(operator, (operator, kept, *geometries), kept)
    sign_one = _signed
    if not operator.owns:
        for g in geometries:
            if g.__class__ is Geometry and g.offset:
                sign_one = _elsewhere
                break
    return table.keep(key, sign_one(operator, attributes, geometries))


def _elsewhere(operator: Operator, attributes: tuple[Any, ...], geometries: tuple[Any, ...]) -> Signature:
    """The signature of operands that do not begin at offset 0, made of one that differs in offsets alone."""
    families = operator, attributes, *[g.family if g.__class__ is Geometry else g for g in geometries]
    found = _by_families.get(families) or _by_families.recall(families)
    made = _signed(operator, attributes, geometries) if found is None else found.moved_to(geometries)
    if made.settled is None:
        _by_families.keep(families, made)   # it may become known how its operands move, and the next ones'
    return made


def _signed(operator: Operator, attributes: tuple[Any, ...], geometries: tuple[Any, ...]) -> Signature:
    found = _kinds(geometries) if operator.kind in _BY_ELEMENTS else None
    if found is None:
        return _checked(operator, attributes, geometries)
    kinds, shape = found
    key = operator, attributes, *kinds
    known = _of_kinds.get(key) or _of_kinds.recall(key)
    if known is not None:
        dtype, first = known.outputs[0].dtype, geometries[0]
        is_first = first.shape is shape and first.is_contiguous and first.dtype is dtype and not first.offset
        return known.of_shape(geometries, first if is_first else contiguous(shape, dtype, CPU))
    made = _checked(operator, attributes, geometries)
    out = made.outputs[0]
    if made.single and out is contiguous(shape, out.dtype, CPU):
        _of_kinds.keep(key, made)
    return made


_BY_ELEMENTS = frozenset(("pointwise", "choice"))


def _kinds(geometries: tuple[Any, ...]) -> tuple[list[Any], Sequence[int]] | None:
    """The kinds of operands whose rows follow one another, and types of numbers; the shape of the result.

    The result of a pointwise operator of such lies so without gaps, and its type depends on theirs: with
    other shapes nothing is to be checked again. None of others, and where shapes do not fit.
    """
    first = geometries[0]
    if first.__class__ is not Geometry:
        return None
    kinds, alike = [], True
    shape: Sequence[int] | None = first.shape
    for g in geometries:
        if g.__class__ is not Geometry:
            kinds.append(g)
            continue
        if not g.family.plain or g.device is not CPU:
            return None
        kinds.append(g.family.kind)
        if g is not first and g.shape != shape:
            alike = False
    if not alike:
        shape = broadcast([g.shape for g in geometries if g.__class__ is Geometry])
    return None if not shape or 1 in shape else (kinds, shape)      # extents of 1 lie as operands' do


_of_kinds: Recent[Any, Signature] = Recent(1 << 12)
dtypes.on_default_change.append(_of_kinds.clear)


def _checked(operator: Operator, attributes: tuple[Any, ...], geometries: tuple[Any, ...]) -> Signature:
    device, several_devices = None, False
    for kind in geometries:
        if kind.__class__ is Geometry:
            if kind.device is not device:
                several_devices = device is not None
                device = kind.device
        elif kind not in _NUMBERS:
            _require_number(operator, kind)
    if operator.kind == "pointwise" and geometries[0] is _ABSENT:       # others may be, as bounds of a clamp
        _require_number(operator, _ABSENT)
    if several_devices:
        check_devices(geometries)
    outputs = operator.infer(geometries, attributes)
    single = isinstance(outputs, Geometry)
    compute = operator.compute(geometries) if operator.compute is not None else None
    several = (outputs,) if isinstance(outputs, Geometry) else tuple(outputs)
    return Signature(operator, attributes, geometries, several, single, compute)


_ABSENT = type(None)
_NUMBERS = frozenset((int, float, bool, complex, _ABSENT))


def _require_number(operator: Operator, kind: Any) -> None:
    """PyTorch's TypeError for an operand that is neither a tensor nor a number."""
    if kind is not None and not issubclass(kind, (int, float, complex, np.generic)):
        raise TypeError(f"{operator.name}(): argument must be Tensor, not {kind.__name__}")


def _guard() -> None:
    """From now on operators that autocast lowers are not found in the table (Note: autocast)."""
    for key in [key for key in signatures if key[0].name in casting.OPERATORS]:
        casting.guarded.keep(key, signatures.pop(key))


casting.on_first_use.append(_guard)


def check_devices(geometries: Sequence[Any]) -> None:
    """All tensors on one device, except for 0-dim tensors of the CPU."""
    found = None
    for g in geometries:
        if g.__class__ is Geometry:
            if found is None or (g.device is not found.device and _is_free(found)):
                found = g
            elif g.device is not found.device and not _is_free(g):
                if META in (g.device, found.device):
                    raise RuntimeError(f"Tensor on device {g.device} is not on the expected device "
                                       f"{found.device}!")
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two devices, "
                    f"{found.device} and {g.device}!"
                )


def _is_free(g: Geometry) -> bool:
    """Whether this may come together with tensors of any device."""
    return g.ndim == 0 and g.device is CPU
