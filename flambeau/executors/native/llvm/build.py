"""Functions in LLVM's language with loops, conditions, variables and vectors, for kernel generators.

Registers and constants are strings, integers may be given as Python numbers. Variables are stack slots, which
LLVM turns into registers, so that a generator never writes a phi.

    @kernel("square")                                   # of code.py: square() is the address of its code
    def square() -> str:
        module = Module()
        with module.kernel("square") as f:              # f(begin, end, words, scratch)
            source, target = f.word(0, "ptr"), f.word(1, "ptr")
            with f.loop(f.begin, f.end) as i:
                x = f.read("float", f.at(source, i))
                f.write("float", f.emit(f"fmul float {x}, {x}"), f.at(target, i))
        return module.text()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from .compiling.machine import machine
from .emitter import Emitter

Value = str | int

ATTRIBUTES = 'nounwind "no-trapping-math"="true" "prefer-vector-width"="512"'


def vector(lanes: int, element: str = "float") -> str:
    """The type of a vector: ``<16 x float>``."""
    return f"<{lanes} x {element}>" if lanes > 1 else element


def suffix(kind: str) -> str:
    """How intrinsics call a type: ``v16f32``."""
    if kind.startswith("<"):
        lanes, element = kind[1:-1].split(" x ")
        return f"v{lanes}{suffix(element)}"
    return {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}.get(kind, kind)


class Variable:
    """A value that changes: ``get`` and ``set``."""

    __slots__ = ("function", "kind", "slot")

    def __init__(self, function: Function, kind: str, initial: Value | None) -> None:
        self.function = function
        self.kind = kind
        self.slot = function.name()
        function.slots.append(f"  {self.slot} = alloca {kind}")
        if initial is not None:
            self.set(initial)

    def get(self) -> str:
        return self.function.emit(f"load {self.kind}, ptr {self.slot}")

    def set(self, value: Value) -> None:
        self.function.effect(f"store {self.kind} {value}, ptr {self.slot}")


class Function(Emitter):
    """One function under construction; ``begin``, ``end``, ``words``, ``scratch``: a kernel's parameters."""

    begin, end, words, scratch = "%begin", "%end", "%words", "%scratch"
    attributes = "#0"   # "noinline #0": one copy of the code, however few the calls

    def __init__(self, name: str, parameters: Sequence[tuple[str, str]], result: str, internal: bool) -> None:
        super().__init__()
        self.title = name
        self.parameters = parameters
        self.result = result
        self.internal = internal
        self.slots: list[str] = []
        self._labels = 0

    # --- instructions ---------------------------------------------------------------------------------------

    def emit(self, instruction: str) -> str:
        """The register of an instruction's result; nothing is shared, since blocks need not dominate."""
        found = self.name()
        self.lines.append(f"  {found} = {instruction}")
        return found

    def add(self, x: Value, y: Value) -> str:
        return self.emit(f"add nsw i64 {x}, {y}")

    def sub(self, x: Value, y: Value) -> str:
        return self.emit(f"sub nsw i64 {x}, {y}")

    def mul(self, x: Value, y: Value) -> str:
        return self.emit(f"mul nsw i64 {x}, {y}")

    def div(self, x: Value, y: Value) -> str:
        """The quotient of numbers that are not negative."""
        return self.emit(f"udiv i64 {x}, {y}")

    def rem(self, x: Value, y: Value) -> str:
        """The remainder of numbers that are not negative."""
        return self.emit(f"urem i64 {x}, {y}")

    def least(self, x: Value, y: Value) -> str:
        return self.call("llvm.smin.i64", "i64", ["i64", "i64"], [str(x), str(y)])

    def most(self, x: Value, y: Value) -> str:
        return self.call("llvm.smax.i64", "i64", ["i64", "i64"], [str(x), str(y)])

    def compare(self, order: str, x: Value, y: Value) -> str:
        """``order``: eq, ne, slt, sle, sgt, sge, ult, ..."""
        return self.emit(f"icmp {order} i64 {x}, {y}")

    def choose(self, condition: str, kind: str, x: Value, y: Value) -> str:
        return self.emit(f"select i1 {condition}, {kind} {x}, {kind} {y}")

    def run(self, function: Function, *arguments: Value) -> str | None:
        """Call another function of the module; what a parameter promises follows its type."""
        kinds = [kind if kind[0] == "<" else kind.split()[0] for kind, _ in function.parameters]
        passed = ", ".join(f"{kind} {x}" for kind, x in zip(kinds, arguments))
        text = f"call {function.result} @{function.title}({passed})"
        if function.result == "void":
            self.effect(text)
            return None
        return self.emit(text)

    def give(self, value: Value) -> None:
        """Return a result."""
        self.effect(f"ret {self.result} {value}")
        self._block(self._label("after"))

    # --- memory ---------------------------------------------------------------------------------------------

    def word(self, k: int, kind: str = "i64") -> str:
        """Argument k of a kernel, 8 bytes: ``i64``, ``ptr``, ``double``, or ``float`` in the lower half."""
        at = self.emit(f"getelementptr inbounds i64, ptr {self.words}, i64 {k}")
        return self.emit(f"load {kind}, ptr {at}, align 8")

    def at(self, pointer: str, index: Value, kind: str = "float") -> str:
        """The address of element ``index``."""
        return self.emit(f"getelementptr inbounds {kind}, ptr {pointer}, i64 {index}")

    def apart(self, pointer: str, other: str) -> str:
        """How many bytes an address lies behind another one."""
        return self.sub(*[self.emit(f"ptrtoint ptr {x} to i64") for x in (pointer, other)])

    def unrelated(self, pointer: str) -> str:
        """The same address, but what LLVM knows of where it comes from is forgotten."""
        return self.emit(f'call ptr asm "", "=r,0"(ptr {pointer})')

    def behind(self, pointer: str, distance: Value) -> str:
        """The address so many bytes behind another one, maybe in another object."""
        there = self.add(self.emit(f"ptrtoint ptr {pointer} to i64"), distance)
        return self.emit(f"inttoptr i64 {there} to ptr")

    def read(self, kind: str, pointer: str, align: int = 4) -> str:
        """The element or vector at an address."""
        return self.emit(f"load {kind}, ptr {pointer}, align {align}")

    def write(self, kind: str, value: Value, pointer: str, align: int = 4) -> None:
        """Store an element or vector."""
        self.effect(f"store {kind} {value}, ptr {pointer}, align {align}")

    def write_past(self, kind: str, value: Value, pointer: str, align: int) -> None:
        """Store past the caches what is not read soon; lines that are written as a whole are not read."""
        self.effect(f"store {kind} {value}, ptr {pointer}, align {align}, !nontemporal !{{i32 1}}")

    def settle(self) -> None:
        """Let other threads see what has been stored past the caches."""
        self.do("llvm.x86.sse.sfence", [], [])

    def prefetch(self, pointer: str, cache: int, write: bool = False) -> None:
        """Bring the line at an address, which need not exist, into the ``cache``-th cache, to be written."""
        self.do("llvm.prefetch.p0", ["ptr", "i32", "i32", "i32"],
                [pointer, str(int(write)), str(4 - cache), "1"], immediate=(1, 2, 3))

    def copy(self, to: str, source: str, size: Value) -> None:
        """Copy bytes to a place that does not overlap with theirs."""
        self.do("llvm.memcpy.p0.p0.i64", ["ptr", "ptr", "i64", "i1"], [to, source, str(size), "false"],
                immediate=(3,))

    def clear(self, to: str, size: Value) -> None:
        """Let bytes be 0."""
        self.do("llvm.memset.p0.i64", ["ptr", "i8", "i64", "i1"], [to, "0", str(size), "false"],
                immediate=(3,))

    # --- vectors --------------------------------------------------------------------------------------------

    def splat(self, value: Value, lanes: int, element: str = "float") -> str:
        """A vector of equal elements."""
        kind = vector(lanes, element)
        first = self.emit(f"insertelement {kind} poison, {element} {value}, i32 0")
        return self.emit(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")

    def fma(self, kind: str, x: str, y: str, z: str) -> str:
        """x * y + z, rounded once."""
        return self.call(f"llvm.fma.{suffix(kind)}", kind, [kind] * 3, [x, y, z])

    def first_lanes(self, count: Value, lanes: int) -> str:
        """The mask of the first ``count`` lanes."""
        numbers = ", ".join(f"i64 {i}" for i in range(lanes))
        limit = self.splat(count, lanes, "i64")
        return self.emit(f"icmp slt <{lanes} x i64> <{numbers}>, {limit}")

    def read_masked(self, kind: str, pointer: str, mask: str, align: int = 4, other: str = "") -> str:
        """The lanes of a mask; the others are zero or those of ``other``. Nothing else is touched."""
        lanes = kind[1:].split(" ")[0]
        return self.call(f"llvm.masked.load.{suffix(kind)}.p0", kind, ["ptr", "i32", f"<{lanes} x i1>", kind],
                         [pointer, str(align), mask, other or "zeroinitializer"], immediate=(1,))

    def write_masked(self, kind: str, value: str, pointer: str, mask: str, align: int = 4) -> None:
        """Store the lanes of a mask."""
        lanes = kind[1:].split(" ")[0]
        self.do(f"llvm.masked.store.{suffix(kind)}.p0", [kind, "ptr", "i32", f"<{lanes} x i1>"],
                [value, pointer, str(align), mask], immediate=(2,))

    def scatter(self, kind: str, value: str, pointers: str, mask: str, align: int) -> None:
        """Store the lanes of a mask at an address each."""
        lanes = kind[1:].split(" ")[0]
        self.do(f"llvm.masked.scatter.{suffix(kind)}.v{lanes}p0",
                [kind, f"<{lanes} x ptr>", "i32", f"<{lanes} x i1>"], [value, pointers, str(align), mask],
                immediate=(2,))

    def gather(self, kind: str, pointers: str, mask: str, align: int) -> str:
        """The elements at an address each; outside a mask zero, and nothing is touched."""
        lanes = kind[1:].split(" ")[0]
        return self.call(f"llvm.masked.gather.{suffix(kind)}.v{lanes}p0", kind,
                         [f"<{lanes} x ptr>", "i32", f"<{lanes} x i1>", kind],
                         [pointers, str(align), mask, "zeroinitializer"], immediate=(1,))

    def call(self, function: str, result: str, types: Sequence[str], arguments: Sequence[str],
             immediate: Sequence[int] = (), flags: str = "") -> str:
        """What a function gives that is none of the module's: an intrinsic one, or the C library's.

        ``immediate``: see ``declared``. ``flags``: what may be done with floating numbers.
        """
        call = self.declared(function, result, types, arguments, immediate)
        return self.emit(f"call {flags} {call}" if flags else f"call {call}")

    def do(self, function: str, types: Sequence[str], arguments: Sequence[str],
           immediate: Sequence[int] = ()) -> None:
        """The same of a function that gives nothing."""
        self.effect("call " + self.declared(function, "void", types, arguments, immediate))

    def total(self, kind: str, x: str) -> str:
        """The sum of a vector's lanes, in any order."""
        element = kind[1:-1].split(" x ")[1]
        return self.call(f"llvm.vector.reduce.fadd.{suffix(kind)}", element, [element, kind], ["-0.0", x],
                         flags="reassoc")

    def greatest(self, kind: str, x: str) -> str:
        """The largest lane; NaN only where all are.

        Half by half: of numbers that may be NaN, LLVM's own reduction takes lane after lane.
        """
        lanes = int(kind[1:-1].split(" x ")[0])
        half = lanes // 2
        while half:
            order = ", ".join(f"i32 {i + half if i < half else i}" for i in range(lanes))
            other = self.emit(f"shufflevector {kind} {x}, {kind} poison, <{lanes} x i32> <{order}>")
            x = self.call(f"llvm.maxnum.{suffix(kind)}", kind, [kind, kind], [x, other])
            half //= 2
        return self.emit(f"extractelement {kind} {x}, i32 0")

    # --- control flow ---------------------------------------------------------------------------------------

    def variable(self, kind: str, initial: Value | None = None) -> Variable:
        """A value that changes."""
        return Variable(self, kind, initial)

    @contextmanager
    def loop(self, start: Value, stop: Value, step: Value = 1, hint: str = "") -> Iterator[str]:
        """``for i in range(start, stop, step)``, step positive. ``hint``: loop metadata of the module."""
        head, body, after = self._label("head"), self._label("body"), self._label("after")
        entry = self._label("entry")
        self._goto(entry)
        self._block(entry)
        i, following = self.name(), self.name()
        some = self.compare("slt", start, stop)
        self.effect(f"br i1 {some}, label %{head}, label %{after}")
        # The induction variable is a true phi, so that LLVM sees a plain counted loop at once.
        latch = self._label("latch")
        self._block(head)
        self.lines.append(f"  {i} = phi i64 [ {start}, %{entry} ], [ {following}, %{latch} ]")
        self._goto(body)
        self._block(body)
        yield i
        self._goto(latch)
        self._block(latch)
        self.lines.append(f"  {following} = add nsw i64 {i}, {step}")
        again = self.compare("slt", following, stop)
        self.effect(f"br i1 {again}, label %{head}, label %{after}{hint}")
        self._block(after)

    @contextmanager
    def forever(self) -> Iterator[Callable[[str], None]]:
        """``while True``; calling what it yields with a condition (i1) leaves the loop if that holds."""
        head, after = self._label("head"), self._label("after")
        self._goto(head)
        self._block(head)

        def leave(condition: str) -> None:
            inside = self._label("stay")
            self.effect(f"br i1 {condition}, label %{after}, label %{inside}")
            self._block(inside)
        yield leave
        self._goto(head)
        self._block(after)

    def pause(self) -> None:
        """Tell the core that this thread is waiting in a loop."""
        if machine().registers == 32 and machine().vector == 16:
            self.effect('call void asm sideeffect "yield", ""()')
        else:
            self.effect('call void asm sideeffect "pause", ""()')

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """What is done if a condition (i1) holds."""
        inside, after = self._label("then"), self._label("after")
        self.effect(f"br i1 {condition}, label %{inside}, label %{after}")
        self._block(inside)
        yield
        self._goto(after)
        self._block(after)

    def cases(self, value: str, count: int) -> Iterator[int]:
        """What is done in each of the cases 0, 1, ... of a value; nothing in any other one.

        A loop over it writes them: ``for case in f.cases(kind, 2): ...``
        """
        labels, after = [self._label("case") for _ in range(count)], self._label("after")
        ways = " ".join([f"i64 {k}, label %{label}" for k, label in enumerate(labels)])
        self.effect(f"switch i64 {value}, label %{after} [{ways}]")
        for k, label in enumerate(labels):
            self._block(label)
            yield k
            self._goto(after)
        self._block(after)

    @contextmanager
    def otherwise(self, condition: str) -> Iterator[None]:
        """What is done if a condition does not hold."""
        with self.when(self.emit(f"xor i1 {condition}, true")):
            yield

    def _label(self, name: str) -> str:
        self._labels += 1
        return f"{name}{self._labels}"

    def _goto(self, label: str) -> None:
        self.effect(f"br label %{label}")

    def _block(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def text(self) -> str:
        """The function's definition."""
        own = ", ".join(f"{kind} {name}" for kind, name in self.parameters)
        linkage = "internal " if self.internal else ""
        ending = "  ret void" if self.result == "void" else "  unreachable"
        head = f"define {linkage}{self.result} @{self.title}({own}) {self.attributes} {{"
        return "\n".join([head, "entry:", *self.slots,
                          *self.lines, ending, "}"])


class Module:
    """Functions that are compiled together."""

    def __init__(self) -> None:
        self.functions: list[Function] = []

    @contextmanager
    def kernel(self, name: str) -> Iterator[Function]:
        """A function that a plan can call: ``void name(i64 begin, i64 end, ptr words, ptr scratch)``."""
        parameters = [("i64", "%begin"), ("i64", "%end"), ("ptr noalias readonly", "%words"),
                      ("ptr noalias", "%scratch")]
        yield self._new(Function(name, parameters, "void", False))

    @contextmanager
    def function(self, name: str, parameters: Sequence[tuple[str, str]],
                 result: str = "void") -> Iterator[Function]:
        """A public function of other parameters."""
        yield self._new(Function(name, parameters, result, False))

    @contextmanager
    def helper(self, name: str, parameters: Sequence[tuple[str, str]],
               result: str = "void") -> Iterator[Function]:
        """A function for others of this module; ``parameters``: (type and attributes, ``%name``)."""
        yield self._new(Function(name, parameters, result, True))

    def _new(self, function: Function) -> Function:
        self.functions.append(function)
        return function

    def text(self) -> str:
        """The module in LLVM's language."""
        declarations = dict.fromkeys(d for function in self.functions for d in function.declarations)
        return "\n".join([*declarations, "", *[function.text() for function in self.functions], "",
                          f"attributes #0 = {{ {ATTRIBUTES} }}", ""])
