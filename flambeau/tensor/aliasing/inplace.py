"""In-place operators: the functional operator, then the storage's next version.

There is one mechanism for all of them: ``assign(x, result)``. A storage points to the result's node (Note:
values and versions); through a view it points to a node that writes a part of the old value.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

from ... import dtypes
from ...config import settings
from ...devices import META
from ...engine.look import values_read, write_through
from ...executors.interpreter.arrays import read
from ...graph.geometry import Geometry
from ...graph.node import constant
from ...graph.operator import Operator
from ...graph.references import UNHELD
from ...graph.storage import Storage
from ..attributes import blank
from ..batching import any_batched, levels, rules
from ..recording.history import edge
from ..recording.record import aliasing, interceptors, record_one, record_pair, record_value
from ..tape import INFERENCE, state
from ..tensor import Tensor
from .rewritten import CONTIGUOUS, keep_original, rebase
from .views import ambiguous_write

FEW = 1 << 12      # numbers that are written at once, if they are known
_WRITTEN = "is being modified inplace"
_VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."


def _write_kernel(m: Any, old: Any, value: Any, geometry: Geometry) -> Any:
    m.strided(m.reinterpret(old, geometry.dtype.numpy), geometry.shape, geometry.strides,
              geometry.offset)[...] = value
    return old


WRITE = Operator("write", _write_kernel, lambda geometries, attributes: geometries[0], ("old", "value"),
                 owns=(0,), kind="move")


def check_writable(x: Tensor) -> None:
    """Raise PyTorch's error where autograd forbids writing x in place."""
    if x._counter is INFERENCE and not state.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to "
            "get a normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for "
            "more details.")
    if not state.enabled or (state.quiet and _is_of_leaf(x)):
        return
    base = x._base
    if x._requires_grad and x.grad_fn is None and base is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if x._requires_grad and base is not None and not base._requires_grad:   # a view became the leaf
        raise RuntimeError(_VIEW_OF_LEAF)
    if base is not None and base._requires_grad:
        if x._view is None or x._multiple:
            x.grad_fn  # noqa: B018  (raises where the base was written since)
            raise ambiguous_write(x, _WRITTEN)
        if base._grad_fn is None:
            raise RuntimeError(_VIEW_OF_LEAF)


def _is_of_leaf(x: Tensor) -> bool:
    """Whether x is, or shows a part of, a variable that wants gradients."""
    variable = x if x._base is None else x._base
    return variable._requires_grad and variable._grad_fn is None


# Whether a tensor was computed from a dual one: forward mode, which is made of tensors, adds its answer.
tangent_questions: list[Callable[[Tensor], bool]] = []


def _is_past_history(x: Tensor, result: Tensor) -> bool:
    """Whether a write without gradients has no history, though tangents are followed (Note: forward mode)."""
    if not state.quiet or not _is_of_leaf(x):
        return False
    if any(has_tangent(result) for has_tangent in tangent_questions):
        raise NotImplementedError("a tensor that has a tangent is written to a leaf Variable that requires "
                                  "grad")
    return True


def write_whole(operator: Operator, x: Tensor, operands: tuple[Any, ...],
                attributes: tuple[Any, ...] = ()) -> bool:
    """Let x, a whole tensor without a history, take what an operator gives. False: nothing was done; so it is
    always without native code (Note: native recording).
    """
    return False


aliasing.update(write_whole=write_whole)


def assign(x: Tensor, result: Tensor, name: str) -> Tensor:
    """Let x take the values (and the history) of ``result``; returns x."""
    if levels and any_batched((x, result)):
        return rules.assign(x, result, name)
    taping, geometry = state.enabled, x._geometry
    if result._geometry is geometry and x._counter is None and x._base is None \
            and not (taping and (x._requires_grad or result._requires_grad
                                 or (result._base is not None and result.requires_grad))):
        storage, held = x._storage, result._storage
        if storage.__class__ is Storage and held.__class__ is Storage and storage.geometry is geometry \
                and held.geometry is geometry and not storage.exposed and not held.exposed:
            storage.version += 1
            storage.node = held.node
            return x
    if taping or (x._counter is INFERENCE and not state.inference):
        check_writable(x)
        taping = taping and not _is_past_history(x, result)
    if taping and result._grad_fn is not None:
        keep_original(x, result._grad_fn)
    given = result._geometry
    if given.dtype is not geometry.dtype or given.shape != geometry.shape:
        result = _fitting(result, geometry, name)
    base = x._base
    if taping and base is not None and (x._view is None or x._multiple) and result._requires_grad:
        raise ambiguous_write(x, _WRITTEN)
    history_edge = edge(base) if base is not None and base._requires_grad and taping else None
    write_part(x, x._geometry, result)
    if taping:
        rebase(x, result, history_edge, name)
    return x


def _fitting(result: Tensor, geometry: Geometry, name: str) -> Tensor:
    """``result`` in the type of the tensor that takes it, which must have its shape."""
    if result._geometry.dtype is not geometry.dtype:
        if not dtypes.can_cast(result._geometry.dtype, geometry.dtype):
            wanted = dtypes.c_name(geometry.dtype) if name.startswith(("clamp", "clip")) else \
                dtypes.SCALAR_NAMES[geometry.dtype]     # clamp_ and clip_ have names of their own for types
            raise RuntimeError(f"result type {dtypes.SCALAR_NAMES[result.dtype]} can't be cast to the "
                               f"desired output type {wanted}")
        result = result.to(geometry.dtype)
    if result._geometry.shape != geometry.shape:
        raise RuntimeError(
            f"output with shape {list(geometry.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}")
    return result


def write(x: Tensor, result: Tensor) -> None:
    """Record the write of ``result`` (same shape and dtype) to x's part of the storage; bump the version."""
    if levels and any_batched((x, result)):
        rules.write(x, result)
        return
    write_part(x, x._geometry, result)


def write_part(x: Tensor, geometry: Geometry, result: Tensor) -> None:
    """Record the write of ``result`` (that shape and dtype) to a part of x's storage (Note: hot functions,
    in ``recording/record.py``).
    """
    storage = x._storage
    valued = geometry.device is not META and geometry.numel > 0
    if valued and 0 in geometry.strides:
        require_no_overlap(geometry)
    counter = x._counter
    if counter is None:
        storage.version += 1
    else:
        counter.version += 1
    if not valued:
        return
    if result._storage.node.value is not None \
            and (state.at_once or (geometry.numel <= FEW and writes_few())) \
            and _written_at_once(storage, geometry, result):
        return
    node = _next_node(storage, geometry, result)
    if storage.exposed:
        write_through(storage, node)
    else:
        storage.node = node


def write_number(x: Tensor, geometry: Geometry, number: int | float) -> bool:
    """Record the write of a number to a part of x's storage; false, and nothing done, if that is not so
    simple (Note: hot functions, in ``recording/record.py``).
    """
    storage = x._storage
    if geometry.device is META or not geometry.numel or geometry.dtype is dtypes.complex32:
        return False    # NumPy has no half complex numbers
    value = storage.node.value
    if value.__class__ is np.ndarray and geometry.numel <= FEW and writes_few() \
            and value.dtype is geometry.dtype.numpy and _is_own(storage, value, geometry):
        read(value, geometry)[...] = number
        _is_known(storage, value)
    elif (node := record_value(WRITE, storage, number, (geometry,))) is None:
        return False
    elif storage.exposed:
        write_through(storage, node)
    else:
        storage.node = node
    counter = x._counter
    if counter is None:
        storage.version += 1
    else:
        counter.version += 1
    return True


def writes_few() -> bool:
    """Whether a few known numbers may be written at once.

    A loop that fills a buffer writes each time to another place: recorded, no graph would come back.
    """
    return not interceptors and not settings.verify and settings.executor in ("auto", "interpreter")


def _written_at_once(storage: Storage, geometry: Geometry, result: Tensor) -> bool:
    """Write known values into a known value that nobody else sees, or all may (Note: computing at once)."""
    value, source = storage.node.value, result._storage.node.value
    if value.__class__ is not np.ndarray or source.__class__ is not np.ndarray or result._storage is storage:
        return False
    if not _is_own(storage, value, geometry):
        return False
    read(value, geometry)[...] = read(source, result._geometry)
    _is_known(storage, value)
    return True


def _is_own(storage: Storage, value: Any, geometry: Geometry) -> bool:
    """Whether a part of a known value can be written to where it is."""
    return storage.exposed or not (
        geometry.numel == storage.size or getrefcount(storage.node) > UNHELD
        or getrefcount(value) > UNHELD + 2 or not value.flags.writeable or not is_unshared(value))


def _is_known(storage: Storage, value: Any) -> None:
    """Let a storage have a value that was written to where it is."""
    if not storage.exposed:
        storage.node = constant(value)  # what is remembered of a node is not known of this one
    values_read[0] += 1


def is_unshared(value: Any) -> bool:
    """Whether an array has its memory alone: flattened, a result may be a view whose base nobody else has."""
    base = value.base
    return base is None or (base.__class__ is np.ndarray and base.base is None and base.flags.owndata
                            and getrefcount(base) <= UNHELD + 1)


def _next_node(storage: Storage, geometry: Geometry, result: Tensor) -> Any:
    """The node of the storage's value after the write."""
    if result._storage is storage and result._geometry is geometry:
        return storage.node     # x[i] += y assigns to x[i] what was just written there
    stored = storage.geometry
    whole = geometry.numel == stored.numel and geometry.offset == 0 and geometry.dtype is stored.dtype
    if whole:
        source, held = result._geometry, result._storage.geometry
        if source.strides == geometry.strides and source.offset == 0 \
                and held.numel == geometry.numel and held.dtype is source.dtype \
                and not result._storage.exposed and geometry.is_dense:
            return result._storage.node
    ordered = whole and geometry.is_contiguous
    if not ordered and (node := record_value(WRITE, storage, result, (geometry,))) is not None:
        return node
    before, state.enabled = state.enabled, False
    try:
        if ordered:
            return record_one(CONTIGUOUS, result)._storage.node
        old = blank(Tensor)
        old._storage, old._geometry = storage, stored.flat
        return record_pair(WRITE, old, result, (geometry,))._storage.node
    finally:
        state.enabled = before


def require_no_overlap(geometry: Geometry) -> None:
    """Raise where a write would meet one element several times."""
    if geometry.numel and any(s == 0 and n > 1 for s, n in zip(geometry.strides, geometry.shape)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location. Please clone() the tensor before performing the operation.")


__all__ = ["WRITE", "assign", "check_writable", "write"]
