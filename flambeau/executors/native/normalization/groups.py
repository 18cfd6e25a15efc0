"""Kernels of group norm and of its gradients, for planes of pixels and for channels that lie side by side.

A task is some groups of a sample. It goes over the elements once for the means, once for the variances, and
once more to write the result; of a task's size they stay in a cache. Backward, with x centred c = x - mean:

    dot_c = sum(g c), total_c = sum(g)                      for each channel, over its pixels
    D = sum(w dot), T = sum(w total)                        for each group, over its channels
    dx = rstd w g - (rstd^3 D c + rstd T) / n

The sums of channels of each sample are kept, and added up over the samples by a kernel of their own, in
order. Numbers for each channel lie in scratch memory, one array after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..arguments import Registers, registers
from ..llvm.build import Function, Module, Value, suffix
from ..vectors import Elements, arithmetic

POINTERS = ("x", "grad", "weight", "bias", "mean", "rstd", "target", "sums")
# ``size``: elements of a group. Strides of x and the gradient from sample to sample, channel to channel and
# pixel to pixel; those of the target are ``t``.
NUMBERS = ("batch", "groups", "channels", "each", "pixels", "size", "chunks", "chunk", "room",
           "x_n", "x_c", "x_p", "g_n", "g_c", "g_p", "t_n", "t_c", "t_p", "eps")
VECTORS = 4     # that go through the pixels together


class Part:
    """A task's groups of a sample, and what is known of their channels."""

    def __init__(self, f: Function, a: Registers, e: Elements, w: Elements | None, task: str) -> None:
        self.f, self.a, self.e, self.w = f, a, e, w
        self.sample, chunk = f.div(task, a.chunks), f.rem(task, a.chunks)
        self.group = f.mul(chunk, a.chunk)
        self.groups = f.least(a.chunk, f.sub(a.groups, self.group))
        self.channel = f.mul(self.group, a.each)
        self.channels = f.mul(self.groups, a.each)

    def start(self, pointer: str, prefix: str) -> str:
        """The first element of an operand or a result."""
        f, a = self.f, self.a
        n, c = getattr(a, f"{prefix}_n"), getattr(a, f"{prefix}_c")
        return self.e.at(f, pointer, f.add(f.mul(self.sample, n), f.mul(self.channel, c)))

    def array(self, number: int) -> str:
        """An array in scratch memory with a number for each channel."""
        return self.f.at(self.f.scratch, self.f.mul(self.a.room, number), self.e.element)

    def number(self, number: int, c: Value) -> str:
        """The address of a channel's number."""
        return self.f.at(self.array(number), c, self.e.element)

    def get(self, number: int, c: Value) -> str:
        return self.f.read(self.e.element, self.number(number, c), self.e.width)

    def set(self, number: int, c: Value, value: str) -> None:
        self.f.write(self.e.element, value, self.number(number, c), self.e.width)

    def do(self, operation: str, x: str, y: str) -> str:
        """Arithmetic on two numbers."""
        return self.f.emit(f"{operation} {self.e.element} {x}, {y}")

    def of_channel(self, pointer: str, c: str, none: str) -> str:
        """A channel's weight or bias; ``none`` where there are none."""
        if self.w is None:
            return none
        f = self.f
        exists = f.emit(f"icmp ne ptr {pointer}, null")
        found = f.variable(self.e.element, none)
        with f.when(exists):
            held = self.w.read_one(f, self.w.at(f, pointer, f.add(self.channel, c)))
            found.set(held)
        return found.get()

    def count(self) -> str:
        """The elements of a group."""
        return self.f.emit(f"sitofp i64 {self.a.size} to {self.e.element}")

    def each_group(self, numbers: Sequence[int], weighed: bool,
                   then: Callable[[str, list[str]], list[tuple[int, str]]]) -> None:
        """Sum numbers up over a group's channels; what ``then`` makes of the sums goes to all of them."""
        f, a = self.f, self.a
        with f.loop(0, self.groups) as g:
            first, last = f.mul(g, a.each), f.mul(f.add(g, 1), a.each)
            totals = [f.variable(self.e.element, "0.0") for _ in numbers]
            with f.loop(first, last) as c:
                for total, number in zip(totals, numbers):
                    value = self.get(number, c)
                    value = self.do("fmul", value, self.get(WEIGHT, c)) if weighed else value
                    total.set(self.do("fadd", total.get(), value))
            made = then(f.add(self.group, g), [total.get() for total in totals])
            with f.loop(first, last) as c:
                for number, value in made:
                    self.set(number, c, value)


# Arrays in scratch memory: sums, and what follows from them.
FIRST, SECOND, MEAN, SCALE, SHIFT, WEIGHT, SLOPE = range(7)
ARRAYS = 7


class Pass:
    """One way through the elements of some channels: operands and, of each channel, numbers as vectors.

    ``step(vectors, numbers)`` gives what is added to each of so many ``sums``, or, if that is 0, the result.
    """

    def __init__(self, part: Part, operands: Sequence[str], numbers: Sequence[int], sums: int,
                 step: Callable[[list[str], list[str]], list[str]]) -> None:
        self.part, self.operands, self.numbers, self.sums, self.step = part, operands, numbers, sums, step
        self.sources = [part.start(getattr(part.a, "x" if name == "x" else "grad"), name)
                        for name in operands]

    def planes(self) -> None:
        """Channels one by one, vectors of their pixels."""
        part = self.part
        f, a, e = part.f, part.a, part.e
        target = part.start(a.target, "t")
        wide = VECTORS * e.lanes
        whole = f.sub(a.pixels, f.rem(a.pixels, wide))
        with f.loop(0, part.channels) as c:
            rows = [e.at(f, source, f.mul(c, getattr(a, f"{name}_c")))
                    for source, name in zip(self.sources, self.operands)]
            numbers = [f.splat(part.get(k, c), e.lanes, e.element) for k in self.numbers]
            totals = [[f.variable(e.kind, "zeroinitializer") for _ in range(VECTORS)]
                      for _ in range(self.sums)]
            row = e.at(f, target, f.mul(c, a.t_c))

            def step(p: str, k: int, mask: str) -> None:
                results = self.step([e.read(f, e.at(f, r, p), mask) for r in rows], numbers)
                if not self.sums:
                    e.write(f, results[0], e.at(f, row, p), mask)
                for own, value in zip(totals, results):
                    if mask:
                        value = f.emit(f"select <{e.lanes} x i1> {mask}, {e.kind} {value}, {e.kind} "
                                       "zeroinitializer")
                    own[k].set(arithmetic(f, "fadd", e.kind, own[k].get(), value))
            with f.loop(0, whole, wide) as p:
                for k in range(VECTORS):
                    step(f.add(p, k * e.lanes), k, "")
            with f.loop(whole, a.pixels, e.lanes) as p:
                step(p, 0, f.first_lanes(f.sub(a.pixels, p), e.lanes))
            for k, own in enumerate(totals):
                both = [arithmetic(f, "fadd", e.kind, own[i].get(), own[i + 1].get())
                        for i in range(0, VECTORS, 2)]
                part.set(k, c, f.total(e.kind, arithmetic(f, "fadd", e.kind, *both)))

    def last(self) -> None:
        """Some vectors of channels at a time, pixel by pixel."""
        part = self.part
        f, a, e = part.f, part.a, part.e
        target = part.start(a.target, "t")
        with f.loop(0, part.channels, VECTORS * e.lanes) as c:
            places = [f.add(c, k * e.lanes) for k in range(VECTORS)]
            masks = [f.first_lanes(f.sub(part.channels, at), e.lanes) for at in places]
            numbers = [[f.read(e.kind, part.number(k, at), e.width) for k in self.numbers] for at in places]
            totals = [[f.variable(e.kind, "zeroinitializer") for _ in places] for _ in range(self.sums)]
            with f.loop(0, a.pixels) as p:
                rows = [e.at(f, source, f.mul(p, getattr(a, f"{name}_p")))
                        for source, name in zip(self.sources, self.operands)]
                row = e.at(f, target, f.mul(p, a.t_p))
                for k, (at, mask) in enumerate(zip(places, masks)):
                    results = self.step([e.read(f, e.at(f, r, at), mask) for r in rows], numbers[k])
                    if not self.sums:
                        e.write(f, results[0], e.at(f, row, at), mask)
                    for own, value in zip(totals, results):
                        own[k].set(arithmetic(f, "fadd", e.kind, own[k].get(), value))
            for k, own in enumerate(totals):
                for at, total in zip(places, own):
                    f.write(e.kind, total.get(), part.number(k, at), e.width)

    def run(self, last: bool) -> None:
        """Go."""
        if last:
            self.last()
        else:
            self.planes()


def _weights(part: Part) -> None:
    with part.f.loop(0, part.channels) as c:
        part.set(WEIGHT, c, part.of_channel(part.a.weight, c, "1.0"))


def _module(title: str, e: Elements, w: Elements | None, write: Callable[[Part], None]) -> str:
    module = Module()
    with module.kernel(title) as f:
        a = registers(f, POINTERS, NUMBERS)
        with f.loop(f.begin, f.end) as task:
            part = Part(f, a, e, w, task)
            _weights(part)
            write(part)
    return module.text()


def forward_module(e: Elements, w: Elements | None, last: bool) -> str:
    """Code of ``group_norm``; ``w``: the elements of weights, if there are any."""
    def write(part: Part) -> None:
        _moments(part, last)
        Pass(part, ("x",), (SCALE, SHIFT), 0,
             lambda x, numbers: [part.f.fma(e.kind, x[0], *numbers)]).run(last)
    return _module("group_norm", e, w, write)


def _moments(part: Part, last: bool) -> None:
    """Means and variances; then what each channel is multiplied by, and what is added."""
    f, a, e = part.f, part.a, part.e
    count = part.count()

    def place(pointer: str, group: str) -> str:
        return f.at(pointer, f.add(f.mul(part.sample, a.groups), group), e.element)

    def means(group: str, sums: list[str]) -> list[tuple[int, str]]:
        mean = part.do("fdiv", sums[0], count)
        f.write(e.element, mean, place(a.mean, group), e.width)
        return [(MEAN, mean)]

    def deviations(group: str, sums: list[str]) -> list[tuple[int, str]]:
        mean = f.read(e.element, place(a.mean, group), e.width)
        overflow = part.do("fmul", part.do("fmul", mean, mean), "0.0")      # see operators' ``normalize``
        variance = part.do("fadd", part.do("fdiv", sums[0], count), part.do("fadd", overflow, _eps(part)))
        root = f.call(f"llvm.sqrt.{suffix(e.element)}", e.element, [e.element], [variance])
        rstd = part.do("fdiv", "1.0", root)
        f.write(e.element, rstd, place(a.rstd, group), e.width)
        return [(SCALE, rstd)]

    def squares(x: list[str], numbers: list[str]) -> list[str]:
        centred = arithmetic(f, "fsub", e.kind, x[0], numbers[0])
        return [arithmetic(f, "fmul", e.kind, centred, centred)]
    Pass(part, ("x",), (), 1, lambda x, numbers: x).run(last)
    part.each_group((FIRST,), False, means)
    Pass(part, ("x",), (MEAN,), 1, squares).run(last)
    part.each_group((FIRST,), False, deviations)
    with f.loop(0, part.channels) as c:
        scale = part.do("fmul", part.get(SCALE, c), part.get(WEIGHT, c))
        part.set(SCALE, c, scale)
        shift = part.do("fmul", part.get(MEAN, c), scale)
        part.set(SHIFT, c, part.do("fsub", part.of_channel(a.bias, c, "0.0"), shift))


def _eps(part: Part) -> str:
    f, e = part.f, part.e
    value = f.emit(f"bitcast i64 {part.a.eps} to double")
    return value if e.element == "double" else f.emit(f"fptrunc double {value} to float")


def backward_module(e: Elements, w: Elements | None, last: bool) -> str:
    """Code of ``group_norm_backward``: the gradient by x, and sums for those by weight and bias."""
    def write(part: Part) -> None:
        f, mean = part.f, part.a.mean
        part.each_group((), False, lambda group, _: [(MEAN, _of_group(part, mean, group))])

        def sums(x: list[str], numbers: list[str]) -> list[str]:
            centred = arithmetic(f, "fsub", e.kind, x[0], numbers[0])
            return [arithmetic(f, "fmul", e.kind, centred, x[1]), x[1]]

        def combined(x: list[str], numbers: list[str]) -> list[str]:
            scale, slope, shift = numbers
            return [f.fma(e.kind, x[1], scale, f.fma(e.kind, x[0], slope, shift))]
        Pass(part, ("x", "g"), (MEAN,), 2, sums).run(last)
        _slopes(part)
        Pass(part, ("x", "g"), (SCALE, SLOPE, SHIFT), 0, combined).run(last)
    return _module("group_norm_backward", e, w, write)


def _of_group(part: Part, pointer: str, group: str) -> str:
    f, a, e = part.f, part.a, part.e
    at = f.add(f.mul(part.sample, a.groups), group)
    return f.read(e.element, f.at(pointer, at, e.element), e.width)


def _slopes(part: Part) -> None:
    """What g, x and 1 are multiplied by; and the sums of each channel are kept."""
    f, a, e = part.f, part.a, part.e
    count = part.count()

    def slopes(group: str, sums: list[str]) -> list[tuple[int, str]]:
        rstd, mean = _of_group(part, a.rstd, group), _of_group(part, a.mean, group)
        over = part.do("fdiv", rstd, count)
        square = part.do("fmul", rstd, rstd)
        slope = part.do("fmul", part.do("fmul", sums[0], square), over)
        slope = f.emit(f"fneg {e.element} {slope}")
        shift = part.do("fsub", part.do("fmul", f.emit(f"fneg {e.element} {slope}"), mean),
                        part.do("fmul", sums[1], over))
        return [(SCALE, rstd), (SLOPE, slope), (SHIFT, shift)]
    part.each_group((FIRST, SECOND), True, slopes)
    size = f.mul(a.batch, a.channels)
    row = f.add(f.mul(part.sample, a.channels), part.channel)
    with f.loop(0, part.channels) as c:
        at = f.add(row, c)
        to_weight = part.do("fmul", part.get(FIRST, c), part.get(SCALE, c))
        f.write(e.element, to_weight, f.at(a.sums, at, e.element), e.width)
        f.write(e.element, part.get(SECOND, c), f.at(a.sums, f.add(size, at), e.element), e.width)
        part.set(SCALE, c, part.do("fmul", part.get(SCALE, c), part.get(WEIGHT, c)))


TOTALS_POINTERS = ("sums", "first", "second")
TOTALS_NUMBERS = ("batch", "channels")


def totals_module(e: Elements) -> str:
    """Code of ``group_norm_totals``: sums over the samples; a task is a vector of channels."""
    module = Module()
    with module.kernel("group_norm_totals") as f:
        a = registers(f, TOTALS_POINTERS, TOTALS_NUMBERS)
        with f.loop(f.begin, f.end) as task:
            c = f.mul(task, e.lanes)
            mask = f.first_lanes(f.sub(a.channels, c), e.lanes)
            for k, target in enumerate((a.first, a.second)):
                start = f.at(a.sums, f.add(f.mul(f.mul(a.batch, a.channels), k), c), e.element)
                total = f.variable(e.kind, "zeroinitializer")
                with f.loop(0, a.batch) as n:
                    at = f.at(start, f.mul(n, a.channels), e.element)
                    total.set(arithmetic(f, "fadd", e.kind, total.get(),
                                         f.read_masked(e.kind, at, mask, e.width)))
                f.write_masked(e.kind, total.get(), f.at(target, c, e.element), mask, e.width)
    return module.text()
