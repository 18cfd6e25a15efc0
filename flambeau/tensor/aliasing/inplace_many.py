"""One operator of many tensors: ``record``, and ``write`` of its results, for all of them at once.

An optimizer's step writes hundreds of tensors whose geometries stay as they are. What ``record`` and
``write`` find out for each is remembered here: a step like the last one costs a third of a microsecond for a
tensor, in lists that are made and compared by loops of C.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...config import settings
from ...engine.look import check_budget
from ...graph import pending
from ...graph.geometry import Geometry
from ...graph.node import Node, Signature
from ...graph.operator import Operator
from ...graph.recent import Recent
from ...graph.storage import Storage
from ..recording.record import interceptors, record, site_from
from ..recording.signing import projection, sign
from ..tensor import Tensor, fresh
from .inplace import write


class _Known:
    """What is known of operands of some geometries, the written ones first.

    ``held``: the geometries of the written tensors' storages. ``whole``: each of them is all that its storage
    holds, so that the storage takes the result as it is.
    """

    __slots__ = ("geometries", "held", "signature", "projections", "whole")

    def __init__(self, geometries: list[Geometry], held: list[Geometry], signature: Signature) -> None:
        self.geometries = geometries
        self.held = held
        self.signature = signature
        self.projections = [projection(i, g) for i, g in enumerate(signature.outputs)]
        self.whole = not signature.on_meta and all(map(_takes, geometries, held, signature.outputs))


def _takes(target: Geometry, held: Geometry, output: Geometry) -> bool:
    """Whether a result of geometry ``output`` can be the whole value of the target's storage."""
    return target.numel == held.numel and target.offset == 0 and target.dtype is held.dtype \
        and output.dtype is target.dtype and output.strides == target.strides and target.is_dense


_latest: Recent[Any, _Known] = Recent(1 << 10)
_known: Recent[Any, _Known] = Recent(1 << 12)
dtypes.on_default_change += [_latest.clear, _known.clear]


def record_in_place(operator: Operator, attributes: tuple[Any, ...], targets: Sequence[Tensor],
                    others: Sequence[Tensor], numbers: Sequence[float] = ()) -> None:
    """Record ``operator(*targets, *others, *numbers)``; its results are the next values of ``targets``.

    The numbers are floats. No history is made: to be called where none is recorded.
    """
    tensors = [*targets, *others]
    count = len(targets)
    geometries = [x._geometry for x in tensors]
    storages = [x._storage for x in tensors]
    own = storages[:count]
    held = [storage.geometry for storage in own]
    known = _latest.get((operator, attributes))
    if known is None or known.geometries != geometries or known.held != held:
        known = _find(operator, attributes, geometries, held, len(numbers))
    if not known.whole or interceptors or True in [storage.exposed for storage in storages]:
        for x, result in zip(targets, record(operator, (*tensors, *numbers), attributes)):
            write(x, result)
        return
    site = site_from(2)
    node = Node(known.signature, (*[storage.node for storage in storages], *numbers), site)
    results = [Node(projection, (node,), site) for projection in known.projections]
    pending.nodes.append(node)
    pending.nodes.extend(results)
    for storage, result in zip(own, results):
        storage.node = result
    for counter in [x._counter or x._storage for x in targets]:
        counter.version += 1
    if len(pending.nodes) > settings.check_at:
        check_budget()


def record_many(operator: Operator, attributes: tuple[Any, ...], tensors: Sequence[Tensor]) -> Tensor:
    """``record`` for an operator of many tensors with one result and no history."""
    geometries = [x._geometry for x in tensors]
    storages = [x._storage for x in tensors]
    known = _latest.get((operator, attributes))
    if known is None or known.geometries != geometries:
        known = _find(operator, attributes, geometries, [], 0)
    signature = known.signature
    if signature.on_meta or interceptors or True in [storage.exposed for storage in storages]:
        return record(operator, tensors, attributes)
    node = Node(signature, tuple([storage.node for storage in storages]), site_from(2))
    pending.nodes.append(node)
    if len(pending.nodes) > settings.check_at:
        check_budget()
    return fresh(Storage(node, signature.outputs[0]), signature.outputs[0])


def _find(operator: Operator, attributes: tuple[Any, ...], geometries: list[Geometry], held: list[Geometry],
          numbers: int) -> _Known:
    key = (operator, attributes, numbers, *geometries, *held)
    found = _known.get(key) or _known.recall(key)
    if found is None:
        signed = (operator, attributes, *geometries, *[float] * numbers)
        signature = sign(operator, signed, attributes)
        found = _known.keep(key, _Known(geometries, held, signature))
    return _latest.keep((operator, attributes), found)


__all__ = ["record_in_place", "record_many"]
