"""Recurrent layers in one direction: lstm_sequence, gru_sequence, rnn_sequence and their gradients.

Weights are packed, the input of all steps is multiplied at once, then one call walks through time
(``recurrent/sequence.py``). Of 16-bit types, single precision is made first and rounded last: states are not
rounded between steps. LSTMs with projections stay with the interpreter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..... import dtypes
from .....graph.geometry import Geometry, contiguous
from .....graph.node import Signature
from ...llvm.compiling.machine import machine
from ...llvm.emitter import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Dtype
from ...plan import Call, Plan, Words
from ...products.microkernel import tile_of
from ...products.packing import padded
from ...recurrent.products import PROJECT
from ...recurrent.rounding import PIECE, WIDEN, narrowed
from ...recurrent.rounding import kernels as rounding_kernels
from ...recurrent.sequence import BACKWARD, FORWARD, GATES, KEPT, kernels, rows_of_a_task

NARROW_TYPES = frozenset((BFLOAT16, FLOAT16))
FEW = 8     # sequences, below which the products with the input are better made of many steps at once


class _Operand(NamedTuple):
    """An operand: its number, and its geometry if it is there; ``place``: where it is in the workspace."""

    number: int
    geometry: Any
    place: int | None = None

    @property
    def is_given(self) -> bool:
        return isinstance(self.geometry, Geometry)

    @property
    def row(self) -> int:
        """The stride of a matrix's rows."""
        return self.geometry.strides[-2] if self.is_given else 0

    def put(self, words: Words, skipped: int = 0) -> None:
        """A pointer to it, or to the element behind so many; null where it is absent."""
        g = self.geometry
        if self.place is not None:
            words.workspace(self.place + skipped * g.dtype.itemsize)
        elif self.is_given:
            words.input(self.number, g, skipped=skipped)
        else:
            words.constant(0)


class _Layer:
    """A plan under construction."""

    def __init__(self, signature: Signature, kind: str, dtype: Dtype) -> None:
        self.kind = kind
        self.dtype = dtype
        self.columns = tile_of(dtype.itemsize).columns
        self.itemsize = dtype.itemsize
        self.workspace = 0
        self.calls: list[Call] = []
        self.rounded: dict[int, int] = {}   # results, and where they are before they are rounded
        self.outputs = signature.outputs
        self.operands = [self._widened(i, g) for i, g in enumerate(signature.geometries)]

    def _widened(self, number: int, g: Any) -> _Operand:
        """An operand; one of a 16-bit type in single precision, in the workspace."""
        if not isinstance(g, Geometry) or g.dtype.numpy not in NARROW_TYPES or not g.numel:
            return _Operand(number, g)
        place = self.space(g.numel)
        extents, strides = (1, 1, 1, *g.shape)[-3:], (0, 0, 0, *g.strides)[-3:]
        words = Words()
        words.input(number, g)
        words.workspace(place)
        words.constant(*extents[1:], *strides)
        assert len(words.values) == len(WIDEN)
        rows = extents[0] * extents[1]
        self.calls.append(Call(rounding_kernels(g.dtype.numpy)["widen"], words, rows,
                               max(1, PIECE // extents[2])))
        return _Operand(number, contiguous(g.shape, dtypes.float32, g.device), place)

    def output(self, words: Words, result: int) -> None:
        """A pointer to a result; for one of a 16-bit type to where it is before it is rounded."""
        g = self.outputs[result]
        if g.dtype.numpy in NARROW_TYPES and g.numel:
            if result not in self.rounded:
                self.rounded[result] = self.space(g.numel)
            words.workspace(self.rounded[result])
        else:
            words.output(result)

    def _round(self) -> None:
        for result, place in self.rounded.items():
            g = self.outputs[result]
            self.calls.append(narrowed(g.dtype.numpy, g.numel, place, result))

    def call(self, kernel: str, words: Words, tasks: int, grain: int = 1) -> None:
        self.calls.append(Call(kernels(self.dtype, "products")[kernel], words, tasks, grain))

    def space(self, elements: int) -> int:
        """The offset of a new area of the workspace."""
        start = self.workspace
        self.workspace += -(-elements * self.itemsize // 64) * 64
        return start

    def packed(self, weight: _Operand, first: int = 0, count: int = 0) -> int:
        """Pack the columns of a weight into panels; with ``count`` so many rows instead, from ``first`` on.

        Returns where the panels are.
        """
        g = weight.geometry
        along, across = g.strides
        depth, width = g.shape
        if count:
            depth, width, across, along = width, count, along, across
        panels = -(-width // self.columns)
        place = self.space(panels * self.columns * padded(depth, self.itemsize))
        words = Words()
        weight.put(words, first * across)
        words.workspace(place)
        words.constant(width, depth, across, along)
        self.call("pack", words, panels, 4)
        return place

    def time(self, words: Words, steps: int, batch: int, rows: int, down: bool, sizes: _Operand,
             width: int) -> None:
        """The arguments of the walk through time."""
        words.constant(batch, self.rows_of_a_task(batch, width), steps, rows, int(down))
        sizes.put(words)
        words.constant(sizes.geometry.strides[0] if sizes.is_given else 0, width)

    def rows_of_a_task(self, batch: int, width: int) -> int:
        return rows_of_a_task(batch, GATES[self.kind] * width * width * self.itemsize)

    def walk(self, kernel: str, words: Words, batch: int, width: int) -> None:
        """The walk; in scratch memory it has a row, and forward those of a block."""
        module = self.kind if kernel == "forward" else f"{self.kind}_backward"
        per_task = self.rows_of_a_task(batch, width)
        tasks = -(-batch // per_task)
        scratch = KEPT[self.kind] * width * (1 + per_task) if kernel == "forward" else width
        self.calls.append(Call(kernels(self.dtype, module)[kernel], words, tasks, 1, scratch * self.itemsize))

    def plan(self, multiplications: float, traffic: float) -> Plan:
        self._round()
        return Plan(self.calls, workspace=self.workspace, flops=2.0 * multiplications,
                    traffic=traffic * self.itemsize)


def _dtype(signature: Signature) -> Dtype | None:
    """The type in which all but the steps' sizes are computed, if there is one and it has a native form."""
    found = {g.dtype.numpy for g in (*signature.geometries, *signature.outputs)
             if isinstance(g, Geometry) and g.dtype.is_floating_point}
    wide = found - NARROW_TYPES or {FLOAT32}
    dtype: Dtype = wide.pop()
    if wide or dtype not in (FLOAT32, FLOAT64) or (dtype == FLOAT64 and found & NARROW_TYPES):
        return None
    return dtype


def _has_rows(*operands: _Operand) -> bool:
    """Whether the elements of each row are adjacent."""
    return all(x.geometry.strides[-1] == 1 or x.geometry.shape[-1] == 1 for x in operands if x.is_given)


def _row_of(g: Geometry) -> int | None:
    """The stride of the rows of (T, N, C), one under the other; None where it is not one."""
    if g.ndim == 2 or g.shape[0] == 1:
        return g.strides[-2]
    if g.shape[1] == 1:
        return g.strides[0]
    return g.strides[1] if g.strides[0] == g.shape[1] * g.strides[1] else None


# --- forward ------------------------------------------------------------------------------------------------


def _forward(signature: Signature, kind: str) -> Plan | None:
    """The products with the input, unless they are made in the walk, then the walk."""
    dtype, has_cells = _dtype(signature), kind == "lstm"
    if dtype is None:
        return None
    layer = _Layer(signature, kind, dtype)
    x, sizes, h0 = layer.operands[:3]
    c0 = layer.operands[3] if has_cells else _Operand(0, None)
    w_ih, w_hh, b_ih, b_hh = layer.operands[3 + has_cells:7 + has_cells]
    gates, width = w_hh.geometry.shape
    row = _row_of(x.geometry)
    if row is None or not x.geometry.numel or not w_hh.geometry.numel or not _has_rows(h0, c0) \
            or any(b.is_given and (b.geometry.shape != (gates,) or b.geometry.strides != (1,))
                   for b in (b_ih, b_hh)) or (has_cells and layer.operands[8].is_given):
        return None
    reverse, keeps = signature.attributes[:2]
    depth = x.geometry.shape[-1]
    rows, batch = x.geometry.numel // depth, signature.outputs[1].shape[0]
    input_panels = layer.packed(w_ih, 0, gates)
    total, rest = _biases(layer, b_ih, b_hh, gates, 2 * width if kind == "gru" else gates)
    inside = batch >= FEW and gates * (depth + width) * layer.itemsize <= machine().second_cache // 2
    projected = 0 if inside else _project(layer, x, row, rows, width, input_panels, total)
    first = layer.packed(w_hh, 0, 2 * width if kind == "gru" else gates)
    second = layer.packed(w_hh, 2 * width, width) if kind == "gru" else first
    words = Words()
    steps = sizes.geometry.shape[0] if sizes.is_given else rows // batch
    layer.time(words, steps, batch, rows, reverse, sizes, width)
    for place in (first, second, rest):
        words.workspace(place)
    if inside:
        x.put(words)
    else:
        words.constant(0)
    words.constant(row, x.geometry.strides[-1], depth)
    for place in (input_panels, total, projected):
        words.workspace(place)
    for state in (h0, c0):
        state.put(words)
        words.constant(state.row)
    _put_results(layer, words, kind, keeps)
    layer.walk("forward", words, batch, width)
    return layer.plan(rows * gates * (depth + width), rows * (depth + (KEPT[kind] + 3) * width))


def _put_results(layer: _Layer, words: Words, kind: str, keeps: bool) -> None:
    """Output, states, gates and states before each step; then, for their memory alone, unused results."""
    has_cells = kind == "lstm"
    gates = 2 + has_cells
    before = gates + 1
    wanted = ((0, True), (1, True), (2, has_cells), (gates, keeps), (before, keeps),
              (before + 1, keeps and has_cells))
    for result, is_there in wanted:
        if is_there:
            layer.output(words, result)
        else:
            words.constant(0)
    assert len(words.values) == len(FORWARD)
    if not keeps:
        for result in range(gates, before + 1 + has_cells):
            words.output(result)


def _biases(layer: _Layer, b_ih: _Operand, b_hh: _Operand, width: int, both: int) -> tuple[int, int]:
    """Where the sum of the biases is, and what is added later of the second one (the GRU's last third)."""
    words = Words()
    b_ih.put(words)
    b_hh.put(words)
    total, rest = layer.space(width), layer.space(width - both)
    words.workspace(total)
    words.workspace(rest)
    words.constant(width, both)
    layer.call("bias", words, 1)
    return total, rest


def _project(layer: _Layer, x: _Operand, row: int, rows: int, width: int, panels: int, bias: int) -> int:
    """The products with the input of all steps; returns where they are."""
    kept, gates = KEPT[layer.kind] * width, GATES[layer.kind] * width
    place = layer.space(rows * kept)
    per_task = max(24, min(192, -(-rows // 16 // 12) * 12))
    words = Words()
    x.put(words)
    words.constant(row, x.geometry.strides[-1], x.geometry.shape[-1])
    words.workspace(panels)
    words.workspace(bias)
    words.workspace(place)
    words.constant(kept, gates, rows, per_task)
    assert len(words.values) == len(PROJECT)
    layer.call("project", words, -(-rows // per_task))
    return place


# --- backward -----------------------------------------------------------------------------------------------


def _backward(signature: Signature, kind: str) -> Plan | None:
    """The walk back."""
    dtype, has_cells = _dtype(signature), kind == "lstm"
    if dtype is None:
        return None
    layer = _Layer(signature, kind, dtype)
    grad, grad_h = layer.operands[:2]
    grad_c = layer.operands[2] if has_cells else _Operand(0, None)
    sizes, gates = layer.operands[2 + has_cells:4 + has_cells]
    before = gates if kind in ("tanh", "relu") else layer.operands[4 + has_cells]
    if has_cells:
        w_hh, w_hr = layer.operands[6:8]
        if w_hr.is_given:
            return None
    else:
        w_hh = layer.operands[4 if before is gates else 5]
    steps, batch, reverse = signature.attributes[:3]
    height, width = w_hh.geometry.shape
    rows = signature.outputs[0].shape[0]
    if not rows or not width or not _has_rows(grad, grad_h, grad_c) or not gates.geometry.is_contiguous \
            or not before.geometry.is_contiguous:
        return None
    panels = layer.packed(w_hh)
    words = Words()
    layer.time(words, sizes.geometry.shape[0] if sizes.is_given else steps, batch, rows, not reverse, sizes,
               width)
    words.workspace(panels)
    grad.put(words)
    words.constant(*_steps_of(grad))
    for state in (grad_h, grad_c):
        state.put(words)
        words.constant(state.row)
    gates.put(words)
    before.put(words)
    last = 2 if kind == "gru" else 1
    places = [0, last - 1, last, 2] if has_cells else [0, last - 1, last]
    for result in places:
        layer.output(words, result)
    if has_cells:
        assert len(words.values) == len(BACKWARD)
        words.output(3)
        words.output(4)
    else:
        words.constant(0)
    layer.walk("backward", words, batch, width)
    return layer.plan(rows * height * width, rows * (2 * height + 3 * width))


def _steps_of(grad: _Operand) -> tuple[int, int, int]:
    """By how much the gradient moves with the step, with the step's first row, and with a row."""
    if not grad.is_given:
        return 0, 0, 0
    g = grad.geometry
    return (g.strides[0], 0, g.strides[1]) if g.ndim == 3 else (0, g.strides[0], g.strides[0])


def _plain(signature: Signature) -> str:
    return "relu" if signature.attributes[-1] else "tanh"


TEMPLATES = {
    "lstm_sequence": lambda signature: _forward(signature, "lstm"),
    "gru_sequence": lambda signature: _forward(signature, "gru"),
    "rnn_sequence": lambda signature: _forward(signature, _plain(signature)),
    "lstm_sequence_backward": lambda signature: _backward(signature, "lstm"),
    "gru_sequence_backward": lambda signature: _backward(signature, "gru"),
    "rnn_sequence_backward": lambda signature: _backward(signature, _plain(signature)),
}
