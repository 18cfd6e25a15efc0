"""Optimizer steps: the rule block by block, in place, so that its intermediate values stay in the cache."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ...graph import pending
from ...graph.geometry import Geometry
from ...graph.node import Signature
from . import mathematics
from .arrays import Array, read

# Elements per block: with all its operands and intermediate values a block fits the second-level cache.
BLOCK = 1 << 14

# Parameters up to this size are put together: calls into NumPy would cost more than their arithmetic.
SMALL = 1 << 12

# A value that only its reader holds: a local variable, the argument of getrefcount, and the tuple of
# operands.
_SOLE_READER = pending.UNHELD + 1


def prepare(signature: Signature) -> Callable[[tuple[Any, ...]], Any]:
    """How to run one signature (the operands' order: ``operators/optimization/optimizer.py``)."""
    kernel = signature.operator.kernel
    rule, count, present, flags, joined = signature.attributes
    states = sum(present)
    owned = count + (states if joined else states * count)
    geometries = signature.geometries
    batches = _batches(geometries[:count])
    ends = [*accumulate(g.numel for g in geometries[:count])]
    parts = [*map(slice, [0, *ends], ends)]

    def execute(operands: tuple[Any, ...]) -> tuple[Array, ...]:
        targets = [_private(operands, i, geometries[i]) for i in range(owned)]
        grads = [read(operands[i].value, geometries[i]).reshape(-1) for i in range(owned, owned + count)]
        numbers = operands[owned + count :]

        def new_values(old: list[Array], grad: Array) -> list[Array]:
            values: list[Array] = kernel(mathematics, rule, old[0], grad, old[1:], present, numbers, flags)
            return values

        def written(k: int) -> list[Array]:
            if joined:
                return [targets[k], *[state[parts[k]] for state in targets[count:]]]
            return targets[k::count]

        for batch in batches:
            if len(batch) == 1:
                _large(written(batch[0]), grads[batch[0]], new_values)
            else:
                _small([written(k) for k in batch], [grads[k] for k in batch], new_values)
        return tuple(targets)

    return execute


NewValues = Callable[[list[Array], Array], list[Array]]


def _large(targets: list[Array], grad: Array, new_values: NewValues) -> None:
    """One parameter and its states, in blocks."""
    for start in range(0, grad.size, BLOCK):
        old = [target[start : start + BLOCK] for target in targets]
        for target, value in zip(old, new_values(old, grad[start : start + BLOCK])):
            target[...] = value


def _small(parameters: list[list[Array]], grads: list[Array], new_values: NewValues) -> None:
    """Several small parameters and their states, as one block."""
    old = [np.concatenate(column) for column in zip(*parameters)]
    new = new_values(old, np.concatenate(grads))
    start = 0
    for targets, grad in zip(parameters, grads):
        stop = start + grad.size
        for target, values in zip(targets, new):
            target[...] = values[start:stop]
        start = stop


def _batches(geometries: Sequence[Geometry]) -> list[list[int]]:
    """Which parameters are computed together: small ones of one type, up to a block."""
    batches: list[list[int]] = []
    open_batches: dict[Any, tuple[list[int], int]] = {}
    for i, geometry in enumerate(geometries):
        batch, size = open_batches.get(geometry.dtype, ([], BLOCK))
        if geometry.numel > SMALL:
            batches.append([i])
            continue
        if size + geometry.numel > BLOCK:
            batch, size = [], 0
            batches.append(batch)
        batch.append(i)
        open_batches[geometry.dtype] = batch, size + geometry.numel
    return batches


def _private(operands: tuple[Any, ...], i: int, geometry: Geometry) -> Array:
    """The flat value of an operand: itself when nobody else can see it, else a copy."""
    node = operands[i]
    value: Array = node.value
    if (
        sys.getrefcount(node) > _SOLE_READER
        or sys.getrefcount(value) > _SOLE_READER
        or value.base is not None
        or not value.flags.writeable
        or value.size != geometry.numel
        or value.dtype != geometry.dtype.numpy
    ):
        return read(value, geometry).reshape(-1).copy()
    return value
