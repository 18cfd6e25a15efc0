"""Whether what is pending is the graph of a glance: native code that compares Python's objects."""

from __future__ import annotations

from ...llvm.build import Function, Module
from ..runtime.new_arrays import ARRAY_TYPE
from ..runtime.objects import (
    BYTES_AT,
    DTYPE_AT,
    FLAGS_AT,
    ITEMS_AT,
    REFERENCES_AT,
    SIZE_AT,
    TUPLE_AT,
    TYPE_AT,
)
from .words import (
    AGAIN,
    FIRST,
    MIXER,
    NODE_TYPE,
    NODES,
    NONE,
    NUMPY,
    OPERANDS_AT,
    OWNED,
    ROOM,
    SET,
    SIGNATURE_AT,
    STARTS,
    VALUE_AT,
    GlanceCode,
    settled,
)


def _shift_of(module: Module) -> Function:
    """How far the operand at the node and place that a row begins with is shifted; -1 if it may not be."""
    with module.helper("shift_of", [("ptr", "%glance"), ("ptr", "%row")], "i64") as f:
        c = GlanceCode(f, "%glance")
        i, place = c.get("%row", 0, "i64"), c.get("%row", 8, "i64")
        node = c.get(c.found(i), 0)
        signature = c.get(node, SIGNATURE_AT)
        starts, begin = c.word(STARTS, "ptr"), f.variable("ptr", "null")
        expected = c.same(signature, c.get(c.row(NODES, c.table(NODES)[0], i), 0))
        with f.when(expected):
            with f.when(c.same(starts, "null")):
                f.give(0)
            begin.set(c.get(f.at(starts, i, "ptr"), 0))
        with f.otherwise(expected):
            begin.set(f.at(c.get(settled(c, signature), TUPLE_AT + 8), BYTES_AT, "i8"))
        words = f.at(begin.get(), f.mul(f.sub(place, TUPLE_AT), 2), "i8")
        shift = c.get(words, 0, "i64")
        with f.when(c.equal(c.get(words, 8, "i64"), 0)):
            f.give(shift)
        value = c.get(c.get(c.get(node, OPERANDS_AT), place), VALUE_AT)
        with f.when(c.same(c.get(value, TYPE_AT), c.get(c.object(NUMPY), 8 * ARRAY_TYPE))):
            in_order = f.emit(f"trunc i32 {c.get(value, FLAGS_AT, 'i32')} to i1")
            fits = c.same(c.get(value, DTYPE_AT), c.get(words, 8))
            with f.when(f.emit(f"and i1 {in_order}, {fits}")):
                f.give(shift)
        f.give(-1)
    return f


def _add(module: Module) -> Function:
    """Put a leaf into the set, by its address and shift; 0 if something like it is there already."""
    with module.helper("add", [("ptr", "%glance"), ("ptr", "%leaf")], "i64") as f:
        c = GlanceCode(f, "%glance")
        last = f.sub(c.word(ROOM), 1)
        mixed = f.emit(f"mul i64 {f.emit('ptrtoint ptr %leaf to i64')}, {MIXER}")
        at = f.variable("i64", f.emit(f"and i64 {f.emit(f'lshr i64 {mixed}, 32')}, {last}"))
        with f.forever():
            place = f.at(c.word(SET, "ptr"), at.get(), "ptr")
            there = f.read("ptr", place, 8)
            with f.when(c.same(there, "null")):
                f.write("ptr", "%leaf", place, 8)
                f.give(1)
            c.refuse_unless(f.emit(f"icmp ne ptr {there}, %leaf"))
            at.set(f.emit(f"and i64 {f.add(at.get(), 1)}, {last}"))
    return f


def is_the_graph(module: Module) -> Function:
    """Whether nodes are the graph: their signatures, who refers to them, what they read and may overwrite."""
    add, shift_of = _add(module), _shift_of(module)
    with module.helper("fits", [("ptr", "%glance"), ("ptr", "%live")], "i64") as f:
        c = GlanceCode(f, "%glance")
        table, count = c.table(NODES)
        c.refuse_unless(c.equal(c.get("%live", SIZE_AT, "i64"), count))
        _find_nodes(c, table, count)
        with f.loop(0, c.word(ROOM)) as i:
            f.write("ptr", "null", f.at(c.word(SET, "ptr"), i, "ptr"), 8)
        _find_leaves(c, count, add, shift_of)
        _check_further_operands(c, count, shift_of)
        _check_owners(c)
        f.give(1)
    return f


def _find_nodes(c: GlanceCode, table: str, count: str) -> None:
    """Of each node: its signature, who refers to it, how many operands it has, and that it has no value."""
    f = c.f
    items, none = c.get("%live", ITEMS_AT), c.object(NONE)
    with f.loop(0, count) as i:
        row, node = c.row(NODES, table, i), c.get(f.at(items, i, "ptr"), 0)
        signature = c.get(node, SIGNATURE_AT)
        with f.otherwise(c.same(signature, c.get(row, 0))):
            kept = settled(c, signature)
            c.refuse_unless(f.emit(f"icmp ne ptr {kept}, {none}"))
            c.refuse_unless(c.same(c.get(kept, TUPLE_AT), c.get(row, 0)))
        c.refuse_unless(c.equal(c.get(node, REFERENCES_AT, "i32"), c.get(row, 8, "i32"), "i32"))
        c.refuse_unless(c.equal(c.get(c.get(node, OPERANDS_AT), SIZE_AT, "i64"), c.get(row, 16, "i64")))
        c.refuse_unless(c.same(c.get(node, VALUE_AT), none))
        f.write("ptr", node, c.found(i), 8)


def _find_leaves(c: GlanceCode, count: str, add: Function, shift_of: Function) -> None:
    """Operands read for the first time: nodes with values, each another one, and how far they have moved."""
    f = c.f
    table, leaves = c.table(FIRST)
    kind, none = c.object(NODE_TYPE), c.object(NONE)
    with f.loop(0, leaves) as i:
        row = c.row(FIRST, table, i)
        leaf = c.operand(row)
        c.refuse_unless(c.same(c.get(leaf, TYPE_AT), kind))
        c.refuse_unless(f.emit(f"icmp ne ptr {c.get(leaf, VALUE_AT)}, {none}"))
        shift = str(f.run(shift_of, "%glance", row))
        c.refuse_unless(f.compare("sge", shift, 0))
        c.refuse_unless(c.equal(str(f.run(add, "%glance", f.at(leaf, shift, "i8"))), 1))
        f.write("ptr", leaf, c.found(f.add(count, i)), 8)
        f.write("i64", shift, c.shift(i), 8)


def _check_further_operands(c: GlanceCode, count: str, shift_of: Function) -> None:
    """The other operands are nodes that were found, leaves as far on as before."""
    f = c.f
    table, places = c.table(AGAIN)
    with f.loop(0, places) as i:
        row = c.row(AGAIN, table, i)
        k = c.get(row, 16, "i64")
        c.refuse_unless(c.same(c.operand(row), c.get(c.found(k), 0)))
        expected = f.variable("i64", 0)
        with f.when(f.compare("sge", k, count)):
            expected.set(c.get(c.shift(f.sub(k, count)), 0, "i64"))
        c.refuse_unless(c.equal(str(f.run(shift_of, "%glance", row)), expected.get()))


def _check_owners(c: GlanceCode) -> None:
    """Leaves whose arrays the program writes have not moved, and nobody else sees them."""
    f = c.f
    table, owned = c.table(OWNED)
    with f.loop(0, owned) as i:
        row = c.row(OWNED, table, i)
        leaf = c.leaf(c.get(row, 0, "i64"))
        c.refuse_unless(c.equal(c.get(c.shift(c.get(row, 0, "i64")), 0, "i64"), 0))
        c.refuse_unless(c.equal(c.get(leaf, REFERENCES_AT, "i32"), c.get(row, 8, "i32"), "i32"))
        c.refuse_unless(c.equal(c.get(c.get(leaf, VALUE_AT), REFERENCES_AT, "i32"), 1, "i32"))
