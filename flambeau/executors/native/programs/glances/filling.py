"""What is put into memory before a graph runs that is known: numbers, and a list of arrays."""

from __future__ import annotations

from ...llvm.build import Function, Module
from ...llvm.emitter import BFLOAT16, FLOAT16
from ..runtime.new_arrays import ARRAY_TYPE, ELEMENTS, Memory, new_array, new_part
from ..runtime.new_arrays import TYPE as ELEMENT_TYPE
from ..runtime.objects import (
    BASE_AT,
    DIMENSIONS_AT,
    DTYPE_AT,
    EXTENTS_AT,
    FLAGS_AT,
    ITEMS_AT,
    REFERENCES_AT,
    TYPE_AT,
    WRITEABLE,
)
from .words import (
    AS_DOUBLE,
    AS_INTEGER,
    BFLOAT,
    COUNT,
    DOUBLE,
    FLOAT,
    FORGET,
    FRESH,
    HALF,
    HOLD,
    INT8,
    INT16,
    INT32,
    INTEGER,
    LEAVES,
    NUMBERS,
    NUMPY,
    OCCURRED,
    OWNED,
    REUSED,
    UINT8,
    VALUE_AT,
    GlanceCode,
)

_NARROW = {INT32: (32, "sext"), INT16: (16, "sext"), INT8: (8, "sext"), UINT8: (8, "zext")}


def write_numbers(module: Module) -> Function:
    """Write Python numbers into the kernels' words; 0 if one has no place there."""
    with module.helper("write_numbers", [("ptr", "%glance")], "i64") as f:
        c = GlanceCode(f, "%glance")
        table, count = c.table(NUMBERS)
        with f.loop(0, count) as i:
            row = c.row(NUMBERS, table, i)
            number, kind, word = c.operand(row), c.get(row, 16, "i64"), c.get(row, 24)
            whole = f.compare("sge", kind, INTEGER)
            with f.when(whole):
                _write_integer(f, c, c.call(AS_INTEGER, f"ptr {number}", "i64"), kind, word)
            with f.otherwise(whole):
                _write_real(f, c, c.call(AS_DOUBLE, f"ptr {number}", "double"), kind, word)
        with f.when(f.compare("sgt", count, 0)):
            with f.otherwise(f.emit(f"icmp eq ptr {c.call(OCCURRED, '')}, null")):
                f.effect(f"call void {c.object(FORGET)}()")
                f.give(0)
        f.give(1)
    return f


def _write_real(f: Function, c: GlanceCode, x: str, kind: str, word: str) -> None:
    """Write a number in a floating type, or give 0 where it would be rounded twice, and not as NumPy does."""
    single = f.emit(f"fptrunc double {x} to float")
    with f.when(c.equal(kind, FLOAT)):
        f.write("float", single, word, 4)
    with f.when(c.equal(kind, DOUBLE)):
        f.write("double", x, word, 8)
    with f.when(c.equal(kind, BFLOAT)):
        f.write("i16", f.narrow(single, BFLOAT16), word, 2)
    with f.when(c.equal(kind, HALF)):
        with f.otherwise(f.emit(f"fcmp oeq double {f.emit(f'fpext float {single} to double')}, {x}")):
            f.effect(f"call void {c.object(FORGET)}()")
            f.give(0)
        f.write("half", f.narrow(single, FLOAT16), word, 2)


def _write_integer(f: Function, c: GlanceCode, x: str, kind: str, word: str) -> None:
    """Write an integer in so many bits, or give 0 where it has more."""
    with f.when(c.equal(kind, INTEGER)):
        f.write("i64", x, word, 8)
    for narrow, (bits, extended) in _NARROW.items():
        with f.when(c.equal(kind, narrow)):
            held = f.emit(f"trunc i64 {x} to i{bits}")
            with f.otherwise(c.equal(f.emit(f"{extended} i{bits} {held} to i64"), x)):
                f.effect(f"call void {c.object(FORGET)}()")
                f.give(0)
            f.write(f"i{bits}", held, word, bits // 8)


def _reused(module: Module) -> Function:
    """The array of a leaf, if the result of a row may take it, or null."""
    with module.helper("reused", [("ptr", "%glance"), ("ptr", "%row")], "ptr") as f:
        c = GlanceCode(f, "%glance")

        def null_unless(condition: str) -> None:
            with f.otherwise(condition):
                f.give("null")

        k = c.get("%row", 16, "i64")
        leaf = c.leaf(k)
        null_unless(c.equal(c.get(c.shift(k), 0, "i64"), 0))
        null_unless(c.equal(c.get(leaf, REFERENCES_AT, "i32"), c.get("%row", 24, "i32"), "i32"))
        array = c.get(leaf, VALUE_AT)
        null_unless(c.equal(c.get(array, REFERENCES_AT, "i32"), 1, "i32"))
        table, _ = c.table(FRESH)
        fresh = c.row(FRESH, table, c.get("%row", 8, "i64"))
        null_unless(c.same(c.get(array, TYPE_AT), c.get(c.object(NUMPY), 8 * ARRAY_TYPE)))
        null_unless(c.equal(c.get(array, DIMENSIONS_AT, "i32"), 1, "i32"))
        null_unless(c.same(c.get(array, DTYPE_AT), c.get(fresh, 8 * ELEMENT_TYPE)))
        null_unless(c.equal(c.get(c.get(array, EXTENTS_AT), 0, "i64"), c.get(fresh, 8 * ELEMENTS, "i64")))
        null_unless(c.same(c.get(array, BASE_AT), "null"))
        flags = f.emit(f"and i32 {c.get(array, FLAGS_AT, 'i32')}, {WRITEABLE}")
        null_unless(f.emit(f"icmp ne i32 {flags}, 0"))
        f.give(array)
    return f


def fill_arrays(module: Module) -> Function:
    """Put the arrays that kernels read and write into a list; -1 on an error."""
    new, part, reused = new_array(module, Memory(module)), new_part(module), _reused(module)
    with module.helper("fill", [("ptr", "%glance"), ("ptr", "%values")], "i64") as f:
        c = GlanceCode(f, "%glance")
        items = c.get("%values", ITEMS_AT)
        table, rows = c.table(REUSED)
        with f.loop(0, rows) as i:  # first, as it looks at who refers to an array
            row = c.row(REUSED, table, i)
            place = f.at(items, c.get(row, 0, "i64"), "ptr")
            with f.when(c.same(c.get(place, 0), "null")):
                array = str(f.run(reused, "%glance", row))
                with f.otherwise(c.same(array, "null")):
                    c.tell(HOLD, array)
                    f.write("ptr", array, place, 8)
        table, first = c.table(LEAVES)
        with f.loop(0, first) as i:
            k = c.get(c.row(LEAVES, table, i), 0, "i64")
            read, shift = f.variable("ptr", c.get(c.leaf(k), VALUE_AT)), c.get(c.shift(k), 0, "i64")
            c.tell(HOLD, read.get())
            with f.when(f.compare("ne", shift, 0)):
                read.set(str(f.run(part, c.object(NUMPY), read.get(), shift, c.place(COUNT))))
                with f.when(c.same(read.get(), "null")):
                    f.give(-1)
            f.write("ptr", read.get(), f.at(items, i, "ptr"), 8)
        table, fresh = c.table(FRESH)
        with f.loop(0, fresh) as i:
            place = f.at(items, f.add(first, i), "ptr")
            with f.when(c.same(c.get(place, 0), "null")):
                array = str(f.run(new, c.object(NUMPY), c.row(FRESH, table, i)))
                with f.when(c.same(array, "null")):
                    f.give(-1)
                f.write("ptr", array, place, 8)
        table, owned = c.table(OWNED)
        with f.loop(0, owned) as i:
            value = c.get(c.leaf(c.get(c.row(OWNED, table, i), 0, "i64")), VALUE_AT)
            c.tell(HOLD, value)
            f.write("ptr", value, f.at(items, f.add(f.add(first, fresh), i), "ptr"), 8)
        f.give(1)
    return f
