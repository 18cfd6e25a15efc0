"""Native code that gives a recorded result its grad_fn, as ``history.attach`` does.

It decides before it does anything: where something is unusual in the least, ``history.attach`` does it.
"""

from __future__ import annotations

from ....executors.native.llvm.build import Function, Module
from ....executors.native.programs.runtime.objects import TUPLE_AT
from .code import Python as of
from .code import RecordingCode, Slots

FAILED, DONE, UNUSUAL = -1, 1, 0
_EQUAL = 2      # of Python's comparisons


def wants(module: Module, fields: Slots) -> Function:
    """1 if an operand is a tensor that requires gradients, else 0."""
    with module.helper("wants", [("ptr", "%memory"), ("ptr", "%x")], "i64") as f:
        c = RecordingCode(f, fields)
        with f.otherwise(c.is_tensor("%x")):
            f.give(0)
        with f.when(c.same(c.field("%x", "Handle._requires_grad"), c.object(of.TRUE))):
            f.give(1)
        base = c.field("%x", "Handle._base")
        with f.when(c.same(base, c.object(of.NONE))):
            f.give(0)
        asks = c.both(c.same(c.field(base, "Handle._requires_grad"), c.object(of.TRUE)),
                      f.emit(f"icmp ne ptr {c.field('%x', 'Handle._counter')}, {c.object(of.INFERENCE)}"))
        f.give(f.emit(f"zext i1 {asks} to i64"))
    return f


def wanted(c: RecordingCode, wants: Function, operands: str, count: str) -> str:
    """Which of an array of operands want gradients, a bit each."""
    f = c.f
    found = f.variable("i64", 0)
    with f.loop(0, count) as i:
        asks = str(f.run(wants, c.memory, c.item(operands, i)))
        found.set(f.emit(f"or i64 {found.get()}, {f.emit(f'shl i64 {asks}, {i}')}"))
    return found.get()


def _edge(module: Module, fields: Slots) -> Function:
    """Where the gradient of a tensor goes, a new reference; null where Python's ``edge`` is to say it."""
    with module.helper("edge", [("ptr", "%memory"), ("ptr", "%x")], "ptr") as f:
        c = RecordingCode(f, fields)
        none, base = c.object(of.NONE), c.field("%x", "Handle._base")
        fn = c.field("%x", "Handle._grad_fn")
        with f.otherwise(c.same(base, none)):
            with f.otherwise(c.same(c.field(base, "Handle._counter"), none)):
                f.give("null")
            made = c.field("%x", "Handle._base_version")
            now = c.field(c.field(base, "Handle._storage"), "Storage.version")
            with f.otherwise(c.same(made, now)):
                with f.when(c.either(c.missing(made), c.missing(now))):
                    f.give("null")
                answer = c.call(of.EQUAL, f"ptr {made}, ptr {now}, i32 {_EQUAL}", "i32")
                with f.otherwise(c.equal(answer, 1, "i32")):
                    f.give("null")
        with f.when(c.same(fn, none)):
            with f.otherwise(c.same(c.field("%x", "Handle._requires_grad"), c.object(of.TRUE))):
                f.give("null")
            c.tell(of.HOLD, "%x")
            f.give("%x")
        plan = c.field(fn, "GradFn.plan")
        several = f.variable("i1", "true")
        with f.otherwise(c.either(c.missing(plan), c.same(plan, none))):
            several.set(f.emit(f"icmp ne ptr {c.field(plan, 'TapePlan.single')}, {c.object(of.TRUE)}"))
        with f.when(several.get()):
            number = c.call(of.ATTRIBUTE, f"ptr %x, ptr {c.object(of.OUTPUT_NUMBER)}")
            with f.when(c.missing(number)):
                f.give("null")
            with f.when(f.compare("sgt", c.call(of.AS_INTEGER, f"ptr {number}", "i64"), 0)):
                pair = c.call(of.NEW_TUPLE, "i64 2")
                with f.when(c.missing(pair)):
                    c.tell(of.LET_GO, number)
                    f.give("null")
                c.tell(of.HOLD, fn)
                f.write("ptr", fn, f.at(pair, TUPLE_AT, "i8"), 8)
                f.write("ptr", number, f.at(pair, TUPLE_AT + 8, "i8"), 8)
                f.give(pair)
            c.tell(of.LET_GO, number)
        c.tell(of.HOLD, fn)
        f.give(fn)
    return f


def _edges(module: Module, fields: Slots, wants: Function) -> Function:
    """The edges of an operation; null where Python is to say them."""
    edge = _edge(module, fields)
    with module.helper("edges", [("ptr", "%memory"), ("ptr", "%operands"), ("i64", "%count")], "ptr") as f:
        c = RecordingCode(f, fields)
        edges = c.call(of.NEW_TUPLE, "i64 %count")
        c.need(edges)
        with f.loop(0, "%count") as i:
            x = c.item("%operands", i)
            target = f.variable("ptr", c.object(of.NONE))
            wanted = c.equal(str(f.run(wants, "%memory", x)), 1)
            with f.when(wanted):
                target.set(str(f.run(edge, "%memory", x)))
                c.need(target.get(), edges)
            with f.otherwise(wanted):
                c.tell(of.HOLD, target.get())
            f.write("ptr", target.get(), f.at(f.at(edges, i, "ptr"), TUPLE_AT, "i8"), 8)
        f.give(edges)
    return f


def _saved(module: Module, fields: Slots) -> Function:
    """What a plan keeps of operands and an array of results; null where Python is to say it."""
    with module.helper("saved", [("ptr", "%memory"), ("ptr", "%kept"), ("ptr", "%operands"),
                                 ("ptr", "%results")], "ptr") as f:
        c = RecordingCode(f, fields)
        count = c.size("%kept")
        with f.when(c.equal(count, 0)):
            c.tell(of.HOLD, c.object(of.EMPTY))
            f.give(c.object(of.EMPTY))
        saved = c.call(of.NEW_TUPLE, f"i64 {f.mul(count, 2)}")
        c.need(saved)
        valued = f.variable("i1", "false")
        with f.loop(0, count) as i:
            at = c.call(of.AS_INTEGER, f"ptr {c.get(f.at('%kept', i, 'ptr'), TUPLE_AT)}", "i64")
            what, version = f.variable("ptr", c.object(of.NONE)), f.variable("ptr", c.object(of.ZERO))
            of_operand = f.compare("sge", at, 0)
            with f.otherwise(of_operand):
                made = c.item("%results", f.emit(f"xor i64 {at}, -1"))
                what.set(c.field(made, "Handle._storage"))
            with f.when(of_operand):
                x = c.item("%operands", at)
                version.set(c.object(of.NONE))
                with f.when(c.is_tensor(x)):
                    with f.otherwise(c.same(c.field(x, "Handle._counter"), c.object(of.NONE))):
                        c.tell(of.LET_GO, saved)
                        f.give("null")
                    what.set(x)
                    counted = f.variable("ptr", c.field(x, "Handle._storage"))
                    with f.when(c.missing(c.field(counted.get(), "Storage.version"))):    # a turned one
                        counted.set(c.field(counted.get(), "Derived.source"))
                    version.set(c.field(counted.get(), "Storage.version"))
            valued.set(c.either(valued.get(),
                                f.emit(f"icmp ne ptr {what.get()}, {c.object(of.NONE)}")))
            place = f.at(f.at(saved, f.mul(i, 2), "ptr"), TUPLE_AT, "i8")
            for k, value in enumerate((what, version)):
                c.tell(of.HOLD, value.get())
                f.write("ptr", value.get(), f.at(place, k, "ptr"), 8)
        with f.otherwise(valued.get()):
            c.tell(of.LET_GO, saved)
            c.tell(of.HOLD, c.object(of.EMPTY))
            f.give(c.object(of.EMPTY))
        f.give(saved)
    return f


def _numbers(module: Module, fields: Slots) -> Function:
    """The numbers among operands, by position: a tuple, or None where all are tensors."""
    with module.helper("numbers", [("ptr", "%memory"), ("ptr", "%operands"), ("i64", "%count")], "ptr") as f:
        c = RecordingCode(f, fields)
        some = f.variable("i1", "false")
        with f.loop(0, "%count") as i:
            other = f.emit(f"xor i1 {c.is_tensor(c.item('%operands', i))}, true")
            some.set(c.either(some.get(), other))
        with f.otherwise(some.get()):
            c.tell(of.HOLD, c.object(of.NONE))
            f.give(c.object(of.NONE))
        numbers = c.call(of.NEW_TUPLE, "i64 %count")
        c.need(numbers)
        with f.loop(0, "%count") as i:
            x = c.item("%operands", i)
            shown = f.choose(c.is_tensor(x), "ptr", c.object(of.NONE), x)
            c.tell(of.HOLD, shown)
            f.write("ptr", shown, f.at(f.at(numbers, i, "ptr"), TUPLE_AT, "i8"), 8)
        f.give(numbers)
    return f


def _given(module: Module, fields: Slots) -> Function:
    """1 once a result has its history, or 0 where Python has raised an error."""
    with module.helper("given", [("ptr", "%memory"), ("ptr", "%fn"), ("ptr", "%out"), ("ptr", "%number")],
                       "i64") as f:
        c = RecordingCode(f, fields, 0)
        c.tell(of.HOLD, "%fn")
        c.replace("%out", "Handle._grad_fn", "%fn")
        c.tell(of.HOLD, c.object(of.TRUE))
        c.replace("%out", "Handle._requires_grad", c.object(of.TRUE))
        with f.otherwise(c.missing("%number")):
            with f.otherwise(c.same("%number", c.object(of.ZERO))):
                given = f"ptr %out, ptr {c.object(of.OUTPUT_NUMBER)}, ptr %number"
                done = c.call(of.SET_ATTRIBUTE, given, "i32")
                f.give(f.emit(f"zext i1 {c.equal(done, 0, 'i32')} to i64"))
        f.give(1)
    return f


def attach(module: Module, fields: Slots, wants: Function) -> Function:
    """``attach``, of which operands that want gradients are known (a bit each): ``DONE``.

    ``results``: an array of them. ``UNUSUAL``: nothing was done. ``FAILED``: Python has raised an error.
    """
    edges_of, saved_of = _edges(module, fields, wants), _saved(module, fields)
    numbers_of, given = _numbers(module, fields), _given(module, fields)
    with module.helper("attached", [("ptr", "%memory"), ("ptr", "%signature"), ("ptr", "%operands"),
                                  ("i64", "%count"), ("i64", "%wanted"), ("ptr", "%results")], "i64") as f:
        c = RecordingCode(f, fields, UNUSUAL)
        key = c.call(of.NEW_INTEGER, "i64 %wanted")
        c.need(key)
        plans = c.field("%signature", "Signature.tape_plans")
        plan = c.call(of.FIND, f"ptr {plans}, ptr {key}")
        c.tell(of.LET_GO, key)
        c.need(plan)
        with f.when(c.same(plan, c.object(of.NO_GRADIENT))):
            f.give(DONE)
        edges = str(f.run(edges_of, "%memory", "%operands", "%count"))
        c.need(edges)
        saved = str(f.run(saved_of, "%memory", c.field(plan, "TapePlan.kept"), "%operands", "%results"))
        c.need(saved, edges)
        numbers = str(f.run(numbers_of, "%memory", "%operands", "%count"))
        c.need(numbers, edges, saved)
        made = c.call(of.NEW_OBJECT, f"ptr {c.field(plan, 'TapePlan.grad_class')}, i64 0")
        c.failed = FAILED
        c.need(made, edges, saved, numbers)
        for name, value in (("edges", edges), ("saved", saved), ("numbers", numbers)):
            c.set(made, f"GradFn.{name}", value)
        c.share(made, "GradFn.signature", "%signature")
        c.share(made, "GradFn.plan", plan)
        for name in ("hooks", "trace"):
            c.share(made, f"GradFn.{name}", c.object(of.NONE))
        sequence = c.call(of.NEXT, f"ptr {c.object(of.SEQUENCE)}")
        c.need(sequence, made)
        c.set(made, "GradFn.sequence", sequence)
        with f.when(c.same(c.field(plan, "TapePlan.single"), c.object(of.TRUE))):
            f.run(given, "%memory", made, c.item("%results", 0), "null")
            c.tell(of.LET_GO, made)
            f.give(DONE)
        numbered = c.field(plan, "TapePlan.results")
        with f.loop(0, c.size(numbered)) as i:
            number = c.item(f.at(numbered, TUPLE_AT, "i8"), i)
            out = c.item("%results", c.call(of.AS_INTEGER, f"ptr {number}", "i64"))
            with f.when(c.equal(str(f.run(given, "%memory", made, out, number)), 0)):
                c.tell(of.LET_GO, made)
                f.give(FAILED)
        c.tell(of.LET_GO, made)
        f.give(DONE)
    return f
