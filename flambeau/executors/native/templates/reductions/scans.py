"""Running sums, products and extrema along a dimension, and linear recurrences.

A state is carried along the dimension. Where other dimensions lie inside it, a strip of them is carried at
once, its states in the thread's scratch memory, and the loop over the strip is what is vectorized; else the
state is in registers: of extrema, a vector at a time (``scan_lanes.py``). Sums and products of single
precision are carried in double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...llvm.build import Function, Module, Value
from ...llvm.compiling.code import kernel
from ...llvm.emitter import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT32, INT64, Dtype, literal, register_type
from ...movement.spaces import Nest, Space, fused, rank_for, split
from ...plan import Call, Plan, Template, Words
from .scan_lanes import Extremes, Kind, ranked, unranked

FLOATING = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)
STRIP = 512    # columns carried at once: their states fit the first cache


class Form(NamedTuple):
    """What the code depends on."""

    rank: int
    action: str      # sum, product, greatest, least, forwards, backwards (recurrences)
    dtype: Dtype     # of the operands
    result: Dtype
    alone: bool      # one state at a time
    packed: bool     # columns lie along memory in all operands
    adjacent: bool   # what is carried alone is read and written in order of memory

    @property
    def state(self) -> Dtype:
        """The type in which the state is carried."""
        if self.action in ("greatest", "least"):
            return self.dtype
        if self.result.kind in "iu":
            return INT64
        wide = self.result == FLOAT64 or (self.result == FLOAT32 and self.action in ("sum", "product"))
        return FLOAT64 if wide else FLOAT32

    @property
    def lanes(self) -> Kind | None:
        """How extremes are found a vector at a time, where they are."""
        if not self.places or not self.adjacent or self.dtype not in (FLOAT32, FLOAT64, INT32, INT64):
            return None
        real = register_type(self.dtype) if self.dtype.kind == "f" else ""
        return Kind(f"i{8 * self.dtype.itemsize}", real, self.action == "greatest")

    @property
    def places(self) -> bool:
        """Whether positions are a second result."""
        return self.action in ("greatest", "least")


# --- plans --------------------------------------------------------------------------------------------------

def _scan(action: str) -> Template:
    def template(signature: Signature) -> Plan | None:
        """One operand."""
        return _planned(signature, action, signature.geometries[:1])
    return template


def _recurrence(signature: Signature) -> Plan | None:
    """y[i] = x[i] + f[i] y[i-1], or backwards y[i] = x[i] + f[i+1] y[i+1]."""
    g = signature.geometries
    if g[0].shape != g[1].shape or g[0].dtype is not g[1].dtype or signature.outputs[0].dtype.numpy not in (
            FLOAT32, FLOAT64):
        return None
    return _planned(signature, "backwards" if signature.attributes[1] else "forwards", g[:2])


def _planned(signature: Signature, action: str, operands: Sequence[Geometry]) -> Plan | None:
    out, dim = signature.outputs[0], signature.attributes[0]
    dtype, result = np.dtype(operands[0].dtype.numpy), np.dtype(out.dtype.numpy)
    if not out.numel or not out.ndim or (result.kind not in "iu" and result not in FLOATING):
        return None
    if dtype != result and not (dtype.kind in "biu" and result == INT64 and action in ("sum", "product")):
        return None
    # Results first, then operands; all in bytes.
    walks = [(out.strides, result.itemsize), *[(g.strides, dtype.itemsize) for g in operands]]
    if len(signature.outputs) > 1:
        walks.insert(1, (signature.outputs[1].strides, 8))
    strides = [[s * size for s in own] for own, size in walks]
    others = [d for d in range(out.ndim) if d != dim]
    space = fused([out.shape[d] for d in others], [[own[d] for d in others] for own in strides],
                  ordered=False)
    along = [own[dim] for own in strides]
    alone = strides[0][dim] == result.itemsize or space.size == 1
    if alone:
        space = Space((*space.extents, 1), tuple([(*own, 0) for own in space.strides]))
    packed = not alone and all(own[-1] == size for own, (_, size) in zip(space.strides, walks))
    adjacent = alone and all(step == size for step, (_, size) in zip(along, walks))
    form = Form(rank_for(space), action, dtype, result, alone, packed, adjacent)
    words = Words()
    words.output(0)
    if form.places:
        words.output(1)
    for k, g in enumerate(operands):
        words.input(k, g)
    words.constant(out.shape[dim], *along)
    cut = split(space, out.shape[dim] * 2 * result.itemsize, widest=STRIP)
    Nest(form.rank, len(walks), len(words.values)).place(words, space, cut)
    call = Call(_kernel(form), words, cut.tasks, cut.grain, 0 if alone else STRIP * 16)
    # A sum waits for the one before it.
    return Plan([call], nanoseconds=(1.2 if alone and form.lanes is None else 0.4) * out.numel)


# --- code ---------------------------------------------------------------------------------------------------

@kernel("scan")
def _kernel(form: Form) -> str:
    module = Module()
    sides = 3 if form.places or form.action in ("forwards", "backwards") else 2
    with module.kernel("scan") as f:
        pointers = [f.word(k, "ptr") for k in range(sides)]
        count, along = f.word(sides), [f.word(sides + 1 + k) for k in range(sides)]
        nest = Nest(form.rank, sides, 2 * sides + 1)
        steps = [str(_size(form, k)) if form.packed else nest.step(f, k) for k in range(sides)]
        with nest.rows(f) as row:
            bases = [f.at(p, offset, "i8") for p, offset in zip(pointers, row.offsets)]
            carry = _Carry(f, form)
            if not form.alone:
                with f.loop(0, row.width(f)) as c:
                    carry.start(c)
            with f.loop(_in_lanes(f, form, count, bases, carry), count) as turn:
                i = f.sub(f.sub(count, 1), turn) if form.action == "backwards" else turn
                here = [f.at(base, f.mul(i, step), "i8") for base, step in zip(bases, along)]
                if form.alone:
                    carry.step(here, i)
                else:
                    with f.loop(0, row.width(f)) as c:
                        carry.step([f.at(p, f.mul(c, step), "i8") for p, step in zip(here, steps)], i, c)
    return module.text()


def _in_lanes(f: Function, form: Form, count: str, bases: Sequence[str], carry: _Carry) -> Value:
    """Take whole vectors of a row, if that is how; the first element that is left."""
    if form.lanes is None:
        return 0
    extremes = Extremes(f, form.lanes)
    whole = f.sub(count, f.rem(count, extremes.lanes))
    with f.loop(0, whole, extremes.lanes) as i:
        value, place, source = (f.at(base, f.mul(i, _size(form, k)), "i8") for k, base in enumerate(bases))
        extremes.step(value, place, source, i)
    for variable, x in zip(carry.variables, extremes.last()):
        variable.set(x)
    return whole


def _size(form: Form, side: int) -> int:
    """Bytes of an element of a result or operand."""
    if side == 0:
        return form.result.itemsize
    return 8 if side == 1 and form.places else form.dtype.itemsize


class _Carry:
    """The states: variables, or arrays in scratch memory.

    An extreme that is alone is carried as an integer of the same order (``_ranked``): comparing integers
    takes a cycle, and the next comparison waits for this one.
    """

    def __init__(self, f: Function, form: Form) -> None:
        self.f = f
        self.form = form
        self.kind = register_type(form.state)
        self.ranked: Kind | None = None
        if form.alone and form.places and self.kind in ("float", "double"):
            self.ranked = Kind("i32" if self.kind == "float" else "i64", self.kind, form.action == "greatest")
            self.kind = self.ranked.integer
        kinds = [self.kind, "i64" if form.places else self.kind]
        initial = _initial(form, self.kind)
        self.first = [initial, "0" if form.places else initial]
        self.kinds = kinds[:2 if form.places or form.action == "backwards" else 1]
        self.variables = [f.variable(kind, x) for kind, x in zip(self.kinds, self.first) if form.alone]

    def _slot(self, k: int, c: str) -> str:
        return self.f.at(self.f.at(self.f.scratch, k * STRIP, "i64"), c, self.kinds[k])

    def start(self, c: str) -> None:
        """Set the states of a column."""
        for k, kind in enumerate(self.kinds):
            self.f.write(kind, self.first[k], self._slot(k, c), 4)

    def step(self, at: list[str], i: str, c: str = "") -> None:
        """Take element i of a column."""
        f, form = self.f, self.form
        if c:
            states = [f.read(kind, self._slot(k, c), 1) for k, kind in enumerate(self.kinds)]
        else:
            states = [variable.get() for variable in self.variables]
        found = self._next(states, at, i)
        for k, (kind, x) in enumerate(zip(self.kinds, found)):
            if c:
                f.write(kind, x, self._slot(k, c), 1)
            else:
                self.variables[k].set(x)
        value = unranked(f, self.ranked, found[0]) if self.ranked else found[0]
        f.store(_converted(f, value, form.state, form.result), at[0], form.result)
        if form.places:
            f.write("i64", found[1], at[1], 8)

    def _next(self, states: list[str], at: list[str], i: str) -> list[str]:
        f, form, kind = self.f, self.form, self.kind
        x = _converted(f, f.load(at[2 if form.places else 1], form.dtype), form.dtype, form.state)
        whole = form.state.kind in "iu"
        if form.action in ("sum", "product"):
            symbol = {"sum": "add", "product": "mul"}[form.action]
            return [f.emit(f"{'' if whole else 'f'}{symbol} {kind} {states[0]}, {x}")]
        if form.places:
            x = ranked(f, self.ranked, x) if self.ranked else x
            met = _met(f, form, kind, x, states[0])
            return [f.choose(met, kind, x, states[0]), f.choose(met, "i64", i, states[1])]
        factor = _converted(f, f.load(at[2], form.dtype), form.dtype, form.state)
        if form.action == "forwards":
            return [f.emit(f"fadd {kind} {x}, {f.emit(f'fmul {kind} {factor}, {states[0]}')}")]
        # The second state is the factor of the element behind.
        return [f.emit(f"fadd {kind} {x}, {f.emit(f'fmul {kind} {states[1]}, {states[0]}')}"), factor]


def _met(f: Function, form: Form, kind: str, x: str, extreme: str) -> str:
    """Whether x is the new extreme: as large, or not a number; one that is not a number stays."""
    if kind.startswith("i"):
        sign = "u" if form.dtype.kind == "u" else "s"
        return f.emit(f"icmp {sign}{'ge' if form.action == 'greatest' else 'le'} {kind} {x}, {extreme}")
    ordered = f.emit(f"fcmp {'oge' if form.action == 'greatest' else 'ole'} {kind} {x}, {extreme}")
    return f.emit(f"or i1 {ordered}, {f.emit(f'fcmp uno {kind} {x}, {x}')}")


def _initial(form: Form, kind: str) -> str:
    """The state before the first element."""
    if form.places:
        sign = -1 if form.action == "greatest" else 1
        if kind.startswith("i"):
            limits = np.iinfo(form.state if form.state.kind in "iu" else kind.replace("i", "int"))
            return str(limits.min if sign < 0 else limits.max)
        return literal(sign * float("inf"), form.state)
    if form.action == "product":
        return literal(1, form.state)
    return literal(-0.0 if form.action == "sum" and form.state.kind == "f" else 0, form.state)


def _converted(f: Function, x: str, given: Dtype, wanted: Dtype) -> str:
    """A register of one type as another one: wider going in, narrower coming out."""
    have, want = register_type(given), register_type(wanted)
    if have == want:
        return x
    if want.startswith("i"):
        if int(have[1:]) > int(want[1:]):
            return f.emit(f"trunc {have} {x} to {want}")
        return f.emit(f"{'sext' if given.kind == 'i' else 'zext'} {have} {x} to {want}")
    return f.emit(f"{'fpext' if want == 'double' else 'fptrunc'} {have} {x} to {want}")


TEMPLATES: dict[str, Template] = {
    "cumsum": _scan("sum"), "cumprod": _scan("product"), "cummax": _scan("greatest"),
    "cummin": _scan("least"), "linear_recurrence": _recurrence,
}
