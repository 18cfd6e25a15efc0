"""The native form of optimizer steps: which tensors a call updates, and how it is cut into tasks."""

from __future__ import annotations

from typing import Any

from ....graph.geometry import Geometry
from ....graph.node import Signature
from ..multi_tensor import HEADER, Structure, number_type, step_kernel
from ..plan import Call, Plan, Words

# Elements of the smallest task; larger steps are cut into so many tasks of equal size.
_CHUNK = 1 << 14
_TASKS = 32
_ALIGN = 1 << 10


def multi_tensor(signature: Signature) -> Plan | None:
    """One call for each type of the parameters, in place."""
    rule, count, present, flags = signature.attributes
    geometries = signature.geometries
    columns = sum(present) + 1
    numbers = len(geometries) - (columns + 1) * count
    grads = geometries[columns * count:(columns + 1) * count]
    if any(g.offset for g in geometries[:columns * count]):
        return None  # a part of a larger tensor: the result needs memory of its own
    groups: dict[tuple[Any, Any], list[int]] = {}
    for k in range(count):
        if geometries[k].numel:
            groups.setdefault((geometries[k].dtype.numpy, grads[k].dtype.numpy), []).append(k)
    calls, traffic = [], 0.0
    for (dtype, grad), members in groups.items():
        structure = Structure(signature.operator.kernel, rule, present, numbers, flags, dtype, grad)
        calls.append(_call(structure, members, count, geometries, grads))
        traffic += sum(geometries[k].numel * (2 * columns * dtype.itemsize + grad.itemsize) for k in members)
    pairs = [(i, i) for i in range(columns * count)]
    return Plan(calls, in_place=pairs, traffic=traffic)


def _call(s: Structure, members: list[int], count: int, geometries: Any, grads: Any) -> Call:
    total = sum(geometries[k].numel for k in members)
    chunk = max(_CHUNK, -(-total // _TASKS))
    chunk = -(-chunk // _ALIGN) * _ALIGN
    first_number = count * (s.targets + 1)
    words = Words()
    words.constant(len(members), chunk, total)
    for j in range(s.numbers):
        words.number(first_number + j, number_type(s.dtype))
    layout = HEADER + s.numbers + len(members) * s.record + 1
    layouts: list[int] = []
    start = 0
    for k in members:
        strides = _layout(grads[k])
        words.constant(start, layout + len(layouts) if strides else 0)
        for target in range(s.targets):
            words.output(target * count + k)
        words.input(s.targets * count + k, grads[k])
        layouts += strides
        start += geometries[k].numel
    words.constant(start, *layouts)
    return Call(step_kernel(s), words, -(-total // chunk))


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
