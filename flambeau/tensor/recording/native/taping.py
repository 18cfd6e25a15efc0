"""Native code that asks whether what is recorded gets a history, and sees to it; and what follows it."""

from __future__ import annotations

from ....executors.native.llvm.build import Function, Module
from ....executors.native.programs.runtime.objects import SIZE_AT, TUPLE_AT
from . import history
from .code import Python as of
from .code import RecordingCode, Slots


def is_taped(module: Module, fields: Slots, wants: Function) -> Function:
    """1 if results get a history, else 0; -1 where Python has raised an error."""
    with module.helper("is_taped", [("ptr", "%memory"), ("ptr", "%operands"), ("i64", "%count")], "i64") as f:
        c = RecordingCode(f, fields, -1)
        enabled, = c.thread_says(of.ENABLED)
        with f.when(enabled):
            with f.loop(0, "%count") as i:
                asks = str(f.run(wants, "%memory", c.item("%operands", i)))
                with f.otherwise(c.equal(asks, 0)):
                    f.give(1)
        f.give(0)
    return f


def taped(module: Module, fields: Slots, wants: Function, attach: Function) -> Function:
    """Give results their history, or the mark of inference mode: 1, or 0 where Python has raised an error.

    ``out``: the one there is, or the first of several, of which ``outs`` is the tuple, else null.
    """
    with module.helper("taped", [("ptr", "%memory"), ("ptr", "%operator"), ("ptr", "%signature"),
                                 ("ptr", "%operands"), ("i64", "%count"), ("ptr", "%out"),
                                 ("ptr", "%outs")], "i64") as f:
        c = RecordingCode(f, fields, 0)
        enabled, inferring, watched = c.thread_says(of.ENABLED, of.INFERRING, of.WATCHED)
        with f.otherwise(enabled):
            with f.when(inferring):
                single = c.missing("%outs")
                with f.when(single):
                    c.tell(of.HOLD, c.object(of.INFERENCE))
                    c.replace("%out", "Handle._counter", c.object(of.INFERENCE))
                with f.otherwise(single):
                    with f.loop(0, c.size("%outs")) as i:
                        c.tell(of.HOLD, c.object(of.INFERENCE))
                        c.replace(c.item(f.at("%outs", TUPLE_AT, "i8"), i), "Handle._counter",
                                  c.object(of.INFERENCE))
            f.give(1)
        wanted = history.wanted(c, wants, "%operands", "%count")
        with f.when(c.equal(wanted, 0)):
            f.give(1)
        with f.otherwise(watched):
            f.slots.append("  %alone = alloca ptr")
            f.write("ptr", "%out", "%alone", 8)
            several = f.emit("icmp ne ptr %outs, null")
            results = f.choose(several, "ptr", f.at("%outs", TUPLE_AT, "i8"), "%alone")
            done = str(f.run(attach, "%memory", "%signature", "%operands", "%count", wanted, results))
            with f.when(f.compare("slt", done, history.UNUSUAL)):
                f.give(0)
            with f.when(c.equal(done, history.DONE)):
                f.give(1)
            c.forget()
        given = c.call(of.NEW_TUPLE, "i64 %count")
        c.need(given)
        with f.loop(0, "%count") as i:
            x = c.item("%operands", i)
            c.tell(of.HOLD, x)
            f.write("ptr", x, f.at(f.at(given, i, "ptr"), TUPLE_AT, "i8"), 8)
        outs, alone = f.variable("ptr", "%outs"), c.missing("%outs")
        with f.when(alone):
            outs.set(c.call(of.NEW_TUPLE, "i64 1"))
            c.need(outs.get(), given)
            c.tell(of.HOLD, "%out")
            f.write("ptr", "%out", f.at(outs.get(), TUPLE_AT, "i8"), 8)
        with f.otherwise(alone):
            c.tell(of.HOLD, "%outs")
        both = given, outs.get()
        f.slots.append("  %given = alloca [4 x ptr]")
        for k, x in enumerate(("%operator", "%signature", *both)):
            f.write("ptr", x, f.at("%given", k, "ptr"), 8)
        said = c.call(of.CALL, f"ptr {c.object(of.ATTACH)}, ptr %given, i64 4, ptr null")
        for one in both:
            c.tell(of.LET_GO, one)
        c.need(said)
        c.tell(of.LET_GO, said)
        f.give(1)
    return f


def checked(module: Module, fields: Slots) -> Function:
    """1 once it was looked whether too much is pending, or 0 where Python has raised an error."""
    with module.helper("checked", [("ptr", "%memory")], "i64") as f:
        c = RecordingCode(f, fields, 0)
        due = c.call(of.AS_INTEGER, f"ptr {c.field(c.object(of.SETTINGS), '_Settings.check_at')}", "i64")
        with f.when(f.compare("sgt", c.get(c.object(of.PENDING), SIZE_AT, "i64"), due)):
            said = c.call(of.CALL, f"ptr {c.object(of.CHECK_BUDGET)}, ptr null, i64 0, ptr null")
            c.need(said)
            c.tell(of.LET_GO, said)
        f.give(1)
    return f
