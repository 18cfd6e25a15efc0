"""Sorting and selecting that keeps no order among equal elements, in that of operators/reductions/ties.py.

An item is an element's key above its place, a number of twice the key's width; only keys are compared.
Functions go over ``count`` items from an address on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..llvm.build import Function, Module, Value, Variable

SHORT = 16      # operators/reductions/ties.py
FEW = 64
BLOCK = 32


class Introsort:
    """The functions of a module: ``sort(items, count)``, and what ``define_top`` and ``define_pick`` give."""

    def __init__(self, module: Module, key_bytes: int) -> None:
        self.module = module
        self.half = key_bytes * 8
        self.kind = f"i{2 * self.half}"
        self.sift = self._define_sift()
        self.heap = self._define_heap()
        self.drain = self._define_drain()
        self.split = self._define_split()
        self.insert = self._define_insert()
        self.few = self._define_few()
        self.sort = self._define_sort(self._define_parts())
        self.select = self._define_select()

    # --- items ----------------------------------------------------------------------------------------------

    def write_item(self, f: Function, items: str, i: Value, key: str) -> None:
        """Item i: a key and its place."""
        self._write(f, items, i, self._item(f, i, key))

    def _item(self, f: Function, i: Value, key: str) -> str:
        high = f.emit(f"shl {self.kind} {f.emit(f'zext i{self.half} {key} to {self.kind}')}, {self.half}")
        place = str(i) if self.kind == "i64" else f.emit(f"zext i64 {i} to {self.kind}")
        return f.emit(f"or {self.kind} {high}, {place}")

    def place(self, f: Function, items: str, i: Value) -> str:
        """The place of item i."""
        low = f.emit(f"and {self.kind} {self._read(f, items, i)}, {(1 << self.half) - 1}")
        return low if self.kind == "i64" else f.emit(f"trunc {self.kind} {low} to i64")

    def key(self, f: Function, items: str, i: Value) -> str:
        """The key of item i, as a number of an item's width."""
        return self._key(f, self._read(f, items, i))

    def _read(self, f: Function, items: str, i: Value) -> str:
        return f.read(self.kind, f.at(items, i, self.kind), 8)

    def _write(self, f: Function, items: str, i: Value, x: str) -> None:
        f.write(self.kind, x, f.at(items, i, self.kind), 8)

    def _swap(self, f: Function, items: str, i: Value, j: Value) -> None:
        x, y = self._read(f, items, i), self._read(f, items, j)
        self._write(f, items, i, y)
        self._write(f, items, j, x)

    def _key(self, f: Function, x: str) -> str:
        return f.emit(f"lshr {self.kind} {x}, {self.half}")

    def _less(self, f: Function, x: str, y: str) -> str:
        return f.emit(f"icmp ult {self.kind} {self._key(f, x)}, {self._key(f, y)}")

    def _not_less(self, f: Function, x: str, y: str) -> str:
        return f.emit(f"icmp uge {self.kind} {self._key(f, x)}, {self._key(f, y)}")

    # --- heaps ----------------------------------------------------------------------------------------------

    def _define_sift(self) -> Function:
        """``sift(items, hole, count, item)``: down to a leaf along the larger child, then up to its place."""
        with self.module.helper("sift", [("ptr", "%items"), ("i64", "%hole"), ("i64", "%count"),
                                         (self.kind, "%item")]) as f:
            at = f.variable("i64", "%hole")
            with f.forever() as leave:
                hole = at.get()
                child = f.add(f.mul(hole, 2), 2)
                leave(f.compare("sge", child, "%count"))
                left = f.sub(child, 1)
                x, y = self._read(f, "%items", child), self._read(f, "%items", left)
                smaller = self._less(f, x, y)
                self._write(f, "%items", hole, f.choose(smaller, self.kind, y, x))
                at.set(f.choose(smaller, "i64", left, child))
            hole = at.get()
            left = f.add(f.mul(hole, 2), 1)
            with f.when(f.compare("eq", f.add(left, 1), "%count")):
                self._write(f, "%items", hole, self._read(f, "%items", left))
                at.set(left)
            with f.forever() as leave:
                hole = at.get()
                leave(f.compare("sle", hole, "%hole"))
                parent = f.div(f.sub(hole, 1), 2)
                x = self._read(f, "%items", parent)
                leave(self._not_less(f, x, "%item"))
                self._write(f, "%items", hole, x)
                at.set(parent)
            self._write(f, "%items", at.get(), "%item")
        return f

    def _define_heap(self) -> Function:
        """``heap(items, wanted, count)``: the smallest ones first, as a heap."""
        with self._helper("heap", "wanted", "count") as f:
            half = f.div("%wanted", 2)
            with f.loop(0, half) as t:
                hole = f.sub(f.sub(half, 1), t)
                f.run(self.sift, "%items", hole, "%wanted", self._read(f, "%items", hole))
            with f.loop("%wanted", "%count") as i:
                x, top = self._read(f, "%items", i), self._read(f, "%items", 0)
                with f.when(self._less(f, x, top)):
                    self._write(f, "%items", i, top)
                    f.run(self.sift, "%items", 0, "%wanted", x)
        return f

    def _define_drain(self) -> Function:
        """``drain(items, count)``: a heap put in order."""
        with self._helper("drain", "count") as f, f.loop(1, "%count") as t:
            last = f.sub("%count", t)
            x = self._read(f, "%items", last)
            self._write(f, "%items", last, self._read(f, "%items", 0))
            f.run(self.sift, "%items", 0, last, x)
        return f

    # --- parts ----------------------------------------------------------------------------------------------

    def _define_split(self) -> Function:
        """``split(items, count)``: where the upper part begins, after a partition at a median of three."""
        with self._helper("split", "count", result="i64") as f:
            self._bring_median(f)
            pivot = self._read(f, "%items", 0)
            i, j = f.variable("i64", 1), f.variable("i64", "%count")
            self._swap_blocks(f, pivot, i, j)
            with f.forever() as leave:
                self._approach(f, pivot, i, j)
                leave(f.compare("sge", i.get(), j.get()))
                self._swap(f, "%items", i.get(), j.get())
                i.set(f.add(i.get(), 1))
            f.give(i.get())
        return f

    def _approach(self, f: Function, pivot: str, i: Variable, j: Variable) -> None:
        """i goes up to what is not smaller, j, first by one, down to what is not larger."""
        with f.forever() as found:
            found(self._not_less(f, self._read(f, "%items", i.get()), pivot))
            i.set(f.add(i.get(), 1))
        j.set(f.sub(j.get(), 1))
        with f.forever() as found:
            found(self._not_less(f, pivot, self._read(f, "%items", j.get())))
            j.set(f.sub(j.get(), 1))

    def _swap_blocks(self, f: Function, pivot: str, i: Variable, j: Variable) -> None:
        """The same swaps for blocks from both ends, without a branch for each item (Edelkamp and Weiss,
        *BlockQuicksort*, 2016)."""
        low, high = _Block(f, i), _Block(f, j)
        with f.forever() as leave:
            leave(f.compare("slt", f.sub(j.get(), i.get()), 2 * BLOCK))
            with f.when(f.compare("eq", low.count.get(), 0)):
                low.fill(lambda t: self._not_less(f, self._read(f, "%items", f.add(i.get(), t)), pivot))
            with f.when(f.compare("eq", high.count.get(), 0)):
                high.fill(lambda t: self._not_less(
                    f, pivot, self._read(f, "%items", f.sub(f.sub(j.get(), 1), t))))
            both = f.least(low.count.get(), high.count.get())
            with f.loop(0, both) as k:
                self._swap(f, "%items", f.add(i.get(), low.stop(k)), f.sub(f.sub(j.get(), 1), high.stop(k)))
            low.drop(both, BLOCK)
            high.drop(both, -BLOCK)
        with f.when(f.compare("ne", low.count.get(), 0)):
            i.set(f.add(i.get(), low.stop(0)))
        with f.when(f.compare("ne", high.count.get(), 0)):
            j.set(f.sub(j.get(), high.stop(0)))

    def _bring_median(self, f: Function) -> None:
        """Swap the first item with the middle one of the second, the middle and the last."""
        middle, last = f.div("%count", 2), f.sub("%count", 1)
        a, b, c = (self._read(f, "%items", i) for i in (1, middle, last))
        rising = f.choose(self._less(f, b, c), "i64", middle,
                          f.choose(self._less(f, a, c), "i64", last, 1))
        falling = f.choose(self._less(f, a, c), "i64", 1,
                           f.choose(self._less(f, b, c), "i64", last, middle))
        self._swap(f, "%items", 0, f.choose(self._less(f, a, b), "i64", rising, falling))

    def _define_insert(self) -> Function:
        """``insertion(items, count)``: equal items keep their order."""
        with self._helper("insertion", "count") as f, f.loop(1, "%count") as i:
            x, at = self._read(f, "%items", i), f.variable("i64", i)
            with f.forever() as leave:
                leave(f.compare("sle", at.get(), 0))
                before = f.sub(at.get(), 1)
                y = self._read(f, "%items", before)
                leave(self._not_less(f, x, y))
                self._write(f, "%items", at.get(), y)
                at.set(before)
            self._write(f, "%items", at.get(), x)
        return f

    def _define_few(self) -> Function:
        """``few(items, count)``: insertion's order of at most SHORT items, each to its rank."""
        if self.half != 32:
            return self.insert
        kind, keys = f"<{SHORT} x {self.kind}>", f"<{SHORT} x i32>"
        with self._helper("few", "count") as f:
            mask = f.first_lanes("%count", SHORT)
            held = f.read_masked(kind, "%items", mask, 8, f.splat(-1, SHORT, self.kind))
            high = f.emit(f"lshr {kind} {held}, {f.splat(32, SHORT, self.kind)}")
            key = f.emit(f"trunc {kind} {high} to {keys}")
            rank = f.splat(0, SHORT, "i32")
            for i in range(SHORT):
                own = f.splat(f.emit(f"extractelement {keys} {key}, i32 {i}"), SHORT, "i32")
                smaller, equal = (f.emit(f"icmp {order} {keys} {own}, {key}") for order in ("ult", "eq"))
                behind = "<" + ", ".join([f"i1 {int(lane > i)}" for lane in range(SHORT)]) + ">"
                equal = f.emit(f"and <{SHORT} x i1> {equal}, {behind}")
                before = f.emit(f"or <{SHORT} x i1> {smaller}, {equal}")
                rank = f.emit(f"add {keys} {rank}, {f.emit(f'zext <{SHORT} x i1> {before} to {keys}')}")
            places = f.emit(f"getelementptr {self.kind}, ptr %items, {keys} {rank}")
            f.scatter(kind, held, places, mask, 8)
        return f

    def _define_parts(self) -> Function:
        """``parts(items, count, depth)``: parts of SHORT items are left to insertion."""
        with self._helper("parts", "count", "depth") as f:
            count, depth = f.variable("i64", "%count"), f.variable("i64", "%depth")
            with f.forever() as leave:
                leave(f.compare("sle", count.get(), SHORT))
                with f.when(f.compare("eq", depth.get(), 0)):
                    f.run(self.heap, "%items", count.get(), count.get())
                    f.run(self.drain, "%items", count.get())
                    count.set(0)
                leave(f.compare("eq", count.get(), 0))
                depth.set(f.sub(depth.get(), 1))
                cut = f.run(self.split, "%items", count.get()) or ""
                f.run(f, f.at("%items", cut, self.kind), f.sub(count.get(), cut), depth.get())
                count.set(cut)
            f.run(self.few, "%items", count.get())
        return f

    def _define_sort(self, parts: Function) -> Function:
        with self._helper("introsort", "count") as f:
            f.run(parts, "%items", "%count", _depth(f, "%count"))
        return f

    def _define_select(self) -> Function:
        """``select(items, target, count)``: what belongs to a position, smaller ones before it."""
        with self._helper("select", "target", "count") as f:
            first, last = f.variable("i64", 0), f.variable("i64", "%count")
            depth = f.variable("i64", _depth(f, "%count"))
            with f.forever() as leave:
                count = f.sub(last.get(), first.get())
                leave(f.compare("sle", count, 3))
                with f.when(f.compare("eq", depth.get(), 0)):
                    wanted = f.sub(f.add("%target", 1), first.get())
                    f.run(self.heap, f.at("%items", first.get(), self.kind), wanted, count)
                    self._swap(f, "%items", first.get(), "%target")
                    last.set(first.get())
                leave(f.compare("eq", last.get(), first.get()))
                depth.set(f.sub(depth.get(), 1))
                self._narrow(f, first, last, count)
            f.run(self.insert, f.at("%items", first.get(), self.kind), f.sub(last.get(), first.get()))
        return f

    def _narrow(self, f: Function, first: Variable, last: Variable, count: str) -> None:
        """Go on with the part that has the target."""
        cut = f.add(first.get(), f.run(self.split, f.at("%items", first.get(), self.kind), count) or "")
        upper = f.compare("sle", cut, "%target")
        last.set(f.choose(upper, "i64", last.get(), cut))
        first.set(f.choose(upper, "i64", cut, first.get()))

    def define_pick(self) -> Function:
        """``pick(items, target, count)``: Hoare's selection of what belongs to a position."""
        with self._helper("pick", "target", "count") as f:
            low, high = f.variable("i64", 0), f.variable("i64", f.sub("%count", 1))
            with f.forever() as leave:
                leave(f.compare("sle", high.get(), low.get()))
                two = f.compare("eq", high.get(), f.add(low.get(), 1))
                with f.when(two):
                    self._swap_if(f, low.get(), high.get())
                leave(two)
                first, last = low.get(), high.get()
                second = f.add(first, 1)
                self._swap(f, "%items", f.div(f.add(first, last), 2), second)
                for a, b in ((second, last), (first, last), (second, first)):
                    self._swap_if(f, a, b)
                i, j = self._cross(f, self._read(f, "%items", first), f.add(second, 1), last)
                self._swap(f, "%items", first, j)
                low.set(f.choose(f.compare("sle", j, "%target"), "i64", i, first))
                high.set(f.choose(f.compare("sge", j, "%target"), "i64", f.sub(j, 1), last))
        return f

    def _cross(self, f: Function, pivot: str, first: str, last: str) -> tuple[str, str]:
        """Partition [first, last); where i and j are after they met, also at one item."""
        i, j = f.variable("i64"), f.variable("i64")
        i.set(first)
        j.set(last)
        self._swap_blocks(f, pivot, i, j)
        with f.forever() as leave:
            self._approach(f, pivot, i, j)
            leave(f.compare("slt", j.get(), i.get()))
            self._swap(f, "%items", i.get(), j.get())
            i.set(f.add(i.get(), 1))
        return i.get(), j.get()

    def _swap_if(self, f: Function, i: str, j: str) -> None:
        """Swap where the first is larger."""
        with f.when(self._less(f, self._read(f, "%items", j), self._read(f, "%items", i))):
            self._swap(f, "%items", i, j)

    def define_top(self, in_order: bool) -> Function:
        """``top(items, wanted, count)``: the smallest ones first, as introselect finds them."""
        with self._helper("top", "wanted", "count") as f:
            rest = f.sub("%wanted", 1)
            f.run(self.select, "%items", rest, "%count")
            if in_order:
                f.run(self.sort, "%items", rest)
        return f

    def offer(self, f: Function, items: str, wanted: str, i: str, key: str) -> None:
        """Item i takes the place of the last one of a heap if it comes before that."""
        top = f.emit(f"trunc {self.kind} {self._key(f, self._read(f, items, 0))} to i{self.half}")
        with f.when(f.emit(f"icmp ult i{self.half} {key}, {top}")):
            f.run(self.sift, items, 0, wanted, self._item(f, i, key))

    @contextmanager
    def _helper(self, name: str, *counts: str, result: str = "void") -> Iterator[Function]:
        """A function of items and numbers."""
        parameters = [("ptr", "%items"), *[("i64", f"%{count}") for count in counts]]
        with self.module.helper(name, parameters, result) as f:
            f.attributes = "noinline #0"
            yield f


class _Block:
    """Where in a block, seen from its end of a part, items have to be swapped."""

    def __init__(self, f: Function, edge: Variable) -> None:
        self.f, self.edge = f, edge
        self.stops = f.variable(f"[{BLOCK} x i8]").slot
        self.count, self.first = f.variable("i64", 0), f.variable("i64", 0)

    def fill(self, stops: Callable[[str], str]) -> None:
        f = self.f
        self.first.set(0)
        with f.loop(0, BLOCK) as t:
            f.write("i8", f.emit(f"trunc i64 {t} to i8"), f.at(self.stops, self.count.get(), "i8"), 1)
            self.count.set(f.add(self.count.get(), f.emit(f"zext i1 {stops(t)} to i64")))

    def stop(self, k: Value) -> str:
        f = self.f
        x = f.read("i8", f.at(self.stops, f.add(self.first.get(), k), "i8"), 1)
        return f.emit(f"zext i8 {x} to i64")

    def drop(self, count: str, step: int) -> None:
        """Some are swapped; after the last one comes the next block."""
        f = self.f
        self.count.set(f.sub(self.count.get(), count))
        self.first.set(f.add(self.first.get(), count))
        with f.when(f.compare("eq", self.count.get(), 0)):
            self.edge.set(f.add(self.edge.get(), step))


def _depth(f: Function, count: str) -> str:
    """How often parts are split before a heap takes over: twice the logarithm."""
    zeros = f.call("llvm.ctlz.i64", "i64", ["i64", "i1"], [f.emit(f"or i64 {count}, 1"), "false"], (1,))
    return f.mul(f.sub(63, zeros), 2)
