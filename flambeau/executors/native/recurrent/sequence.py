"""Recurrent layers: the loop over time inside one native call.

The recurrent weights are packed once into panels of columns. A task is a block of sequences (rows of the
batch): it walks through all steps of its rows, since the rows of a batch never meet, so threads need no
barrier, and its state stays in the cache:

    forward    gates[t] += h W_hh^T;  gates[t], c, h = functions of gates[t], c
    backward   dgates[t], dc = functions of the kept gates, dh, dc;  dh = dgates[t] W_hh

The products with the input are made in the loop as well where both weights stay in the second cache, else
before it for all steps at once. Gates are computed in scratch memory: only what backward needs is written.
How the rows of steps lie: Note: sequences.

Products: ``products.py``; what is done with each row of gates: ``rows.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ....config import settings
from ..llvm.build import Function
from ..llvm.compiling import code
from ..llvm.compiling.machine import LINE, machine
from ..llvm.emitter import Dtype
from .products import Arguments, Products, products_text
from .rows import Rows

# The arguments of the kernels, a word each.
TIME = ("batch", "rows_per_task", "steps", "rows", "down", "sizes", "sizes_step", "width")
FORWARD = (*TIME, "panels", "panels_n", "bias_n", "input", "input_row", "input_step", "depth", "input_panels",
           "bias", "projected", "h0", "h0_row", "c0", "c0_row", "output", "h", "c", "gates", "h_before",
           "c_before")
BACKWARD = (*TIME, "panels", "grad", "grad_step", "grad_place", "grad_row", "grad_h", "grad_h_row", "grad_c",
            "grad_c_row", "gates", "before", "dgates", "drecurrent", "dh", "dc")


# How many numbers a layer keeps of each state of each step, and how many of them are products with the input.
KEPT = {"lstm": 4, "gru": 4, "tanh": 1, "relu": 1}
GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


def rows_of_a_task(batch: int, weights: int) -> int:
    """How many sequences a task takes, which reads recurrent weights of so many bytes at each step.

    From the second cache they are read fast enough for 16 rows; from beyond it as seldom as possible.
    """
    share = max(4, -(-batch // settings.threads))
    if weights <= machine().second_cache // 2:
        share = min(share, 16)
    tasks = -(-batch // share)
    return -(-batch // tasks)


@code.kernels("recurrent")
def kernels(dtype: Dtype, kind: str) -> str:
    """The addresses of a module's kernels.

    ``kind``: lstm, gru, tanh or relu (``forward``), that and ``_backward`` (``backward``), or ``products``
    (``pack``, ``bias``, ``project``).
    """
    return products_text(dtype) if kind == "products" else _Writer(dtype, kind).text()


class Step(NamedTuple):
    """One step of a block: its number, its first row among all, the block's first row and number of rows.

    ``move``: how many rows further the next step is, for padded sequences.
    """

    number: str
    at: str
    block: str
    rows: str
    move: str


class _Writer(Products):
    """Writes the module of one kind of layer and element type."""

    def __init__(self, dtype: Dtype, kind: str) -> None:
        super().__init__(dtype)
        self.kind, _, self.backward = kind.partition("_")
        self.rows = Rows(self.module, dtype)

    def text(self) -> str:
        self.copy = self._copy()
        if self.backward:
            self.fetch = [self._fetch(name, write) for name, write in (("read", False), ("written", True))]
            self._backward_kernel()
        else:
            self._forward_kernel()
        return self.module.text()

    def _copy(self) -> Function:
        """Rows copied, or zeros where the source is null."""
        parameters = [("i64", "%rows"), ("i64", "%width"), ("ptr", "%source"), ("i64", "%source_row"),
                      ("ptr noalias", "%target")]
        with self.module.helper("copy", parameters) as f:
            given, size = f.emit("icmp ne ptr %source, null"), self.dtype.itemsize
            with f.loop(0, "%rows") as i:
                target = self.row_at(f, "%target", i, "%width")
                with f.when(given):
                    source = self.row_at(f, "%source", i, "%source_row")
                    with f.loop(0, "%width") as k:
                        value = f.read(self.element, self.at(f, source, k), size)
                        f.write(self.element, value, self.at(f, target, k), size)
                with f.otherwise(given), f.loop(0, "%width") as k:
                    f.write(self.element, "0.0", self.at(f, target, k), size)
        return f

    def _fetch(self, name: str, write: bool) -> Function:
        """Have the cache lines of some elements come, which may lie outside of all memory.

        What a step reads and writes is in pieces too short for the hardware to foresee.
        """
        with self.module.helper(f"to_be_{name}", [("ptr", "%row"), ("i64", "%count")]) as f:
            with f.loop(0, "%count", LINE // self.dtype.itemsize) as k:
                f.prefetch(f.emit(f"getelementptr {self.element}, ptr %row, i64 {k}"), 2, write)
        return f

    # --- the loop -------------------------------------------------------------------------------------------

    def _walk(self, f: Function, given: Arguments, begin: Callable[[str, str], None],
              step: Callable[[Step], None]) -> None:
        """``begin(first row, rows)`` for each block, then its steps in order; ``down``: from the last one."""
        batch, steps, per_task = (given.number(n) for n in ("batch", "steps", "rows_per_task"))
        down, packed = f.compare("ne", given.number("down"), 0), given.is_given("sizes")
        with f.loop(f.begin, f.end) as task:
            block = f.mul(task, per_task)
            rows = f.least(per_task, f.sub(batch, block))
            begin(block, rows)
            position = f.variable("i64", f.choose(down, "i64", given.number("rows"), "0"))
            with f.loop(0, steps) as k:
                number = f.choose(down, "i64", f.sub(f.sub(steps, 1), k), k)
                count = f.variable("i64", batch)
                with f.when(packed):
                    place = f.mul(number, given.number("sizes_step"))
                    count.set(f.read("i64", f.at(given.pointer("sizes"), place, "i64"), 8))
                before = position.get()
                at = f.choose(down, "i64", f.sub(before, count.get()), before)
                position.set(f.choose(down, "i64", at, f.add(before, count.get())))
                here = f.least(rows, f.sub(count.get(), block))
                with f.when(f.compare("sgt", here, 0)):
                    step(Step(number, at, block, here, f.choose(down, "i64", f.sub(0, batch), batch)))

    def _forward_kernel(self) -> None:
        with self.module.kernel("forward") as f:
            given = Arguments(f, FORWARD)
            width, has_cells = given.number("width"), self.kind == "lstm"

            def begin(block: str, rows: str) -> None:
                for name in ("h", "c")[:1 + has_cells]:
                    stride = given.number(f"{name}0_row")
                    start = given.pointer(f"{name}0")
                    moved = self.row_at(f, start, block, stride)
                    source = f.choose(given.is_given(f"{name}0"), "ptr", moved, "null")
                    f.run(self.copy, rows, width, source, stride,
                          self.row_at(f, given.pointer(name), block, width))

            def step(now: Step) -> None:
                state = self.row_at(f, given.pointer("h"), now.block, width)
                row = f.add(now.at, now.block)
                with f.when(given.is_given("h_before")):
                    f.run(self.copy, now.rows, width, state, width,
                          self.row_at(f, given.pointer("h_before"), row, width))
                self._forward_step(f, given, now, row, state, width)

            self._walk(f, given, begin, step)

    def _forward_step(self, f: Function, given: Arguments, now: Step, row: str, state: str,
                      width: str) -> None:
        """In scratch memory a row for results that nobody wants, then the gates of the block."""
        kept = f.mul(width, KEPT[self.kind])
        unwanted, gates = f.scratch, self.at(f, f.scratch, kept)
        self._input_products(f, given, now, row, gates, kept, width)
        first = f.mul(width, {"gru": 2}.get(self.kind, KEPT[self.kind]))
        f.run(self.product, now.rows, state, width, 1, width, given.pointer("panels"), gates, kept, gates,
              kept, first)
        if self.kind == "gru":
            lifted = self.at(f, gates, f.mul(width, 3))
            f.run(self.product, now.rows, state, width, 1, width, given.pointer("panels_n"),
                  given.pointer("bias_n"), 0, lifted, kept, width)
        keeps = given.is_given("gates")
        with f.loop(0, now.rows) as i:
            place = f.add(row, i)
            out = self.row_at(f, given.pointer("output"), place, width)
            target = f.choose(keeps, "ptr", self.row_at(f, given.pointer("gates"), place, kept), unwanted)
            h, mine = self.row_at(f, state, i, width), self.row_at(f, gates, i, kept)
            quarters = [self.at(f, start, f.mul(width, k)) for start in (mine, target) for k in range(4)]
            if self.kind == "lstm":
                c = self.row_at(f, given.pointer("c"), f.add(now.block, i), width)
                before = self.row_at(f, given.pointer("c_before"), place, width)
                before = f.choose(keeps, "ptr", before, unwanted)
                f.run(self.rows.lstm, width, *quarters[:4], c, *quarters[4:], before, h, out)
            elif self.kind == "gru":
                f.run(self.rows.gru, width, *quarters[:4], h, *quarters[4:], out)
            else:
                f.run(self.rows.plain(self.kind), width, mine, h, out, target)

    def _input_products(self, f: Function, given: Arguments, now: Step, row: str, gates: str, kept: str,
                        width: str) -> None:
        """The products with the input of this step: made here, or copied."""
        inside = given.is_given("input")
        with f.when(inside):
            stride = given.number("input_row")
            f.run(self.product, now.rows, self.row_at(f, given.pointer("input"), row, stride), stride,
                  given.number("input_step"), given.number("depth"), given.pointer("input_panels"),
                  given.pointer("bias"), 0, gates, kept, f.mul(width, GATES[self.kind]))
        with f.otherwise(inside):
            f.run(self.copy, 1, f.mul(now.rows, kept), self.row_at(f, given.pointer("projected"), row, kept),
                  0, gates)

    def _backward_kernel(self) -> None:
        with self.module.kernel("backward") as f:
            given = Arguments(f, BACKWARD)
            width = given.number("width")
            has_grad = given.is_given("grad")
            f.run(self.copy, 1, width, "null", 0, f.scratch)

            def begin(block: str, rows: str) -> None:
                for name in ("h", "c")[:1 + (self.kind == "lstm")]:
                    stride = given.number(f"grad_{name}_row")
                    moved = self.row_at(f, given.pointer(f"grad_{name}"), block, stride)
                    source = f.choose(given.is_given(f"grad_{name}"), "ptr", moved, "null")
                    f.run(self.copy, rows, width, source, stride,
                          self.row_at(f, given.pointer(f"d{name}"), block, width))

            def step(now: Step) -> None:
                place = f.add(f.mul(now.number, given.number("grad_step")),
                              f.mul(now.at, given.number("grad_place")))
                place = f.add(place, f.mul(now.block, given.number("grad_row")))
                start = self.at(f, given.pointer("grad"), place)
                grad = f.choose(has_grad, "ptr", start, f.scratch)
                self._backward_step(f, given, now, grad, width)

            self._walk(f, given, begin, step)

    def _backward_step(self, f: Function, given: Arguments, now: Step, grad: str, width: str) -> None:
        kept, stride = f.mul(width, KEPT[self.kind]), f.mul(width, GATES[self.kind])
        row = f.add(now.at, now.block)
        gates = self.row_at(f, given.pointer("gates"), row, kept)
        before = self.row_at(f, given.pointer("before"), row, width)
        dgates = self.row_at(f, given.pointer("dgates"), row, stride)
        through = dgates
        if self.kind == "gru":
            through = self.row_at(f, given.pointer("drecurrent"), row, stride)
        dh = self.row_at(f, given.pointer("dh"), now.block, width)
        with f.loop(0, now.rows) as i:
            mine = self.row_at(f, gates, i, kept)
            of_output = self.row_at(f, grad, i, given.number("grad_row"))
            previous = self.row_at(f, before, i, width)
            written = self.row_at(f, dgates, i, stride)
            read, to_be_written = self.fetch
            for function, start, n in ((read, mine, kept), (read, previous, width),
                                       (to_be_written, written, stride)):
                away = f.mul(now.move, n)
                f.run(function, f.emit(f"getelementptr {self.element}, ptr {start}, i64 {away}"), n)
            quarters = [self.at(f, mine, f.mul(width, k)) for k in range(4)]
            state = self.row_at(f, dh, i, width)
            parts = [self.at(f, written, f.mul(width, k)) for k in range(4)]
            if self.kind == "lstm":
                dc = self.row_at(f, given.pointer("dc"), f.add(now.block, i), width)
                f.run(self.rows.lstm_backward, width, *quarters, previous, of_output, state, dc, *parts)
            elif self.kind == "gru":
                second = self.row_at(f, through, i, stride)
                others = [self.at(f, second, f.mul(width, k)) for k in range(3)]
                f.run(self.rows.gru_backward, width, *quarters, previous, of_output, state, *parts[:3],
                      *others)
            else:
                f.run(self.rows.plain_backward(self.kind), width, mine, of_output, state, written)
        f.run(self.product, now.rows, through, stride, 1, stride, given.pointer("panels"), dh, width, dh,
              width, width)


