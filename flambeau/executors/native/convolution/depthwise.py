"""Convolutions of groups with one input channel (depthwise): too few products for matrices.

A vector of neighbouring results is the sum over taps of a weight, which is broadcast, and the elements that
the tap meets, read with a mask of those inside the source (``pooling.Windows``). A task is a plane: a group
of an image. The gradient by the weight keeps a vector of partial sums for each tap; there a task is an output
channel, which goes through all images.
"""

from __future__ import annotations

from typing import Any

from ....graph.geometry import Geometry
from ..arguments import Argument, Registers, entry, operand, registers, words
from ..llvm.build import Function, Module, Value
from ..llvm.compiling.code import kernel
from ..plan import Call, Plan
from ..vectors import Elements, elements
from .grid import rounded
from .pooling import Windows
from .problem import Problem

POINTERS = ("source", "weight", "bias", "target")
NUMBERS = ("batch", "inner", "outs", "s_outer", "s_inner", "s_a", "s_b", "s_w", "space_a", "space_b",
           "space_w", "stride_a", "stride_b", "stride_w", "padding_a", "padding_b", "padding_w", "w_group",
           "w_out", "t_n", "t_group", "t_c", "t_a", "t_b", "t_w", "phases")
PHASE = ("taps", "taps_at", "target_at", "grid_a", "grid_b", "grid_w")
TAP = ("weight", "a", "b", "w")
# Elements that are worth a task of its own.
_TASK = 1 << 12


class Lines:
    """A vector of results of a line of the grid, and what taps meet there."""

    def __init__(self, f: Function, a: Registers, e: Elements, windows: Windows,
                 at: tuple[Value, Value, Value], count: str) -> None:
        self.f, self.a, self.e, self.windows = f, a, e, windows
        self.rows = [f.sub(f.mul(i, stride), padding) for i, stride, padding in
                     zip(at, (a.stride_a, a.stride_b, a.stride_w), (a.padding_a, a.padding_b, a.padding_w))]
        self.begin = windows.coordinates(str(at[2]))
        self.live = f.first_lanes(f.sub(count, at[2]), e.lanes)

    def inside(self, tap: dict[str, str]) -> str:
        """Whether the row that a tap meets is inside the source."""
        f, a = self.f, self.a
        return f.emit(f"and i1 {f.compare('ult', f.add(self.rows[0], tap['a']), a.space_a)}, "
                      f"{f.compare('ult', f.add(self.rows[1], tap['b']), a.space_b)}")

    def read(self, tap: dict[str, str]) -> str:
        """The elements that a tap meets; zeros outside."""
        f, windows = self.f, self.windows
        row = windows.row(f.add(self.rows[0], tap["a"]), f.add(self.rows[1], tap["b"]))
        place = f.emit(f"add {windows.ints} {self.begin}, {windows.splat(tap['w'])}")
        inside = windows.between(place, windows.splat("0"), windows.splat(self.a.space_w))
        mask = f.emit(f"and <{self.e.lanes} x i1> {inside}, {self.live}")
        read = windows.read(row, f.add(self.rows[2], tap["w"]), mask)
        kind = self.e.kind
        return f.emit(f"select <{self.e.lanes} x i1> {mask}, {kind} {read}, {kind} zeroinitializer")


def _tap(f: Function, taps: str, number: str) -> dict[str, str]:
    return {name: entry(f, taps, f.add(f.mul(number, len(TAP)), k)) for k, name in enumerate(TAP)}


def depthwise_module(e: Elements, step: int, bias: bool, apart: int) -> str:
    """Code of ``depthwise``. ``step``, ``apart``: distances of neighbours in source and target; 0: any."""
    module = Module()
    with module.kernel("depthwise") as f:
        a = registers(f, POINTERS, NUMBERS)
        with f.loop(f.begin, f.end) as plane, f.loop(0, a.phases) as number, f.loop(0, a.outs) as out:
            windows = Windows(f, a, e, plane, step)
            image, group = f.div(plane, a.inner), f.rem(plane, a.inner)
            head = f.at(a.table, f.mul(number, len(PHASE)), "i64")
            phase = {name: entry(f, head, k) for k, name in enumerate(PHASE)}
            taps = f.at(a.table, phase["taps_at"], "i64")
            weight = e.at(f, a.weight, f.add(f.mul(group, a.w_group), f.mul(out, a.w_out)))
            start = f.add(f.add(f.mul(image, a.t_n), f.mul(group, a.t_group)),
                          f.add(f.mul(out, a.t_c), phase["target_at"]))
            first = "zeroinitializer"
            if bias:
                added = e.read_one(f, e.at(f, a.bias, f.add(f.mul(group, a.outs), out)))
                first = f.splat(added, e.lanes, e.element)
            with f.loop(0, phase["grid_a"]) as i, f.loop(0, phase["grid_b"]) as j, \
                    f.loop(0, phase["grid_w"], e.lanes) as w:
                lines = Lines(f, a, e, windows, (i, j, w), phase["grid_w"])
                total = f.variable(e.kind, first)
                with f.loop(0, phase["taps"]) as k:
                    tap = _tap(f, taps, k)
                    with f.when(lines.inside(tap)):
                        factor = e.read_one(f, e.at(f, weight, tap["weight"]))
                        factors = f.splat(factor, e.lanes, e.element)
                        total.set(f.fma(e.kind, lines.read(tap), factors, total.get()))
                to = f.add(f.add(start, f.mul(w, a.t_w)), f.add(f.mul(i, a.t_a), f.mul(j, a.t_b)))
                write_neighbours(f, e, total.get(), e.at(f, a.target, to), f.sub(phase["grid_w"], w), apart,
                                 a.t_w)
    return module.text()


def write_neighbours(f: Function, e: Elements, value: str, to: str, count: str, apart: int,
                     step: Value = 0) -> None:
    """Store neighbouring results that lie ``apart``, 1 or 2, or 0 for any ``step``."""
    n = e.lanes
    if apart == 1:
        e.write(f, value, to, f.first_lanes(count, n))
    elif apart == 2:
        even = ", ".join(["i1 true", "i1 false"] * (n // 2))
        for k in range(2):
            picks = ", ".join(f"i32 {k * n // 2 + lane // 2}" for lane in range(n))
            spread = f.emit(f"shufflevector {e.kind} {value}, {e.kind} poison, <{n} x i32> <{picks}>")
            some = f.first_lanes(f.sub(f.mul(count, 2), k * n), n)
            e.write(f, spread, e.at(f, to, k * n), f.emit(f"and <{n} x i1> {some}, <{even}>"))
    else:
        with f.loop(0, f.least(count, n)) as lane:
            one = f.emit(f"extractelement {e.kind} {value}, i64 {lane}")
            e.write_one(f, one, e.at(f, to, f.mul(lane, step)))


def depthwise_weight_module(e: Elements, step: int, apart: int) -> str:
    """Code of ``depthwise_weight``; the target's strides are those of the gradient, which is ``weight``."""
    module = Module()
    with module.kernel("depthwise_weight") as f:
        a = registers(f, POINTERS, NUMBERS)
        head = {name: entry(f, a.table, k) for k, name in enumerate(PHASE)}
        taps = f.at(a.table, head["taps_at"], "i64")
        with f.loop(f.begin, f.end) as channel:
            group, out = f.div(channel, a.outs), f.rem(channel, a.outs)
            with f.loop(0, head["taps"]) as k:
                f.write(e.kind, "zeroinitializer", f.at(f.scratch, f.mul(k, e.lanes), e.element))
            with f.loop(0, a.batch) as image:
                windows = Windows(f, a, e, f.add(f.mul(image, a.inner), group), step)
                start = f.add(f.mul(image, a.t_n), f.add(f.mul(group, a.t_group), f.mul(out, a.t_c)))
                with f.loop(0, head["grid_a"]) as i, f.loop(0, head["grid_b"]) as j, \
                        f.loop(0, head["grid_w"], e.lanes) as w:
                    lines = Lines(f, a, e, windows, (i, j, w), head["grid_w"])
                    at = f.add(f.add(start, f.mul(w, a.t_w)), f.add(f.mul(i, a.t_a), f.mul(j, a.t_b)))
                    grad = _grads(f, a, e, e.at(f, a.weight, at), f.sub(head["grid_w"], w), apart)
                    with f.loop(0, head["taps"]) as k:
                        tap = _tap(f, taps, k)
                        with f.when(lines.inside(tap)):
                            sums = f.at(f.scratch, f.mul(k, e.lanes), e.element)
                            f.write(e.kind, f.fma(e.kind, lines.read(tap), grad, f.read(e.kind, sums)), sums)
            with f.loop(0, head["taps"]) as k:
                total = f.total(e.kind, f.read(e.kind, f.at(f.scratch, f.mul(k, e.lanes), e.element)))
                e.write_one(f, total, e.at(f, a.target, f.add(f.mul(channel, head["taps"]), k)))
    return module.text()


def _grads(f: Function, a: Registers, e: Elements, pointer: str, count: str, apart: int) -> str:
    """Neighbouring gradients; zeros where there are none."""
    if apart == 1:
        return e.read(f, pointer, f.first_lanes(count, e.lanes))
    found = f.variable(e.kind, "zeroinitializer")
    with f.loop(0, f.least(count, e.lanes)) as lane:
        one = e.read_one(f, e.at(f, pointer, f.mul(lane, a.t_w)))
        found.set(f.emit(f"insertelement {e.kind} {found.get()}, {e.element} {one}, i64 {lane}"))
    return found.get()


# --- plans --------------------------------------------------------------------------------------------------

@kernel("depthwise")
def _code(name: str, step: int, bias: bool, apart: int) -> str:

    return depthwise_module(elements(name), step, bias, apart)


@kernel("depthwise_weight")
def _weight_code(name: str, step: int, apart: int) -> str:
    text = depthwise_weight_module(elements(name), step, apart)
    return text


def _given(problem: Problem) -> tuple[dict[str, Argument], list[int]]:
    heads: list[int] = []
    tails: list[int] = []
    at = len(PHASE) * len(problem.phases)
    for phase in problem.phases:
        heads += [len(phase.taps), at + len(tails), phase.target, *phase.grid]
        tails += [value for tap in phase.taps for value in (tap.weight, *tap.offset)]
    source, target = problem.source, problem.target
    given: dict[str, Argument] = {
        "batch": problem.batch, "inner": problem.groups, "outs": problem.outs, "s_outer": source.batch,
        "s_inner": source.group, "w_group": problem.weight.group, "w_out": problem.weight.batch,
        "t_n": target.batch, "t_group": target.group, "t_c": target.channel, "phases": len(problem.phases)}
    for name, values in (("s", source.space), ("space", problem.extents), ("stride", problem.step),
                         ("padding", problem.before), ("t", problem.positions)):
        given |= {f"{name}_{axis}": value for axis, value in zip("abw", values)}
    return given, heads + tails


def _steps(problem: Problem) -> tuple[int, int]:
    """The distance of neighbours in source and target, where there is a special way for it."""
    step = problem.step[2] if problem.source.space[2] == 1 or problem.extents[2] == 1 else 0
    apart = problem.positions[2]
    return step if step in (1, 2) else 0, apart if apart in (1, 2) else 0


def depthwise_plan(problem: Problem, dtype: Any, source: Geometry, weight: Geometry,
                   bias: Geometry | None) -> Plan:
    """The plan of ``convolution`` or ``convolution_input`` with one input channel in each group."""
    e = elements(dtype)
    given, table = _given(problem)
    given |= {"source": lambda w: w.input(0, source), "weight": lambda w: w.input(1, weight),
              "bias": operand(2, bias),
              "target": lambda w: w.output(0)}
    planes = problem.batch * problem.groups
    step, apart = _steps(problem)
    call = Call(_code(e.name, step, bias is not None, apart), words(POINTERS, NUMBERS, given, table), planes,
                grain=max(1, _TASK * planes // max(1, problem.products)))
    return Plan([call], flops=4.0 * problem.products, traffic=2.0 * source.numel * e.itemsize)


def depthwise_weight_plan(problem: Problem, dtype: Any, grad: Geometry, x: Geometry) -> Plan:
    """The plan of ``convolution_weight`` with one input channel in each group."""
    e = elements(dtype)
    given, table = _given(problem)
    given |= {"source": lambda w: w.input(1, x), "weight": lambda w: w.input(0, grad),
              "bias": 0, "target": lambda w: w.output(0)}
    channels = problem.groups * problem.outs
    step, apart = _steps(problem)
    call = Call(_weight_code(e.name, step, apart % 2), words(POINTERS, NUMBERS, given, table), channels,
                grain=max(1, _TASK * channels // max(1, problem.products)),
                scratch=rounded(len(problem.phases[0].taps) * e.lanes * e.width, 64))
    return Plan([call], flops=4.0 * problem.products, traffic=2.0 * x.numel * e.itemsize)
