"""The native function behind a glance: it knows a graph again, runs it and hands out its values.

It holds the interpreter lock but while a long program runs, so it may read Python's objects as they lie in
memory (Note: array objects, and ``node_layout_is_known`` for nodes). What counts references, or makes an
object, is a function of Python's or NumPy's. A collection of cycles may run any code: so both lists are made
first, and nothing is looked at before they are there.

What lies in memory for it: ``words.py``.
"""

from __future__ import annotations

from ...llvm.build import Function, Module, Variable
from ...llvm.compiling.code import kernels
from ...llvm.compiling.effort import Effort
from ..runtime import runtime
from ..runtime.objects import DATA_AT, ITEMS_AT, REFERENCES_AT, SIZE_AT, TUPLE_AT, ObjectCode
from . import kin_words
from .filling import fill_arrays, write_numbers
from .fitting import is_the_graph
from .words import (
    ARENA,
    BIND,
    BOOK_FIT,
    BOOK_FORM_AT,
    BOOK_KIN,
    BOOK_KIN_SIZE,
    BOOK_PLACES,
    BOOK_PYTHON,
    BOOK_SAID,
    BOOK_SIZE,
    EMPTY,
    GIVEN,
    HOLD,
    LET_GO,
    LIVE,
    LONG,
    MIXER,
    NEW_INTEGER,
    NEW_LIST,
    NODES,
    NONE,
    OPERANDS_AT,
    PROGRAM,
    RELEASE,
    SET_SLICE,
    SIGNATURE_AT,
    SLICE,
    SLOTS,
    START,
    TAKE,
    TRUE,
    USED,
    VALUE_AT,
    VALUES,
    GlanceCode,
    settled,
)


def _give(module: Module) -> Function:
    """Give the nodes their values, and let go of their operands."""
    with module.helper("give", [("ptr", "%glance"), ("ptr", "%live"), ("ptr", "%values")]) as f:
        c = GlanceCode(f, "%glance")
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


def _prepare(module: Module) -> Function:
    """Make the graph ready to run: 1, or 0 where that is for others to do; -1 on an error."""
    fits, numbers, fill = is_the_graph(module), write_numbers(module), fill_arrays(module)
    with module.helper("prepare", [("ptr", "%glance"), ("ptr", "%live"), ("ptr", "%values")], "i64") as f:
        c = GlanceCode(f, "%glance")
        program = c.word(PROGRAM, "ptr")
        c.refuse_unless(c.same(c.get(c.word(ARENA, "ptr"), 0), c.get(program, 8 * runtime.BOUND)))
        c.refuse_unless(c.equal(str(f.run(fits, "%glance", "%live")), 1))
        c.refuse_unless(c.equal(str(f.run(numbers, "%glance")), 1))
        filled = str(f.run(fill, "%glance", "%values"))
        with f.otherwise(c.equal(filled, 1)):
            f.give(filled)
        f.write("ptr", "%values", f.at(program, runtime.ARRAYS, "i64"), 8)
        f.give(1)
    return f


def _run(module: Module) -> Function:
    """Run what is ready: 1, or 0 where that is for others to do, and nothing was changed."""
    with module.helper("run_it", [("ptr", "%glance")], "i64") as f:
        c = GlanceCode(f, "%glance")
        program = c.word(PROGRAM, "ptr")
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


def _bind(module: Module) -> Function:
    """Bind the arrays of what is ready, for others to run: 1, or 0 as above."""
    with module.helper("bind_it", [("ptr", "%glance")], "i64") as f:
        c = GlanceCode(f, "%glance")
        c.refuse_unless(c.equal(c.call(BIND, f"ptr {c.word(PROGRAM, 'ptr')}", "i64"), 0))
        f.give(1)
    return f


def _ready(module: Module, name: str, go: Function, prepare: Function) -> Function:
    """Lists of pending nodes and of their program's arrays, in LIVE and VALUES, after ``go``.

    None where nothing was done, or null on an error; True otherwise.
    """
    with module.helper(name, [("ptr", "%glance"), ("ptr", "%pending")], "ptr") as f:
        c = GlanceCode(f, "%glance")
        count = c.word(2 * NODES + 1)
        live = c.call(SLICE, f"ptr %pending, i64 0, i64 {count}")
        with f.when(c.same(live, "null")):
            f.give("null")
        values = c.call(NEW_LIST, f"i64 {c.word(SLOTS)}")
        with f.when(c.same(values, "null")):
            c.tell(LET_GO, live)
            f.give("null")
        done = f.variable("i64", str(f.run(prepare, c.memory, live, values)))
        with f.when(c.equal(done.get(), 1)):
            done.set(str(f.run(go, c.memory)))
        with f.otherwise(c.equal(done.get(), 1)):
            c.tell(LET_GO, values)
            c.tell(LET_GO, live)
            with f.when(c.equal(done.get(), -1)):
                f.give("null")
            c.tell(HOLD, c.object(NONE))
            f.give(c.object(NONE))
        f.write("ptr", live, c.place(LIVE), 8)
        f.write("ptr", values, c.place(VALUES), 8)
        c.tell(HOLD, c.object(TRUE))
        f.give(c.object(TRUE))
    return f


def _hand_out(module: Module) -> Function:
    """Give the nodes in LIVE their values: True; or VALUES, if a kernel has failed."""
    give = _give(module)
    with module.helper("hand_out", [("ptr", "%glance"), ("ptr", "%pending")], "ptr") as f:
        c = GlanceCode(f, "%glance")
        live, values, program = c.word(LIVE, "ptr"), c.word(VALUES, "ptr"), c.word(PROGRAM, "ptr")
        f.write("ptr", "null", c.place(LIVE), 8)
        with f.otherwise(c.equal(c.get(program, 8 * runtime.FAILED, "i64"), 0)):
            c.tell(LET_GO, live)
            f.give(values)
        f.write("i64", 0, f.at(program, runtime.COMPLETED, "i64"), 8)
        count = c.word(2 * NODES + 1)
        f.effect(f"{f.name()} = call i32 {c.object(SET_SLICE)}(ptr %pending, i64 0, i64 {count}, ptr null)")
        f.run(give, c.memory, live, values)
        c.tell(LET_GO, values)
        c.tell(LET_GO, live)
        c.tell(HOLD, c.object(TRUE))
        f.give(c.object(TRUE))
    return f


def _glance(module: Module, ready: Function, hand_out: Function) -> Function:
    """``glance`` of the memory at an address."""
    with module.helper("look", [("ptr", "%glance"), ("ptr", "%pending")], "ptr") as f:
        c = GlanceCode(f, "%glance")
        done = str(f.run(ready, c.memory, "%pending"))
        with f.otherwise(c.same(done, c.object(TRUE))):
            f.give(done)
        c.tell(LET_GO, done)
        f.give(str(f.run(hand_out, c.memory, "%pending")))
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


def _kin(module: Module, glance: Function) -> Function:
    """The same as ``look_up`` for graphs of which other shapes are known (Note: kin)."""
    with module.helper("kin", [("ptr", "%book"), ("ptr", "%pending"), ("i64", "%count")], "ptr") as f:
        c = ObjectCode(f, "%book", BOOK_PYTHON)
        kin = f.variable("ptr", "null")
        size = c.word(BOOK_KIN_SIZE)
        with f.when(f.compare("ne", size, 0)):
            number = _number(c, "%pending", "%count", c.word(BOOK_FORM_AT))
            place = f.add(f.emit(f"and i64 {number}, {f.sub(size, 1)}"), c.word(BOOK_SIZE))
            row = f.at(f.at("%book", BOOK_PLACES, "i64"), f.mul(place, 2), "i64")
            with f.when(c.equal(c.get(row, 0, "i64"), number)):
                kin.set(c.get(row, 8))
        with f.forever() as leave:
            leave(c.same(kin.get(), "null"))
            said = f.emit(f"call i64 {c.word(BOOK_FIT, 'ptr')}(ptr {kin.get()}, ptr %pending)")
            with f.when(c.equal(said, kin_words.RAISED)):
                f.give("null")
            with f.when(f.compare("ne", said, kin_words.REFUSED)):
                f.write("i64", 1, f.at(kin.get(), kin_words.USED, "i64"), 8)
                f.write("ptr", kin.get(), f.at("%book", BOOK_KIN, "i64"), 8)
                f.write("i64", said, f.at("%book", BOOK_SAID, "i64"), 8)
                leave(f.compare("ne", said, kin_words.READY))
                found = str(f.run(glance, c.get(kin.get(), 8 * kin_words.GLANCE), "%pending"))
                with f.when(c.same(found, c.object(TRUE))):
                    c.tell(LET_GO, found)
                    f.give(c.call(NEW_INTEGER, "i64 %count"))
                with f.otherwise(c.same(found, c.object(NONE))):
                    f.give(found)
                c.tell(LET_GO, found)
                f.write("ptr", "null", f.at("%book", BOOK_KIN, "i64"), 8)
            kin.set(c.get(kin.get(), 8 * kin_words.NEXT))
        c.tell(HOLD, c.object(NONE))
        f.give(c.object(NONE))
    return f


def _number(c: ObjectCode, pending: str, count: str, field: str) -> str:
    """A number for what a field of the signatures of pending nodes refers to."""
    f = c.f
    number, items = f.variable("i64", 0), c.get(pending, ITEMS_AT)
    with f.loop(0, count) as i:
        signature = c.get(c.get(f.at(items, i, "ptr"), 0), SIGNATURE_AT)
        _mix(f, number, c.get(signature, field))
    return number.get()


def _mix(f: Function, number: Variable, x: str) -> None:
    """Let a number depend on an address, too."""
    added = f.emit(f"add i64 {number.get()}, {f.emit(f'ptrtoint ptr {x} to i64')}")
    mixed = f.emit(f"mul i64 {added}, {MIXER}")
    number.set(f.emit(f"xor i64 {mixed}, {f.emit(f'lshr i64 {mixed}, 32')}"))


def _look_up(module: Module, glance: Function) -> None:
    """``look_up(self, pending)``: the glance that the book has for nodes of these signatures."""
    drop_dead, kin = _drop_dead(module), _kin(module, glance)
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
            _mix(f, number, signature.get())
        place = f.emit(f"and i64 {number.get()}, {f.sub(c.word(BOOK_SIZE), 1)}")
        row = f.at(f.at(book, BOOK_PLACES, "i64"), f.mul(place, 2), "i64")
        found = c.get(row, 8)
        there = f.emit(f"icmp ne ptr {found}, null")
        same = c.equal(c.get(row, 0, "i64"), number.get())
        f.write("i64", 0, f.at(book, BOOK_KIN, "i64"), 8)
        with f.otherwise(f.emit(f"and i1 {there}, {same}")):
            f.give(str(f.run(kin, book, "%pending", count)))
        f.write("i64", 1, f.at(found, USED, "i64"), 8)
        said = str(f.run(glance, found, "%pending"))
        with f.when(c.same(said, c.object(TRUE))):
            c.tell(LET_GO, said)
            f.give(c.call(NEW_INTEGER, f"i64 {count}"))
        f.give(said)


@kernels("glance", Effort.FEW)
def entries() -> str:
    """``glance(self, pending)``, a method: the address of a glance is that of the array ``self``'s data.

    True: pending nodes were computed, and are pending no more. None: it is another graph, or one to be
    computed as others are. A list: the arrays of a program in which a kernel has failed.

    ``begin(self, pending)`` does all that comes before the program runs, and says True or None;
    ``finish(self, pending)`` all that comes after it, and says what ``glance`` does. (Note: driving ahead)

    ``look_up(self, pending)`` is the same for the book's glances (``book.py``), after pending nodes that
    nobody needs were let go of; instead of True it says how many were computed.
    """
    module = Module()
    prepare, hand_out = _prepare(module), _hand_out(module)
    glance = _glance(module, _ready(module, "ready", _run(module), prepare), hand_out)
    begin = _ready(module, "begun", _bind(module), prepare)
    for name, function in (("glance", glance), ("begin", begin), ("finish", hand_out)):
        with module.function(name, [("ptr", "%self"), ("ptr", "%pending")], "ptr") as f:
            f.give(str(f.run(function, f.read("ptr", f.at("%self", DATA_AT, "i8"), 8), "%pending")))
    _look_up(module, glance)
    return module.text()
