"""Connectionist temporal classification: the loss and its gradient (Note: alignments).

A task is a sequence. It walks through time with a row of log probabilities of all symbols, which is what is
vectorized; backward the rows of the way forth stay in the thread's scratch memory. A row has two places on
either side that no alignment reaches, so that its ends are no special case.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...llvm.build import Function, Module
from ...llvm.compiling.code import kernel
from ...llvm.emitter import FLOAT32, FLOAT64, Dtype, literal, register_type
from ...llvm.expressions import functions
from ...llvm.expressions.expression import Expression, compare, constant, select
from ...plan import Call, Plan, Template, Words
from ...quantity import at_once

WORDS = ("log_probs", "targets", "input_lengths", "target_lengths", "result", "status", "grad", "steps",
         "batch", "classes", "time_step", "row_step", "target_row", "target_step", "input_step",
         "length_step", "grad_step", "blank", "zero_infinity", "longest", "padded")
SIDE = 2                    # places on either side of a row
MOST_SCRATCH = 64 << 20     # bytes; beyond, the interpreter does it


class Form(NamedTuple):
    """What the code depends on."""

    dtype: Dtype
    back: bool


# --- plans --------------------------------------------------------------------------------------------------

def _planned(signature: Signature, first: int) -> Plan | None:
    """``first``: the operand that log probabilities are; a gradient may come before."""
    x, targets, inputs, lengths = signature.geometries[first:first + 4]
    blank, zero_infinity = signature.attributes
    dtype, form_back = np.dtype(x.dtype.numpy), bool(first)
    if dtype not in (FLOAT32, FLOAT64) or not x.numel or not all(g.ndim == 1 for g in (inputs, lengths)) \
            or x.strides[2] != 1 or not targets.ndim:
        return None
    steps, batch, classes = x.shape
    padded = targets.ndim == 2
    longest = targets.shape[-1]
    scratch = _scratch(dtype, steps if form_back else 2, longest)
    if scratch > MOST_SCRATCH:
        return None
    words = Words()
    for operand, g in enumerate((x, targets, inputs, lengths), first):
        words.input(operand, g)
    words.output(0)
    words.status()
    grad = signature.geometries[0]
    if form_back and isinstance(grad, Geometry):
        words.input(0, grad)
    else:
        words.constant(0)
    words.constant(steps, batch, classes, *x.strides[:2], targets.strides[0] if padded else 0,
                   targets.strides[-1], inputs.strides[0], lengths.strides[0],
                   grad.strides[0] if form_back else 0, blank, int(zero_infinity), longest, int(padded))
    assert len(words.values) == len(WORDS)
    work = x.shape[0] * (2 * longest + 1) * (4.0 if form_back else 1.5) + 100
    call = Call(_kernel(Form(dtype, form_back)), words, batch, at_once(20e3, work), scratch)
    return Plan([call], nanoseconds=work * batch)


def _scratch(dtype: Dtype, rows: int, longest: int) -> int:
    """Symbols, skips, shares, two rows of the way back and those of the way forth."""
    width = 2 * longest + 1 + 2 * SIDE
    return width * (8 + dtype.itemsize * (rows + 4)) + 64


TEMPLATES: dict[str, Template] = {
    "ctc_loss": lambda signature: _planned(signature, 0),
    "ctc_loss_backward": lambda signature: _planned(signature, 1),
}


# --- code ---------------------------------------------------------------------------------------------------

@kernel("alignments")
def _kernel(form: Form) -> str:
    module = Module()
    with module.kernel("alignments") as f:
        _Writer(f, form).write()
    return module.text()


class _Writer:
    """Writes the loop over sequences."""

    def __init__(self, f: Function, form: Form) -> None:
        self.f, self.form, self.size = f, form, form.dtype.itemsize
        self.element = register_type(form.dtype)
        self.never = literal(-math.inf, form.dtype)
        numbers = {name: f.word(k) for k, name in enumerate(WORDS) if k > WORDS.index("grad")}
        self.pointers = {name: f.word(k, "ptr") for k, name in enumerate(WORDS)
                         if k <= WORDS.index("grad")}
        self.numbers = numbers
        self.width = f.add(f.mul(numbers["longest"], 2), 1 + 2 * SIDE)
        self.symbols = f.scratch
        self.skips = f.at(f.scratch, self.width, "i64")
        self.shares = self._at(self.skips, self.width)
        self.later = self._at(self.shares, self.width)
        self.rows = self._at(self.later, f.mul(self.width, 2))

    def _at(self, pointer: str, index: str | int) -> str:
        return self.f.at(pointer, index, self.element)

    def _read(self, pointer: str) -> Expression:
        return Expression(self.f, self.f.read(self.element, pointer, self.size), self.form.dtype)

    def _write(self, value: str, pointer: str) -> None:
        self.f.write(self.element, value, pointer, self.size)

    def _length(self, name: str, n: str, most: str) -> str:
        steps = {"input_lengths": "input_step", "target_lengths": "length_step"}[name]
        place = self.f.mul(n, self.numbers[steps])
        return self.f.least(self.f.read("i64", self.f.at(self.pointers[name], place, "i64"), 8), most)

    def write(self) -> None:
        """All sequences of the task."""
        f, numbers = self.f, self.numbers
        with f.loop(f.begin, f.end) as n:
            self.n = n
            self.time = self._length("input_lengths", n, numbers["steps"])
            self.labels = self._length("target_lengths", n, numbers["longest"])
            self.count = f.add(f.mul(self.labels, 2), 1)
            self._spell()
            loss = self._forth()
            if self.form.back:
                self._gradients(loss)
            else:
                self._write(loss, self._at(self.pointers["result"], n))

    # --- symbols --------------------------------------------------------------------------------------------

    def _spell(self) -> None:
        """The symbols, and what is added to the log probability of skipping to each of them: 0 or -inf."""
        f, numbers = self.f, self.numbers
        start = f.variable("i64", f.mul(self.n, numbers["target_row"]))
        with f.when(f.compare("eq", numbers["padded"], 0)), f.loop(0, self.n) as before:
            length = self._length("target_lengths", before, numbers["longest"])
            start.set(f.add(start.get(), f.mul(length, numbers["target_step"])))
        with f.loop(0, self.width) as s:
            f.write("i64", numbers["blank"], f.at(self.symbols, s, "i64"), 8)
            self._write(self.never, self._at(self.skips, s))
        last = f.variable("i64", numbers["blank"])      # no label: the first one skips nothing
        with f.loop(0, self.labels) as k:
            place = f.add(start.get(), f.mul(k, numbers["target_step"]))
            label = f.read("i64", f.at(self.pointers["targets"], place, "i64"), 8)
            good = f.compare("ult", label, numbers["classes"])
            with f.otherwise(good):
                f.write("i64", 1, self.pointers["status"], 8)
            label = f.choose(good, "i64", label, numbers["blank"])
            symbol = f.add(f.mul(k, 2), 1)
            f.write("i64", label, f.at(self.symbols, symbol, "i64"), 8)
            other = f.emit(f"and i1 {f.compare('ne', label, last.get())}, "
                           f"{f.compare('ne', label, numbers['blank'])}")
            other = f.emit(f"and i1 {other}, {f.compare('ne', k, 0)}")
            self._write(f.choose(other, self.element, "0.0", self.never), self._at(self.skips, symbol))
            last.set(label)

    def _score(self, t: str, s: str) -> Expression:
        """The log probability of a symbol at a time."""
        f = self.f
        return self._probability(t, f.read("i64", f.at(self.symbols, s, "i64"), 8))

    def _probability(self, t: str, k: str) -> Expression:
        f, numbers = self.f, self.numbers
        place = f.add(f.add(f.mul(t, numbers["time_step"]), f.mul(self.n, numbers["row_step"])), k)
        return self._read(self._at(self.pointers["log_probs"], place))

    def _clear(self, row: str, count: str) -> None:
        with self.f.loop(0, count) as s:
            self._write(self.never, self._at(row, s))

    # --- forth ----------------------------------------------------------------------------------------------

    def _row(self, t: str) -> str:
        """The row of a time; going forth alone there are two, in turns."""
        f = self.f
        return self._at(self.rows, f.mul(t if self.form.back else f.emit(f"and i64 {t}, 1"), self.width))

    def _forth(self) -> str:
        """The loss; rows hold the log probability of each symbol by all that came before."""
        f = self.f
        self._clear(self.rows, self.width)
        self._write(self._score("0", "0").register, self._at(self.rows, SIDE))
        with f.when(f.compare("sgt", self.labels, 0)):
            self._write(self._score("0", "1").register, self._at(self.rows, SIDE + 1))
        with f.loop(1, self.time) as t:
            before, here = self._row(f.sub(t, 1)), self._row(t)
            self._clear(here, str(SIDE))
            with f.loop(0, self.count) as s:    # short loops, which LLVM vectorizes
                skipped = self._read(self._at(before, s)) + self._read(self._at(self.skips, s))
                ways = [self._read(self._at(before, f.add(s, SIDE - k))) for k in range(2)]
                self._write(self._sum([*ways, skipped]).register, self._at(self.shares, s))
            with f.loop(0, self.count) as s:
                total = self._read(self._at(self.shares, s)) + self._score(t, s)
                self._write(total.register, self._at(here, f.add(s, SIDE)))
        return self._loss()

    def _sum(self, ways: list[Expression]) -> Expression:
        """The logarithm of the sum of exponentials, the largest taken out where it is finite."""
        top = constant(ways[0], float(np.finfo(self.form.dtype).min))
        for x in ways:
            top = select(compare(">", x, top), x, top)
        total = functions.exp(ways[0] - top)
        for x in ways[1:]:
            total = total + functions.exp(x - top)
        return functions.log(total) + top

    def _loss(self) -> str:
        """Of the last blank and the last label; of no time at all, it is whether there are labels."""
        f = self.f
        some = f.compare("sgt", self.time, 0)
        last = self._row(f.choose(some, "i64", f.sub(self.time, 1), "0"))
        ends = [self._read(self._at(last, f.add(f.sub(self.count, 1 + k), SIDE))) for k in range(2)]
        loss = constant(ends[0], 0.0) - self._sum(ends)
        empty = f.choose(f.compare("sgt", self.labels, 0), self.element,
                         literal(math.inf, self.form.dtype), "0.0")
        return f.choose(some, self.element, loss.register, empty)

    # --- back -----------------------------------------------------------------------------------------------

    def _target(self, t: str, k: str | int = 0) -> str:
        f, numbers = self.f, self.numbers
        row = f.mul(f.add(f.mul(t, numbers["batch"]), self.n), numbers["classes"])
        return self._at(self.pointers["result"], f.add(row, k))

    def _gradients(self, loss: str) -> None:
        f, numbers = self.f, self.numbers
        grad = self._read(self._at(self.pointers["grad"], f.mul(self.n, numbers["grad_step"])))
        endless = f.emit(f"fcmp oeq {self.element} {loss}, {literal(math.inf, self.form.dtype)}")
        with f.loop(self.time, numbers["steps"]) as t, f.loop(0, numbers["classes"]) as k:
            self._write("0.0", self._target(t, k))
        with f.when(endless):
            zero = f.compare("ne", numbers["zero_infinity"], 0)
            held = f.choose(zero, self.element, "0.0", literal(math.nan, self.form.dtype))
            with f.loop(0, self.time) as t, f.loop(0, numbers["classes"]) as k:
                self._write((Expression(f, held, self.form.dtype) * grad).register, self._target(t, k))
        with f.otherwise(endless):
            self._back(Expression(f, loss, self.form.dtype), grad)

    def _back(self, loss: Expression, grad: Expression) -> None:
        """From the last time to the first: rows hold the log probability of all that comes after."""
        f, numbers = self.f, self.numbers
        self._clear(self.later, f.mul(self.width, 2))
        with f.loop(0, self.time) as turn:
            t = f.sub(f.sub(self.time, 1), turn)
            odd = f.emit(f"and i64 {turn}, 1")
            here = self._at(self.later, f.mul(odd, self.width))
            after = self._at(self.later, f.mul(f.sub(1, odd), self.width))
            self._onwards(after, f.compare("eq", turn, 0))
            with f.loop(0, self.count) as s:
                way = self._read(self._at(self.shares, s))
                self._write((way + self._score(t, s)).register, self._at(here, s))
            with f.loop(0, self.count) as s:
                share = self._at(self.shares, s)
                both = self._read(self._at(self._row(t), f.add(s, SIDE))) + self._read(share)
                self._write(functions.exp(both + loss).register, share)
            with f.loop(0, numbers["classes"]) as k:
                self._write(functions.exp(self._probability(t, k)).register, self._target(t, k))
            with f.loop(0, self.count) as s:
                at = self._target(t, f.read("i64", f.at(self.symbols, s, "i64"), 8))
                self._write((self._read(at) - self._read(self._at(self.shares, s))).register, at)
            with f.loop(0, numbers["classes"]) as k:
                at = self._target(t, k)
                self._write((self._read(at) * grad).register, at)

    def _onwards(self, after: str, first: str) -> None:
        """Where shares will be: the log probability of all that comes after a symbol."""
        f = self.f
        with f.when(first), f.loop(0, self.count) as s:
            ending = f.compare("sge", s, f.sub(self.count, 2))
            self._write(f.choose(ending, self.element, "0.0", self.never), self._at(self.shares, s))
        with f.otherwise(first), f.loop(0, self.count) as s:
            skipped = self._read(self._at(after, f.add(s, 2))) + \
                self._read(self._at(self.skips, f.add(s, 2)))
            ways = [self._read(self._at(after, f.add(s, k))) for k in range(2)]
            self._write(self._sum([*ways, skipped]).register, self._at(self.shares, s))
