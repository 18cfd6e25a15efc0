"""The native form of optimizer steps: which tensors a call updates, and how it is cut into tasks."""

from __future__ import annotations

from typing import Any

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...optimizer.multi_tensor import Structure, number_type, step_kernel
from ...plan import Call, Plan, Words

_CHUNK = 1 << 14    # elements of the smallest task
_TASKS = 32         # of equal size, into which more is cut
_ALIGN = 1 << 10    # elements, of which tasks have whole numbers: these are whole vectors


def multi_tensor(signature: Signature) -> Plan | None:
    """One call for each type of the parameters, in place."""
    rule, count, present, flags, joined = signature.attributes
    geometries = signature.geometries
    owned = count + sum(present) * (1 if joined else count)
    params, targets, grads = geometries[:count], geometries[:owned], geometries[owned:owned + count]
    numbers = len(geometries) - owned - count
    if any(g.offset for g in targets):
        return None  # a part of a larger tensor: the result needs memory of its own
    groups: dict[tuple[Any, Any], list[int]] = {}
    for k in range(count):
        if params[k].numel:
            groups.setdefault((params[k].dtype.numpy, grads[k].dtype.numpy), []).append(k)
    calls, traffic = [], 0.0
    for (dtype, grad), members in groups.items():
        structure = Structure(signature.operator.kernel, rule, present, numbers, flags, dtype, grad,
                              joined)
        calls.append(_call(structure, members, params, grads))
        bytes_each = 2 * structure.targets * dtype.itemsize + grad.itemsize
        traffic += bytes_each * sum(params[k].numel for k in members)
    return Plan(calls, in_place=[(i, i) for i in range(owned)], traffic=traffic)


def _call(s: Structure, members: list[int], params: Any, grads: Any) -> Call:
    count = len(params)
    total = sum(params[k].numel for k in members)
    chunk = chunk_of(total, _CHUNK)
    states = s.targets - 1
    first_grad = count + (states if s.joined else states * count)
    words = Words()
    words.constant(len(members), chunk, total)
    for j in range(s.numbers):
        words.number(first_grad + count + j, number_type(s.dtype))
    for j in range(s.common):
        words.output(count + j)
    layout = s.table + len(members) * s.record + 1
    layouts: list[int] = []
    start = 0
    for k in members:
        strides = _layout(grads[k])
        words.constant(start, layout + len(layouts) if strides else 0)
        for target in range(s.targets - s.common):
            words.output(target * count + k)
        words.input(first_grad + k, grads[k])
        layouts += strides
        start += params[k].numel
    words.constant(start, *layouts)
    return Call(step_kernel(s), words, -(-total // chunk))


def chunk_of(total: int, least: int) -> int:
    """How many elements each task has."""
    return -(-max(least, -(-total // _TASKS)) // _ALIGN) * _ALIGN


def _layout(grad: Geometry) -> list[int]:
    """Number of dimensions, then extent and stride of each, innermost first; nothing where contiguous."""
    if grad.is_contiguous:
        return []
    dims: list[tuple[int, int]] = []
    for n, s in zip(reversed(grad.shape), reversed(grad.strides)):
        if n == 1:
            continue
        if dims and s == dims[-1][0] * dims[-1][1]:
            dims[-1] = dims[-1][0] * n, dims[-1][1]
        else:
            dims.append((n, s))
    return [len(dims), *[x for pair in dims for x in pair]]


TEMPLATES = {"multi_tensor": multi_tensor}
