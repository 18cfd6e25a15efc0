"""The native function that reads what is done to each sample of a batch (Note: chains, `samples/chains.py`).

It goes through the operators that wait for each sample, and writes down two rows of 64-bit words. The first
says what is done: which operators, and in which way values are read, by the addresses of signatures and
families. The second has four words for each value that is read: where it begins in memory and how many
elements it has, the offset at which it is read, and which dimensions backwards, a bit each; of a Python
number its address. Samples with the same first row are a group; it notes which of a group's values are the
same for all.
"""

from __future__ import annotations

import ctypes
from functools import cache
from operator import index
from typing import Any

import numpy as np

from ....graph.geometry import Geometry
from ....graph.node import Node, Signature
from ..llvm.build import Function, Module
from ..llvm.compiling.code import kernels
from ..llvm.compiling.effort import Effort
from ..programs.runtime.objects import DATA_AT, DTYPE_AT, ITEMS_AT, SIZE_AT, TUPLE_AT, TYPE_AT, address_of
from .samples import (
    APPEND,
    ARRAY_TYPE,
    AS_INTEGER,
    GEOMETRY,
    LIST_TYPE,
    MEMORY_OF,
    NODE_TYPE,
    NONE,
    SAMPLE_WORDS,
    SampleCode,
    Samples,
    is_alike,
    source_of_tensor,
)

TOKENS, SLOTS, GROUPS = 128, 24, 16     # at most: in a row, values, groups
SLOT_WORDS, GROUP_WORDS = 4, 3          # of a group: its first sample, how many, which values differ
_ROOM = TOKENS - 8      # what is written before it is asked again whether there is room
AGAIN, LEAF, VIEW, OPERATOR, NUMBER = range(1, 6)

# Words of the memory, and what the table of Python's has.
(FLIP, COUNT, TENSORS, OBJECTS, TOKEN_ROWS, SLOT_ROWS, KINDS, STARTS, GROUP_ROWS,
 TOKEN, SLOT, LEAVES, OPERATORS, FOUND, TOKENS_HERE, SLOTS_HERE) = range(SAMPLE_WORDS, SAMPLE_WORDS + 16)
SEEN = SAMPLE_WORDS + 16
SEEN_WORDS = 3
_MEMORY = SEEN + SEEN_WORDS * SLOTS + TOKENS


class _Code(SampleCode):
    def increase(self, k: int, by: int = 1) -> str:
        """What a word was before it became larger."""
        before = self.word(k)
        self.set_word(k, self.f.add(before, by))
        return before

    def set_word(self, k: int, x: str | int) -> None:
        self.f.write("i64", x, self.f.at(self.memory, 8 * k, "i8"), 8)

    def number(self, x: str) -> str:
        return self.f.emit(f"ptrtoint ptr {x} to i64")

    def tokens(self, *words: str | int) -> None:
        """Write words to the row of tokens."""
        first = self.f.at(self.word(TOKENS_HERE, "ptr"), self.increase(TOKEN, len(words)), "i64")
        for k, x in enumerate(words):
            self.f.write("i64", x, self.f.at(first, k, "i64"), 8)

    def signature(self, x: str) -> str:
        return self.item(x, 0)

    def output(self, signature: str) -> str:
        return self.get(self.slot(signature, Signature, "outputs"), TUPLE_AT)

    def new_slot(self, *words: str) -> None:
        """Write down a value that is read."""
        first = self.f.at(self.word(SLOTS_HERE, "ptr"), self.f.mul(self.increase(SLOT), SLOT_WORDS), "i64")
        for k, x in enumerate(words):
            self.f.write("i64", x, self.f.at(first, k, "i64"), 8)

    def keep(self, x: str) -> None:
        self.f.effect(f"{self.f.name()} = call i32 {self.object(APPEND)}(ptr {self.word(OBJECTS, 'ptr')}, "
                      f"ptr {x})")

    def is_full(self) -> str:
        f = self.f
        return f.emit(f"or i1 {f.compare('sgt', self.word(TOKEN), _ROOM)}, "
                      f"{f.compare('sge', self.word(SLOT), SLOTS)}")

    def seen(self, first: int, k: str, width: int) -> str:
        return self.f.at(self.f.at(self.memory, first, "i64"), self.f.mul(k, width), "i64")


def _flipped(module: Module) -> Function:
    """The dimensions (a tuple) that a value is read backwards in, if it is a flip and read as a whole."""
    with module.helper("flipped", [MEMORY_OF, ("ptr", "%source"), ("ptr", "%geometry")], "ptr") as f:
        c = _Code(f)
        c.give_unless(c.is_kind("%source", LIST_TYPE), "null")
        signature = c.signature("%source")
        c.give_if(c.same(signature, c.object(NONE)), "null")
        c.give_unless(c.same(c.slot(signature, Signature, "operator"), c.word(FLIP, "ptr")), "null")
        c.give_unless(c.same(c.output(signature), "%geometry"), "null")
        f.give(c.get(c.slot(signature, Signature, "attributes"), TUPLE_AT))
    return f


def _bits(module: Module) -> Function:
    """A bit for each of some dimensions."""
    with module.helper("bits", [MEMORY_OF, ("ptr", "%dims")], "i64") as f:
        c = _Code(f)
        found = f.variable("i64", 0)
        with f.loop(0, c.get("%dims", SIZE_AT, "i64")) as k:
            d = c.call(AS_INTEGER, f"ptr {f.read('ptr', f.at(f.at('%dims', TUPLE_AT, 'i8'), k, 'ptr'), 8)}",
                       "i64")
            found.set(f.emit(f"xor i64 {found.get()}, {f.emit(f'shl i64 1, {d}')}"))
        f.give(found.get())
    return f


def _leaf(module: Module) -> Function:
    """Write down that the value of a node, or an array itself, is read; 0 where it is no dense array."""
    with module.helper("leaf", [MEMORY_OF, ("ptr", "%owner"), ("ptr", "%value"), ("ptr", "%geometry"),
                                ("i64", "%flips")], "i64") as f:
        c = _Code(f)
        with f.loop(0, c.word(LEAVES)) as k:
            before = c.seen(SEEN, k, SEEN_WORDS)
            same = c.same(c.get(before, 0), "%owner")
            same = f.emit(f"and i1 {same}, {c.same(c.get(before, 8), '%geometry')}")
            with f.when(f.emit(f"and i1 {same}, {c.equal(c.get(before, 16, 'i64'), '%flips')}")):
                c.tokens(AGAIN, k)
                f.give(1)
        own = c.seen(SEEN, c.increase(LEAVES), SEEN_WORDS)
        for n, (kind, x) in enumerate((("ptr", "%owner"), ("ptr", "%geometry"), ("i64", "%flips"))):
            f.write(kind, x, f.at(own, n, "i64"), 8)
        c.require_array("%value")
        c.tokens(LEAF, c.number(c.slot("%geometry", Geometry, "family")),
                 c.number(c.get("%value", DTYPE_AT)))
        offset = c.offset("%geometry")
        c.new_slot(c.get("%value", DATA_AT, "i64"), c.elements("%value"), offset, "%flips")
        c.keep("%value")
        f.give(1)
    return f


def _walk(module: Module) -> Function:
    """Write down how a value is made that is read by a geometry; 0 where that is too long."""
    flipped, bits, leaf = _flipped(module), _bits(module), _leaf(module)
    arguments = [MEMORY_OF, ("ptr", "%source"), ("ptr", "%geometry")]
    entry = Function("walk", arguments, "i64", True)
    operator = _operator(module, entry)
    f = entry
    module.functions.append(f)
    c = _Code(f)
    c.give_if(c.is_full())
    flips, source, geometry = f.variable("i64", 0), f.variable("ptr", "%source"), f.variable(
        "ptr", "%geometry")
    with f.forever() as leave:
        dims = str(f.run(flipped, "%memory", source.get(), geometry.get()))
        leave(c.same(dims, "null"))
        flips.set(f.emit(f"xor i64 {flips.get()}, {f.run(bits, '%memory', dims)}"))
        now = source.get()
        geometry.set(c.item(now, 2))
        source.set(c.item(now, 1))
    x = source.get()
    with f.when(c.is_kind(x, NODE_TYPE)):
        f.give(str(f.run(leaf, "%memory", x, c.slot(x, Node, "value"), geometry.get(), flips.get())))
    with f.when(c.is_kind(x, ARRAY_TYPE)):
        f.give(str(f.run(leaf, "%memory", x, x, geometry.get(), flips.get())))
    c.give_unless(c.is_kind(x, LIST_TYPE))
    signature = c.signature(x)
    with f.when(c.same(signature, c.object(NONE))):     # it has a value meanwhile
        node = c.item(x, 1)
        f.give(str(f.run(leaf, "%memory", node, c.slot(node, Node, "value"), geometry.get(), flips.get())))
    is_flip = c.same(c.slot(signature, Signature, "operator"), c.word(FLIP, "ptr"))
    output = c.output(signature)
    whole = f.emit(f"and i1 {c.same(output, geometry.get())}, {c.equal(flips.get(), 0)}")
    with f.otherwise(whole):
        c.tokens(VIEW, c.number(c.slot(geometry.get(), Geometry, "family")))
        offset = c.offset(geometry.get())
        c.new_slot("0", "0", offset, flips.get())
        c.keep(c.object(NONE))
        with f.when(is_flip):
            f.give(str(f.run(entry, "%memory", x, output)))
    f.give(str(f.run(operator, "%memory", x)))
    return entry


def _operator(module: Module, entry: Function) -> Function:
    """Write down an operator that waits, and its operands."""
    with module.helper("operator", [MEMORY_OF, ("ptr", "%source")], "i64") as f:
        c = _Code(f)
        first = SEEN + SEEN_WORDS * SLOTS
        with f.loop(0, c.word(OPERATORS)) as k:
            with f.when(c.same(c.get(c.seen(first, k, 1), 0), "%source")):
                c.tokens(AGAIN, f.sub(-1, k))
                f.give(1)
        f.write("ptr", "%source", c.seen(first, c.increase(OPERATORS), 1), 8)
        c.tokens(OPERATOR, c.number(c.slot(c.signature("%source"), Signature, "alike")))
        items = c.get("%source", ITEMS_AT)
        with f.loop(1, c.get("%source", SIZE_AT, "i64"), 2) as k:
            operand = f.read("ptr", f.at(items, k, "ptr"), 8)
            geometry = f.read("ptr", f.at(items, f.add(k, 1), "ptr"), 8)
            is_number = c.same(geometry, c.object(NONE))
            with f.when(is_number):
                c.give_if(c.is_full())
                c.tokens(NUMBER, c.number(c.get(operand, TYPE_AT)))
                c.new_slot(c.number(operand), "0", "0", "0")
                c.keep(operand)
            with f.otherwise(is_number):
                c.give_if(c.equal(str(f.run(entry, "%memory", operand, geometry)), 0))
        f.give(1)
    return f


def _put(module: Module) -> Function:
    """Put a sample into its group: the number of it, or -1 if there are too many."""
    with module.helper("put", [MEMORY_OF, ("i64", "%sample")], "i64") as f:
        c = _Code(f)
        length, own, values = c.word(TOKEN), c.word(TOKENS_HERE, "ptr"), c.word(SLOTS_HERE, "ptr")
        f.write("i64", length, own, 8)
        with f.loop(0, c.word(FOUND)) as k:
            group = f.at(c.word(GROUP_ROWS, "ptr"), f.mul(k, GROUP_WORDS), "i64")
            first = c.get(group, 0, "i64")
            other = f.at(c.word(TOKEN_ROWS, "ptr"), f.mul(first, TOKENS), "i64")
            same = f.variable("i64", 1)
            with f.when(c.equal(c.get(other, 0, "i64"), length)):
                with f.loop(1, length) as i:
                    differs = f.compare("ne", f.read("i64", f.at(own, i, "i64"), 8),
                                        f.read("i64", f.at(other, i, "i64"), 8))
                    same.set(f.choose(differs, "i64", 0, same.get()))
                with f.when(c.equal(same.get(), 1)):
                    f.write("i64", f.add(c.get(group, 8, "i64"), 1), f.at(group, 1, "i64"), 8)
                    theirs = f.at(c.word(SLOT_ROWS, "ptr"), f.mul(first, SLOTS * SLOT_WORDS), "i64")
                    with f.loop(0, f.mul(c.word(SLOT), SLOT_WORDS)) as i:
                        differs = f.compare("ne", f.read("i64", f.at(values, i, "i64"), 8),
                                            f.read("i64", f.at(theirs, i, "i64"), 8))
                        bit = f.emit(f"shl i64 {f.emit(f'zext i1 {differs} to i64')}, "
                                     f"{f.div(i, SLOT_WORDS)}")
                        f.write("i64", f.emit(f"or i64 {c.get(group, 16, 'i64')}, {bit}"),
                                f.at(group, 2, "i64"), 8)
                    f.give(k)
        c.give_if(f.compare("sge", c.word(FOUND), GROUPS), -1)
        number = c.increase(FOUND)
        group = f.at(c.word(GROUP_ROWS, "ptr"), f.mul(number, GROUP_WORDS), "i64")
        for n, x in enumerate(("%sample", "1", "0")):
            f.write("i64", x, f.at(group, n, "i64"), 8)
        f.give(number)
    return f


@kernels("chains", Effort.FEW)
def entries() -> str:
    """``chains(memory)``: 0, or 1 where samples have too little in common."""
    module = Module()
    walk, put, source_of, alike = _walk(module), _put(module), source_of_tensor(module), is_alike(module)
    with module.function("chains", [MEMORY_OF], "i64") as f:
        c = _Code(f)
        tensors = c.get(c.word(TENSORS, "ptr"), ITEMS_AT)
        first = c.tensor_slot(c.get(tensors, 0), GEOMETRY)
        with f.loop(0, c.word(COUNT)) as i:
            for k in (SLOT, LEAVES, OPERATORS):
                c.set_word(k, 0)
            c.set_word(TOKEN, 1)
            for here, rows, width in ((TOKENS_HERE, TOKEN_ROWS, TOKENS),
                                      (SLOTS_HERE, SLOT_ROWS, SLOTS * SLOT_WORDS)):
                c.set_word(here, c.number(f.at(c.word(rows, "ptr"), f.mul(i, width), "i64")))
            f.write("i64", c.get(c.word(OBJECTS, "ptr"), SIZE_AT, "i64"),
                    f.at(c.word(STARTS, "ptr"), i, "i64"), 8)
            x = f.read("ptr", f.at(tensors, i, "ptr"), 8)
            source = str(f.run(source_of, "%memory", x))
            c.give_if(c.same(source, "null"), 1)
            geometry = c.tensor_slot(x, GEOMETRY)
            c.give_unless(c.equal(str(f.run(alike, "%memory", geometry, first)), 1), 1)
            c.give_if(c.equal(str(f.run(walk, "%memory", source, geometry)), 0), 1)
            group = str(f.run(put, "%memory", i))
            c.give_if(f.compare("slt", group, 0), 1)
            f.write("i64", group, f.at(c.word(KINDS, "ptr"), i, "i64"), 8)
        f.give(0)
    return module.text()


class Chains:
    """What was read of the samples of a batch: it is overwritten when the next ones are read."""

    def __init__(self, samples: Samples) -> None:
        self._call = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(index(entries()["chains"]))
        self._memory = np.zeros(_MEMORY, np.int64)
        self._memory[:SAMPLE_WORDS] = samples.memory
        self._address = address_of(self._memory)
        self._make_room(64)

    def _make_room(self, count: int) -> None:
        self._room = count
        self.tokens = np.zeros((count, TOKENS), np.int64)
        self.slots = np.zeros((count, SLOTS, SLOT_WORDS), np.int64)
        self.kinds, self.starts = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.groups = np.zeros((GROUPS, GROUP_WORDS), np.int64)
        self._memory[TOKEN_ROWS:GROUP_ROWS + 1] = [
            address_of(x) for x in (self.tokens, self.slots, self.kinds, self.starts, self.groups)]

    def read(self, tensors: list[Any], flip: Any) -> list[Any] | None:
        """All arrays and numbers, sample after sample; None where there are too many, or too many groups, or
        other samples among them.
        """
        count = len(tensors)
        if count > self._room:
            self._make_room(count)
        found: list[Any] = []
        self._memory[FLIP:OBJECTS + 1] = id(flip), count, id(tensors), id(found)
        self._memory[FOUND] = 0
        return None if self._call(self._address) else found

    def found(self) -> list[list[int]]:
        """The groups: the first sample of each, how many it has, which values differ."""
        rows: list[list[int]] = self.groups[:self._memory[FOUND]].tolist()
        return rows


@cache
def chains(samples: Samples) -> Chains:
    """What reads the samples of a batch; under the lock of what is pending."""
    return Chains(samples)
