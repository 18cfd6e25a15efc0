"""Running one plan by itself."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...graph import pending
from ...graph.node import Failure, Node
from ..interpreter.run import _number
from .plan import Call, Plan
from .pool import run_tasks

# A value that only its reader holds: a local variable, the argument of getrefcount, the tuple of operands.
_SOLE_READER = pending.UNHELD + 1


def execute(plan: Plan, members: list[Node]) -> bool:
    """Compute the members' values; false if the interpreter has to."""
    for node in members:
        for operand in node.operands:
            if operand.__class__ is Node and operand not in members and not _is_flat(operand.value):
                return False
            operand = None
    workspace = _aligned(plan.workspace)
    results: dict[tuple[int, int], Any] = {}
    for operand, result in plan.in_place:
        private = _private(members[0], operand)
        if private is not None:
            results[0, result] = private
    status = np.zeros(1, np.int64)
    for call in plan.calls:
        words = _filled(call, members, results, workspace, status)
        scratch = call.scratch
        run_tasks(call.function, call.tasks, call.grain, words, scratch)
        if status[0]:
            return False
    for m, node in enumerate(members):
        signature = node.signature
        assert signature is not None
        if signature.single:
            if (m, 0) in results:
                node.value = results[m, 0]
        elif (m, 0) in results:  # else only members read it
            node.value = tuple([results[m, k] for k in range(len(signature.outputs))])
        node.operands = ()
    return True


def _is_flat(value: Any) -> bool:
    return value.__class__ is not Failure and value.__class__ is not tuple \
        and value.__array_interface__["strides"] is None


def _private(node: Node, i: int) -> Any:
    """The value of an owned operand, for the kernel to overwrite; a copy where somebody else can see it."""
    operand = node.operands[i]
    value = operand.value
    if sys.getrefcount(operand) > _SOLE_READER + 1 or sys.getrefcount(value) > _SOLE_READER \
            or value.base is not None or not value.flags.writeable:
        value = value.copy()
    return value


def _aligned(size: int) -> Any:
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start:start + size]


def _address(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _filled(call: Call, members: list[Node], results: dict[tuple[int, int], Any], workspace: Any,
            status: Any) -> Any:
    words = call.values.copy()
    wanted = call.words
    for at, m, operand, shift in wanted.inputs:
        words[at] = _address(members[m].operands[operand].value) + shift
    for at, m, result in wanted.outputs:
        array = results.get((m, result))
        if array is None:
            signature = members[m].signature
            assert signature is not None
            g = signature.outputs[result]
            array = results[m, result] = np.empty(g.numel, g.dtype.numpy)
        words[at] = _address(array)
    for at, dtype, m, operand in wanted.numbers:
        words.view(dtype)[at * 8 // dtype.itemsize] = _number(members[m].operands[operand], dtype)
    for at, offset in wanted.workspaces:
        words[at] = _address(workspace) + offset
    if wanted.status_word is not None:
        words[wanted.status_word] = _address(status)
    return words
