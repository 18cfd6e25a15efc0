"""Running a kernel: its block of arguments, its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph.geometry import Geometry
from ...graph.node import Failure, Node, Signature
from ..interpreter.run import _number
from . import cost
from .compile import Kernel
from .loops import Loop
from .pool import native_function, run_rows


class Launch:
    """A kernel prepared for operands of given geometry."""

    __slots__ = ("kernel", "function", "words", "rows", "threads", "inputs", "outputs", "sums", "numbers")

    def __init__(self, kernel: Kernel, loop: Loop, inputs: Sequence[Geometry],
                 outputs: list[tuple[int, Any, int]], sums: list[tuple[int, Signature, Any]],
                 numbers: list[Any]) -> None:
        layout = kernel.layout
        self.kernel = kernel
        self.function = native_function(kernel.address)
        self.words = np.zeros(layout.size, np.int64)
        self.words[:2] = loop.total, loop.inner
        if loop.extents:
            self.words[layout.extents:layout.extents + len(loop.extents)] = loop.extents
        flat = [step for strides in loop.strides for step in strides]
        if flat:
            self.words[layout.strides:layout.strides + len(flat)] = flat
        self.rows = loop.rows
        self.threads = cost.threads(loop.total, kernel.work)
        self.inputs = [(layout.inputs + k, g.offset * g.dtype.itemsize) for k, g in enumerate(inputs)]
        self.outputs = outputs
        self.sums = sums
        self.numbers = [(dtype, (layout.numbers + k) * 8 // dtype.itemsize)
                        for k, dtype in enumerate(numbers)]

    def run(self, members: list[Node], inputs: list[Node], numbers: list[Any]) -> bool:
        """Compute the members' values; false if an operand has none, or none that lies flat in memory."""
        words = self.words.copy()
        layout = self.kernel.layout
        for (at, shift), node in zip(self.inputs, inputs):
            value = node.value
            if value.__class__ is Failure:
                return False
            memory = value.__array_interface__
            if memory["strides"] is not None:  # not contiguous
                return False
            words[at] = memory["data"][0] + shift
        results: list[tuple[int, Any]] = []
        for k, (i, dtype, size) in enumerate(self.outputs):
            array = np.empty(size, dtype)
            words[layout.outputs + k] = array.__array_interface__["data"][0]
            results.append((i, array))
        partial: list[Any] = []
        for k, (_, _, dtype) in enumerate(self.sums):
            array = np.empty(self.rows, dtype)
            words[layout.sums + k] = array.__array_interface__["data"][0]
            partial.append(array)
        for (dtype, at), number in zip(self.numbers, numbers):
            words.view(dtype)[at] = _number(number, dtype)
        run_rows(self.function, self.rows, words.__array_interface__["data"][0], self.threads)
        for i, array in results:
            members[i].value = array
        for (i, signature, _), array in zip(self.sums, partial):
            members[i].value = _finished(signature, array)
        return True


def _finished(signature: Signature, rows: Any) -> Any:
    """A sum or mean from the sums of rows."""
    output = signature.outputs[0]
    if rows.size != output.numel or len(signature.attributes[0]) == signature.geometries[0].ndim:
        rows = rows.sum(keepdims=True)
    if signature.operator.name == "mean":
        rows = rows / (signature.geometries[0].numel // output.numel)
    return rows.astype(output.dtype.numpy)
