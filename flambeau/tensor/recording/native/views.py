"""Native code that makes views, as ``aliasing.views.view`` does, and gives what others make their history."""

from __future__ import annotations

from ....executors.native.llvm.build import Function, Module
from ....executors.native.programs.runtime.objects import DATA_AT, ITEMS_AT, SIZE_AT, TUPLE_AT, TYPE_AT
from . import history
from .code import PARAMETERS, RecordingCode, Slots
from .code import Python as of

_WIDEST = 62        # operands, a bit each


def fits(module: Module, fields: Slots) -> Function:
    """1 if views of a tensor are made here, else 0."""
    with module.helper("is_viewed", [("ptr", "%memory"), ("ptr", "%x")], "i64") as f:
        c = RecordingCode(f, fields)

        def refuse_unless(condition: str) -> None:
            with f.otherwise(condition):
                f.give(0)
        refuse_unless(c.is_tensor("%x"))
        storage, counter = c.field("%x", "Handle._storage"), c.field("%x", "Handle._counter")
        refuse_unless(c.same(c.get(storage, TYPE_AT), c.object(of.STORAGE)))
        refuse_unless(c.either(*[c.same(counter, c.object(k)) for k in (of.NONE, of.INFERENCE)]))
        with f.otherwise(c.same(c.field("%x", "Handle._base"), c.object(of.NONE))):
            several = c.call(of.ATTRIBUTE, f"ptr %x, ptr {c.object(of.MULTIPLE)}")
            with f.when(c.missing(several)):
                c.forget()
                f.give(0)
            c.tell(of.LET_GO, several)
            refuse_unless(c.same(several, c.object(of.FALSE)))
        f.give(1)
    return f


def _signature(module: Module, fields: Slots) -> Function:
    """The signature of a view; null, without an error, where Python is to make it."""
    with module.helper("signature_of_view", [("ptr", "%memory"), ("ptr", "%operator"), ("ptr", "%x"),
                                             ("ptr", "%attributes")], "ptr") as f:
        c = RecordingCode(f, fields)
        key = c.call(of.NEW_TUPLE, "i64 3")
        with f.when(c.missing(key)):
            c.forget()
            f.give("null")
        for k, part in enumerate(("%operator", "%attributes", c.field("%x", "Handle._geometry"))):
            c.put(key, k, part)
        signature = c.call(of.FIND, f"ptr {c.object(of.VIEWS)}, ptr {key}")
        c.tell(of.LET_GO, key)
        with f.when(c.missing(signature)):
            c.forget()
        f.give(signature)
    return f


def shown(module: Module, fields: Slots) -> Function:
    """A view of this geometry, without a history, and how it is made again: ``steps``, or null; null where
    Python has raised an error.
    """
    with module.helper("shown", [("ptr", "%memory"), ("ptr", "%x"), ("ptr", "%geometry"), ("ptr", "%steps")],
                       "ptr") as f:
        c = RecordingCode(f, fields)
        none, base = c.object(of.NONE), c.field("%x", "Handle._base")
        storage, counter = c.field("%x", "Handle._storage"), c.field("%x", "Handle._counter")
        is_first = c.same(base, none)
        out = c.call(of.NEW_TENSOR, f"ptr {c.object(of.TENSOR)}, ptr {c.object(of.EMPTY)}, ptr null")
        c.need(out)
        version = f.choose(c.same(counter, none), "ptr", c.field(storage, "Storage.version"),
                           c.object(of.ZERO))
        for name, value in (
                ("_storage", storage), ("_geometry", "%geometry"), ("_requires_grad", c.object(of.FALSE)),
                ("_grad_fn", none), ("_counter", counter), ("_base", f.choose(is_first, "ptr", "%x", base)),
                ("_base_version", version)):
            c.share(out, f"Handle.{name}", value)
        how = f.variable("ptr", "%steps")
        with f.when(c.missing("%steps")):
            how.set(none)
        with f.otherwise(c.either(c.missing("%steps"), is_first)):
            before = c.field("%x", "Handle._view")
            with f.when(c.same(before, none)):      # who does not know how x is made
                how.set(none)
            with f.otherwise(c.same(before, none)):
                both = c.call(of.NEW_LIST, "i64 2")
                c.need(both, out)
                for k, part in enumerate((before, "%steps")):
                    c.tell(of.HOLD, part)
                    f.write("ptr", part, f.at(c.get(both, ITEMS_AT), k, "ptr"), 8)
                c.set(out, "Handle._view", both)
                f.give(out)
        c.share(out, "Handle._view", how.get())
        f.give(out)
    return f


def _step(module: Module, fields: Slots) -> Function:
    """One operator and its attributes, as views remember what made them."""
    with module.helper("step", [("ptr", "%memory"), ("ptr", "%operator"), ("ptr", "%attributes")],
                       "ptr") as f:
        c = RecordingCode(f, fields)
        step = c.call(of.NEW_TUPLE, "i64 2")
        c.need(step)
        c.put(step, 0, "%operator")
        c.put(step, 1, "%attributes")
        steps = c.call(of.NEW_TUPLE, "i64 1")
        c.need(steps, step)
        f.write("ptr", step, f.at(steps, TUPLE_AT, "i8"), 8)
        f.give(steps)
    return f


def made(module: Module, fields: Slots, wants: Function, taped: Function, is_viewed: Function,
         shown: Function) -> Function:
    """A view; ``None``, not a reference, where nothing was done."""
    signature_of, step_of = _signature(module, fields), _step(module, fields)
    with module.helper("made_view", [("ptr", "%memory"), ("ptr", "%operator"), ("ptr", "%x"),
                                     ("ptr", "%attributes")], "ptr") as f:
        c = RecordingCode(f, fields)
        with f.when(c.equal(str(f.run(is_viewed, "%memory", "%x")), 0)):
            f.give(c.object(of.NONE))
        signature = str(f.run(signature_of, "%memory", "%operator", "%x", "%attributes"))
        with f.when(c.missing(signature)):
            f.give(c.object(of.NONE))
        geometry = c.get(c.field(signature, "Signature.outputs"), TUPLE_AT)
        enabled, = c.thread_says(of.ENABLED)
        with f.otherwise(enabled):
            f.give(str(f.run(shown, "%memory", "%x", geometry, "null")))
        steps = str(f.run(step_of, "%memory", "%operator", "%attributes"))
        c.need(steps)
        out = str(f.run(shown, "%memory", "%x", geometry, steps))
        c.tell(of.LET_GO, steps)
        c.need(out)
        with f.when(c.equal(str(f.run(wants, "%memory", "%x")), 1)):
            f.slots.append("  %one = alloca ptr")
            f.write("ptr", "%x", "%one", 8)
            done = f.run(taped, "%memory", "%operator", signature, "%one", 1, out, "null")
            with f.when(c.equal(str(done), 0)):
                c.tell(of.LET_GO, out)
                f.give("null")
        f.give(out)
    return f


def view(module: Module, fields: Slots, made: Function) -> None:
    """``view``: the operator, a tensor, and maybe attributes."""
    with module.function("view", PARAMETERS, "ptr") as f:
        memory = f.read("ptr", f.at("%self", DATA_AT, "i8"), 8)
        c = RecordingCode(f, fields, memory=memory)
        few = c.either(c.equal("%count", 2), c.equal("%count", 3))
        with f.when(c.both(few, c.missing("%names"), c.is_on())):
            attributes = f.variable("ptr", c.object(of.EMPTY))
            with f.when(c.equal("%count", 3)):
                attributes.set(c.item("%given", 2))
            out = str(f.run(made, memory, c.item("%given", 0), c.item("%given", 1), attributes.get()))
            with f.otherwise(c.same(out, c.object(of.NONE))):
                f.give(out)
        f.give(c.call(of.CALL, f"ptr {c.object(of.VIEW)}, ptr %given, i64 %count, ptr %names"))


def _are_plain(module: Module, fields: Slots) -> Function:
    """1 if operands are plain tensors, numbers or None, else 0."""
    with module.helper("are_plain", [("ptr", "%memory"), ("ptr", "%operands"), ("i64", "%count")],
                       "i64") as f:
        c = RecordingCode(f, fields)
        with f.loop(0, "%count") as i:
            x = c.item("%operands", i)
            with f.otherwise(c.either(c.is_tensor(x), c.is_number(x))):
                f.give(0)
        f.give(1)
    return f


def attach(module: Module, fields: Slots, wants: Function, attached: Function) -> None:
    """``attach``: the operator, a signature, operands and results, for what is not recorded here."""
    are_plain = _are_plain(module, fields)
    with module.function("attach", PARAMETERS, "ptr") as f:
        memory = f.read("ptr", f.at("%self", DATA_AT, "i8"), 8)
        c = RecordingCode(f, fields, memory=memory)
        with f.when(c.both(c.equal("%count", 4), c.missing("%names"), c.is_on())):
            operands, outs = c.item("%given", 2), c.item("%given", 3)
            tuples = c.both(*[c.same(c.get(x, TYPE_AT), c.object(of.TUPLE_TYPE)) for x in (operands, outs)])
            with f.when(c.both(tuples, f.compare("sle", c.size(operands), _WIDEST))):
                watched, = c.thread_says(of.WATCHED)
                count, given = c.get(operands, SIZE_AT, "i64"), f.at(operands, TUPLE_AT, "i8")
                wanted = history.wanted(c, wants, given, count)
                other = c.equal(str(f.run(are_plain, memory, given, count)), 0)
                with f.otherwise(c.either(watched, c.equal(wanted, 0), other)):
                    done = str(f.run(attached, memory, c.item("%given", 1), given, count, wanted,
                                     f.at(outs, TUPLE_AT, "i8")))
                    with f.when(f.compare("slt", done, history.UNUSUAL)):
                        f.give("null")
                    with f.when(c.equal(done, history.DONE)):
                        c.tell(of.HOLD, c.object(of.NONE))
                        f.give(c.object(of.NONE))
                    c.forget()
        f.give(c.call(of.CALL, f"ptr {c.object(of.ATTACH)}, ptr %given, i64 %count, ptr %names"))
