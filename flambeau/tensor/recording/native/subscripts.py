"""Native code that makes the views of ``x[1, :, None]``: what integers, slices, None and Ellipsis stand for.

What view a key stands for is known of geometries and keys that came before; it is found out in
Python (``aliasing.subscripts``).
"""

from __future__ import annotations

import ctypes

from ....executors.native.llvm.build import Function, Module
from ....executors.native.programs.runtime.objects import DATA_AT, SIZE_AT, TUPLE_AT, TYPE_AT
from .code import PARAMETERS, RecordingCode, Slots
from .code import Python as of

_BOUNDS_AT = 16     # of a slice: start, stop and step follow one another
_MOST = 8           # items of a key
_FARTHEST = 512     # positions beyond are those of loops over much, which do not come again soon


def slice_layout_is_known() -> bool:
    """Whether slices lie in memory as native code reads them."""
    found = slice(1000, 2000, 3000)
    read = ctypes.c_int64.from_address
    return [read(id(found) + _BOUNDS_AT + 8 * i).value for i in range(3)] \
        == [id(found.start), id(found.stop), id(found.step)]


def _is_near(module: Module, fields: Slots) -> Function:
    """1 if it is an integer not far from 0, or None, else 0."""
    with module.helper("is_near", [("ptr", "%memory"), ("ptr", "%x")], "i64") as f:
        c = RecordingCode(f, fields)
        with f.when(c.same("%x", c.object(of.NONE))):
            f.give(1)
        with f.otherwise(c.is_type(c.get("%x", TYPE_AT), of.INT_TYPE)):
            f.give(0)
        number = c.call(of.AS_INTEGER, "ptr %x", "i64")
        with f.when(c.equal(number, -1)):
            with f.otherwise(c.missing(c.call(of.RAISED, ""))):
                c.forget()      # it does not fit into 64 bits
                f.give(0)
        near = c.both(f.compare("slt", number, _FARTHEST), f.compare("sgt", number, -_FARTHEST))
        f.give(f.emit(f"zext i1 {near} to i64"))
    return f


def _key(module: Module, fields: Slots) -> Function:
    """What the views depend on, a tuple; null, without an error, where it is not found out here.

    Slices cannot be looked up: their class and three bounds stand for one.
    """
    is_near = _is_near(module, fields)
    with module.helper("key_of", [("ptr", "%memory"), ("ptr", "%x"), ("ptr", "%items")], "ptr") as f:
        c = RecordingCode(f, fields)
        f.slots.append(f"  %parts = alloca [{4 * _MOST + 1} x ptr]")
        f.write("ptr", c.field("%x", "Handle._geometry"), "%parts", 8)
        count = f.variable("i64", 1)

        def add(part: str) -> None:
            f.write("ptr", part, f.at("%parts", count.get(), "ptr"), 8)
            count.set(f.add(count.get(), 1))

        def add_near(part: str) -> None:
            with f.when(c.equal(str(f.run(is_near, "%memory", part)), 0)):
                f.give("null")
            add(part)
        with f.loop(0, c.size("%items")) as i:
            item = c.item(f.at("%items", TUPLE_AT, "i8"), i)
            is_slice = c.same(c.get(item, TYPE_AT), c.object(of.SLICE_TYPE))
            with f.when(is_slice):
                add(c.object(of.SLICE_TYPE))
                for k in range(3):
                    add_near(c.get(item, _BOUNDS_AT + 8 * k))
            with f.otherwise(is_slice):
                is_rest = c.same(item, c.object(of.ELLIPSIS))
                with f.when(is_rest):
                    add(item)
                with f.otherwise(is_rest):
                    add_near(item)
        key = c.call(of.NEW_TUPLE, f"i64 {count.get()}")
        with f.when(c.missing(key)):
            c.forget()
            f.give("null")
        with f.loop(0, count.get()) as i:
            part = c.item("%parts", i)
            c.tell(of.HOLD, part)
            f.write("ptr", part, f.at(f.at(key, i, "ptr"), TUPLE_AT, "i8"), 8)
        f.give(key)
    return f


def _known(module: Module, fields: Slots) -> Function:
    """What is known of a key (``aliasing.subscripts``), or ``None``, a new reference; null where Python has
    raised an error.
    """
    key_of = _key(module, fields)
    with module.helper("what_is_known", [("ptr", "%memory"), ("ptr", "%x"), ("ptr", "%items")], "ptr") as f:
        c = RecordingCode(f, fields)
        none = c.object(of.NONE)
        key = str(f.run(key_of, "%memory", "%x", "%items"))
        with f.when(c.missing(key)):
            c.tell(of.HOLD, none)
            f.give(none)
        found = c.call(of.FIND, f"ptr {c.object(of.SUBSCRIPTS)}, ptr {key}")
        with f.otherwise(c.missing(found)):
            c.tell(of.HOLD, found)
            c.tell(of.LET_GO, key)
            f.give(found)
        c.forget()
        f.slots.append("  %asked = alloca [3 x ptr]")
        for k, part in enumerate((key, c.field("%x", "Handle._geometry"), "%items")):
            f.write("ptr", part, f.at("%asked", k, "ptr"), 8)
        made = c.call(of.CALL, f"ptr {c.object(of.FIND_OUT)}, ptr %asked, i64 3, ptr null")
        c.tell(of.LET_GO, key)
        f.give(made)
    return f


def _step_by_step(module: Module, fields: Slots, made_view: Function) -> Function:
    """The view that steps give, each of which has a history of its own; null where there is an error."""
    with module.helper("step_by_step", [("ptr", "%memory"), ("ptr", "%x"), ("ptr", "%steps")], "ptr") as f:
        c = RecordingCode(f, fields)
        c.tell(of.HOLD, "%x")
        out = f.variable("ptr", "%x")
        f.slots.append("  %given_view = alloca [3 x ptr]")
        with f.loop(0, c.size("%steps")) as i:
            step, before = c.item(f.at("%steps", TUPLE_AT, "i8"), i), out.get()
            operator, attributes = [c.get(step, TUPLE_AT + 8 * k) for k in range(2)]
            made = f.variable("ptr", str(f.run(made_view, "%memory", operator, before, attributes)))
            with f.when(c.same(made.get(), c.object(of.NONE))):
                for k, part in enumerate((operator, before, attributes)):
                    f.write("ptr", part, f.at("%given_view", k, "ptr"), 8)
                made.set(c.call(of.CALL, f"ptr {c.object(of.VIEW)}, ptr %given_view, i64 3, ptr null"))
            c.tell(of.LET_GO, before)
            c.need(made.get())
            out.set(made.get())
        f.give(out.get())
    return f


def known_view(module: Module, fields: Slots, wants: Function, is_viewed: Function, shown: Function,
               made_view: Function) -> None:
    """``known_view``: a tensor and a tuple of what its subscript has; None where Python is to read it."""
    known, step_by_step = _known(module, fields), _step_by_step(module, fields, made_view)
    with module.function("known_view", PARAMETERS, "ptr") as f:
        memory = f.read("ptr", f.at("%self", DATA_AT, "i8"), 8)
        c = RecordingCode(f, fields, memory=memory)
        none = c.object(of.NONE)

        def leave_unless(condition: str) -> None:
            with f.otherwise(condition):
                c.tell(of.HOLD, none)
                f.give(none)
        leave_unless(c.both(c.equal("%count", 2), c.missing("%names"), c.is_on()))
        x, items = c.item("%given", 0), c.item("%given", 1)
        leave_unless(f.compare("sle", c.get(items, SIZE_AT, "i64"), _MOST))
        leave_unless(c.equal(str(f.run(is_viewed, memory, x)), 1))
        alone, enabled = c.thread_says(of.AT_ONCE, of.ENABLED)
        leave_unless(alone)
        found = str(f.run(known, memory, x, items))
        c.need(found)
        with f.when(c.same(found, none)):
            f.give(found)
        geometry, steps = [c.get(found, TUPLE_AT + 8 * k) for k in range(2)]
        out = f.variable("ptr", "null")
        has_history = c.both(enabled, c.equal(str(f.run(wants, memory, x)), 1))
        with f.when(has_history):
            out.set(str(f.run(step_by_step, memory, x, steps)))
        with f.otherwise(has_history):
            out.set(str(f.run(shown, memory, x, geometry, f.choose(enabled, "ptr", steps, "null"))))
        c.tell(of.LET_GO, found)
        f.give(out.get())
