"""The native function behind a glance: it knows a graph again, runs it and hands out its values.

It holds the interpreter lock but while a long program runs, so it may read Python's objects as they lie in
memory (Note: array objects, and ``layout_is_known`` for nodes). What counts references, or makes an object,
is a function of Python's or NumPy's. A collection of cycles may run any code: so both lists are made first,
and nothing is looked at before they are there.

A glance in memory, in 64-bit words: the header, then its tables, whose rows have so many words:

    NODES     address of the signature, references to the node, number of operands
    FIRST     node, place in its operands: where a leaf is first met
    AGAIN     node, place in its operands, and which node or leaf (numbered after the nodes) must be there
    NUMBERS   node, place in its operands, kind of the word, its address
    LEAVES    which leaf the next slot takes
    FRESH     the array that the next slot takes (``new_arrays.py``)
    OWNED     which leaf the next slot takes to be overwritten, and how many operands refer to it
    GIVEN     node, slot
    REUSED    slot, its number among FRESH, which leaf's array it may take instead (Note: arrays that are used
              again), and how many operands refer to that

A node's place is its position in the order of recording; an operand's place is in bytes.

Of a node whose signature is the expected one but for where its operands lie (Note: moving operands), operands
are *shifted* by so many bytes: a leaf is a node and its shift.
"""

from __future__ import annotations

from ..llvm.build import Function, Module
from ..llvm.code import kernels
from ..llvm.emitter import BFLOAT16, FLOAT16
from . import runtime
from .new_arrays import ARRAY_TYPE, ELEMENTS, ROW_WORDS, Memory, new_array, new_part
from .new_arrays import TYPE as ELEMENT_TYPE
from .objects import (
    BASE_AT,
    BYTES_AT,
    DATA_AT,
    DIMENSIONS_AT,
    DTYPE_AT,
    EXTENTS_AT,
    FLAGS_AT,
    ITEMS_AT,
    REFERENCES_AT,
    SIZE_AT,
    TUPLE_AT,
    TYPE_AT,
    WRITEABLE,
    ObjectCode,
)

TABLES = NODES, FIRST, AGAIN, NUMBERS, LEAVES, FRESH, OWNED, GIVEN, REUSED = range(9)
WIDTHS = 3, 2, 3, 4, 1, ROW_WORDS, 2, 2, 4
# Beside each table's address and number of rows: the program, its number of slots, where the arena's address
# stands, room for pointers to nodes and leaves and for shifts, Python's functions and objects, whether it is
# so long that others get the interpreter lock meanwhile, room for a set of leaves, its size (a power of two),
# whether it was found in the book since somebody asked, and room for a number of elements.
(PROGRAM, SLOTS, ARENA, FOUND, PYTHON, LONG, SET, ROOM, USED,
 COUNT) = range(2 * len(TABLES), 2 * len(TABLES) + 10)
HEADER_WORDS = COUNT + 1
FLOAT, DOUBLE, HALF, BFLOAT, INTEGER, INT32, INT16, INT8, UINT8 = range(9)
_NARROW = {INT32: (32, "sext"), INT16: (16, "sext"), INT8: (8, "sext"), UINT8: (8, "zext")}
MIXER = 0x9E3779B97F4A7C15 - (1 << 64)     # 2 ** 64 by the golden ratio: neighbours come to lie apart
# The book: the functions and objects of Python, how many places it has (a power of two), and at each place
# the number of a graph's signatures and the address of its glance, or zeros.
BOOK_PYTHON, BOOK_SIZE, BOOK_PLACES = range(3)

# The table of what is Python's and NumPy's.
(NONE, TRUE, EMPTY, NODE_TYPE, HOLD, LET_GO, NEW_LIST, SLICE, SET_SLICE, AS_DOUBLE, AS_INTEGER, OCCURRED,
 FORGET, NUMPY, START, SETTLED_AT, RELEASE, TAKE, NEW_INTEGER) = range(19)

OPERANDS_AT, SIGNATURE_AT, SITE_AT, VALUE_AT = 16, 24, 32, 40   # slots lie in alphabetical order


class _Code(ObjectCode):
    """A function that is given a glance, with what glances read."""

    def __init__(self, f: Function, glance: str) -> None:
        super().__init__(f, glance, PYTHON)

    def table(self, k: int) -> tuple[str, str]:
        """Address and number of rows of a table."""
        return self.word(2 * k, "ptr"), self.word(2 * k + 1)

    def place(self, k: int) -> str:
        """The address of a word."""
        return self.f.at(self.memory, k, "i64")

    def row(self, table: int, base: str, i: str) -> str:
        return self.f.at(base, self.f.mul(i, WIDTHS[table]), "i64")

    def found(self, i: str) -> str:
        """Where the pointer to a node or leaf is kept."""
        return self.f.at(self.word(FOUND, "ptr"), i, "ptr")

    def leaf(self, i: str) -> str:
        return self.get(self.found(self.f.add(self.word(2 * NODES + 1), i)), 0)

    def shift(self, i: str) -> str:
        """Where the shift of a leaf is kept."""
        both = self.f.add(self.word(2 * NODES + 1), self.word(2 * FIRST + 1))
        return self.found(self.f.add(both, i))

    def operand(self, row: str) -> str:
        """The operand at the node and place that a row begins with."""
        node = self.get(self.found(self.get(row, 0, "i64")), 0)
        return self.get(self.get(node, OPERANDS_AT), self.get(row, 8, "i64"))

    def refuse_unless(self, condition: str) -> None:
        with self.f.otherwise(condition):
            self.f.give(0)


def settled(c: ObjectCode, signature: str) -> str:
    """What a signature keeps of its operands (``moving.py``), or None, also where nobody said so."""
    kept = c.get(signature, c.get(c.python, 8 * SETTLED_AT, "i64"))
    return c.f.choose(c.same(kept, "null"), "ptr", c.object(NONE), kept)


def _shift_of(module: Module) -> Function:
    """How far the operand at the node and place that a row begins with is shifted; -1 if it may not be."""
    with module.helper("shift_of", [("ptr", "%glance"), ("ptr", "%row")], "i64") as f:
        c = _Code(f, "%glance")
        i, place = c.get("%row", 0, "i64"), c.get("%row", 8, "i64")
        node = c.get(c.found(i), 0)
        signature = c.get(node, SIGNATURE_AT)
        with f.when(c.same(signature, c.get(c.row(NODES, c.table(NODES)[0], i), 0))):
            f.give(0)
        words = f.at(c.get(settled(c, signature), TUPLE_AT + 8), BYTES_AT, "i8")
        words = f.at(words, f.mul(f.sub(place, TUPLE_AT), 2), "i8")
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
        c = _Code(f, "%glance")
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


def _fits(module: Module) -> Function:
    """Whether nodes are the graph: their signatures, who refers to them, what they read and may overwrite."""
    add, shift_of = _add(module), _shift_of(module)
    with module.helper("fits", [("ptr", "%glance"), ("ptr", "%live")], "i64") as f:
        c = _Code(f, "%glance")
        table, count = c.table(NODES)
        c.refuse_unless(c.equal(c.get("%live", SIZE_AT, "i64"), count))
        items = c.get("%live", ITEMS_AT)
        none = c.object(NONE)
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
        with f.loop(0, c.word(ROOM)) as i:
            f.write("ptr", "null", f.at(c.word(SET, "ptr"), i, "ptr"), 8)
        table, leaves = c.table(FIRST)
        kind = c.object(NODE_TYPE)
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
        table, places = c.table(AGAIN)
        with f.loop(0, places) as i:
            row = c.row(AGAIN, table, i)
            k = c.get(row, 16, "i64")
            c.refuse_unless(c.same(c.operand(row), c.get(c.found(k), 0)))
            expected = f.variable("i64", 0)
            with f.when(f.compare("sge", k, count)):
                expected.set(c.get(c.shift(f.sub(k, count)), 0, "i64"))
            c.refuse_unless(c.equal(str(f.run(shift_of, "%glance", row)), expected.get()))
        table, owned = c.table(OWNED)
        with f.loop(0, owned) as i:
            row = c.row(OWNED, table, i)
            leaf = c.leaf(c.get(row, 0, "i64"))
            c.refuse_unless(c.equal(c.get(c.shift(c.get(row, 0, "i64")), 0, "i64"), 0))
            c.refuse_unless(c.equal(c.get(leaf, REFERENCES_AT, "i32"), c.get(row, 8, "i32"), "i32"))
            c.refuse_unless(c.equal(c.get(c.get(leaf, VALUE_AT), REFERENCES_AT, "i32"), 1, "i32"))
        f.give(1)
    return f


def _write_numbers(module: Module) -> Function:
    """Write Python numbers into the kernels' words; 0 if one has no place there."""
    with module.helper("write_numbers", [("ptr", "%glance")], "i64") as f:
        c = _Code(f, "%glance")
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


def _write_real(f: Function, c: _Code, x: str, kind: str, word: str) -> None:
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


def _write_integer(f: Function, c: _Code, x: str, kind: str, word: str) -> None:
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
        c = _Code(f, "%glance")

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


def _fill(module: Module) -> Function:
    """Put the arrays that kernels read and write into a list; -1 on an error."""
    new, part, reused = new_array(module, Memory(module)), new_part(module), _reused(module)
    with module.helper("fill", [("ptr", "%glance"), ("ptr", "%values")], "i64") as f:
        c = _Code(f, "%glance")
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


def _give(module: Module) -> Function:
    """Give the nodes their values, and let go of their operands."""
    with module.helper("give", [("ptr", "%glance"), ("ptr", "%live"), ("ptr", "%values")]) as f:
        c = _Code(f, "%glance")
        nodes, values = c.get("%live", ITEMS_AT), c.get("%values", ITEMS_AT)
        table, given = c.table(GIVEN)
        with f.loop(0, given) as i:
            row = c.row(GIVEN, table, i)
            node = c.get(f.at(nodes, c.get(row, 0, "i64"), "ptr"), 0)
            value = c.get(f.at(values, c.get(row, 8, "i64"), "ptr"), 0)
            c.tell(HOLD, value)
            f.write("ptr", value, f.at(node, VALUE_AT, "i8"), 8)
            c.tell(LET_GO, c.object(NONE))
        count = c.get("%live", SIZE_AT, "i64")
        with f.loop(0, count) as i:
            node = c.get(f.at(nodes, i, "ptr"), 0)
            operands = c.get(node, OPERANDS_AT)
            c.tell(HOLD, c.object(EMPTY))
            f.write("ptr", c.object(EMPTY), f.at(node, OPERANDS_AT, "i8"), 8)
            c.tell(LET_GO, operands)
    return f


def _attempt(module: Module) -> Function:
    """Run the graph: 1, or 0 where that is for others to do, and nothing was changed; -1 on an error."""
    fits, numbers, fill = _fits(module), _write_numbers(module), _fill(module)
    with module.helper("attempt", [("ptr", "%glance"), ("ptr", "%live"), ("ptr", "%values")], "i64") as f:
        c = _Code(f, "%glance")
        program = c.word(PROGRAM, "ptr")
        c.refuse_unless(c.same(c.get(c.word(ARENA, "ptr"), 0), c.get(program, 8 * runtime.BOUND)))
        c.refuse_unless(c.equal(str(f.run(fits, "%glance", "%live")), 1))
        c.refuse_unless(c.equal(str(f.run(numbers, "%glance")), 1))
        filled = str(f.run(fill, "%glance", "%values"))
        with f.otherwise(c.equal(filled, 1)):
            f.give(filled)
        f.write("ptr", "%values", f.at(program, runtime.ARRAYS, "i64"), 8)
        long = f.compare("ne", c.word(LONG), 0)
        unbound = f.variable("i64", 0)
        with f.when(long):
            thread = c.call(RELEASE, "")
            unbound.set(c.call(START, f"ptr {program}", "i64"))
            c.tell(TAKE, thread)
        with f.otherwise(long):
            unbound.set(c.call(START, f"ptr {program}", "i64"))
        c.refuse_unless(c.equal(unbound.get(), 0))
        f.give(1)
    return f


def _glance(module: Module) -> Function:
    """``glance`` of the memory at an address."""
    attempt, give = _attempt(module), _give(module)
    with module.helper("look", [("ptr", "%glance"), ("ptr", "%pending")], "ptr") as f:
        c = _Code(f, "%glance")
        count = c.word(2 * NODES + 1)
        live = c.call(SLICE, f"ptr %pending, i64 0, i64 {count}")
        with f.when(c.same(live, "null")):
            f.give("null")
        values = c.call(NEW_LIST, f"i64 {c.word(SLOTS)}")
        with f.when(c.same(values, "null")):
            c.tell(LET_GO, live)
            f.give("null")
        done = str(f.run(attempt, c.memory, live, values))
        with f.otherwise(c.equal(done, 1)):
            c.tell(LET_GO, values)
            c.tell(LET_GO, live)
            with f.when(c.equal(done, -1)):
                f.give("null")
            c.tell(HOLD, c.object(NONE))
            f.give(c.object(NONE))
        program = c.word(PROGRAM, "ptr")
        with f.otherwise(c.equal(c.get(program, 8 * runtime.FAILED, "i64"), 0)):
            c.tell(LET_GO, live)
            f.give(values)
        f.write("i64", 0, f.at(program, runtime.COMPLETED, "i64"), 8)
        f.effect(f"{f.name()} = call i32 {c.object(SET_SLICE)}(ptr %pending, i64 0, i64 {count}, ptr null)")
        f.run(give, c.memory, live, values)
        c.tell(LET_GO, values)
        c.tell(LET_GO, live)
        c.tell(HOLD, c.object(TRUE))
        f.give(c.object(TRUE))
    return f


def _drop_dead(module: Module) -> Function:
    """Let go of pending nodes that nobody else holds, last one first (Note: liveness); how many are left.

    To let go of one may run any code, which may change the list.
    """
    with module.helper("drop_dead", [("ptr", "%book"), ("ptr", "%pending")], "i64") as f:
        c = ObjectCode(f, "%book", BOOK_PYTHON)
        above = f.variable("i64", c.get("%pending", SIZE_AT, "i64"))
        with f.forever():
            last = above.get()
            with f.when(c.equal(last, 0)):
                f.give(c.get("%pending", SIZE_AT, "i64"))
            i = f.sub(last, 1)
            above.set(i)
            with f.when(f.compare("slt", i, c.get("%pending", SIZE_AT, "i64"))):
                node = c.get(f.at(c.get("%pending", ITEMS_AT), i, "ptr"), 0)
                with f.when(c.equal(c.get(node, REFERENCES_AT, "i32"), 1, "i32")):
                    c.call(SET_SLICE, f"ptr %pending, i64 {i}, i64 {last}, ptr null", "i32")
    return f


def _look_up(module: Module, glance: Function) -> None:
    """``look_up(self, pending)``: the glance that the book has for nodes of these signatures."""
    drop_dead = _drop_dead(module)
    with module.function("look_up", [("ptr", "%self"), ("ptr", "%pending")], "ptr") as f:
        book = f.read("ptr", f.at("%self", DATA_AT, "i8"), 8)
        c = ObjectCode(f, book, BOOK_PYTHON)
        count = str(f.run(drop_dead, book, "%pending"))
        number, items = f.variable("i64", 0), c.get("%pending", ITEMS_AT)
        with f.loop(0, count) as i:
            signature = f.variable("ptr", c.get(c.get(f.at(items, i, "ptr"), 0), SIGNATURE_AT))
            kept = settled(c, signature.get())
            with f.otherwise(c.same(kept, c.object(NONE))):
                signature.set(c.get(kept, TUPLE_AT))
            added = f.emit(f"add i64 {number.get()}, {f.emit(f'ptrtoint ptr {signature.get()} to i64')}")
            mixed = f.emit(f"mul i64 {added}, {MIXER}")
            number.set(f.emit(f"xor i64 {mixed}, {f.emit(f'lshr i64 {mixed}, 32')}"))
        place = f.emit(f"and i64 {number.get()}, {f.sub(c.word(BOOK_SIZE), 1)}")
        row = f.at(f.at(book, BOOK_PLACES, "i64"), f.mul(place, 2), "i64")
        found = c.get(row, 8)
        there = f.emit(f"icmp ne ptr {found}, null")
        same = c.equal(c.get(row, 0, "i64"), number.get())
        with f.otherwise(f.emit(f"and i1 {there}, {same}")):
            c.tell(HOLD, c.object(NONE))
            f.give(c.object(NONE))
        f.write("i64", 1, f.at(found, USED, "i64"), 8)
        said = str(f.run(glance, found, "%pending"))
        with f.when(c.same(said, c.object(TRUE))):
            c.tell(LET_GO, said)
            f.give(c.call(NEW_INTEGER, f"i64 {count}"))
        f.give(said)


@kernels("glance")
def entries() -> str:
    """``glance(self, pending)``, a method: the address of a glance is that of the array ``self``'s data.

    True: pending nodes were computed, and are pending no more. None: it is another graph, or one to be
    computed as others are. A list: the arrays of a program in which a kernel has failed.

    ``look_up(self, pending)`` is the same for the book's glances (``book.py``), after pending nodes that
    nobody needs were let go of; instead of True it says how many were computed.
    """
    module = Module()
    glance = _glance(module)
    with module.function("glance", [("ptr", "%self"), ("ptr", "%pending")], "ptr") as f:
        f.give(str(f.run(glance, f.read("ptr", f.at("%self", DATA_AT, "i8"), 8), "%pending")))
    _look_up(module, glance)
    return module.text()
