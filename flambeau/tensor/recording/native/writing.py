"""Native code that records what a whole tensor is written with, as ``inplace.assign`` writes it.

No tensor is made of the result, which becomes the storage's next version where that needs no history.
"""

from __future__ import annotations

from ....executors.native.llvm.build import Function, Module
from ....executors.native.programs.runtime.objects import DATA_AT, SIZE_AT, TUPLE_AT, TYPE_AT
from . import history
from .code import PARAMETERS, RecordingCode, Slots
from .code import Python as of

_MOST = 8       # operands


def _is_written(module: Module, fields: Slots) -> Function:
    """1 if a tensor is all of a storage that is its own, else 0."""
    with module.helper("is_written", [("ptr", "%memory"), ("ptr", "%x")], "i64") as f:
        c = RecordingCode(f, fields)

        def refuse_unless(condition: str) -> None:
            with f.otherwise(condition):
                f.give(0)
        refuse_unless(c.is_tensor("%x"))
        for name in ("_base", "_counter"):
            refuse_unless(c.same(c.field("%x", f"Handle.{name}"), c.object(of.NONE)))
        storage = c.field("%x", "Handle._storage")
        refuse_unless(c.is_own(storage))
        whole = c.same(c.field(storage, "Storage.geometry"), c.field("%x", "Handle._geometry"))
        f.give(f.emit(f"zext i1 {whole} to i64"))
    return f


def _is_apart(module: Module, fields: Slots) -> Function:
    """1 if an operand does not share memory with a tensor, or is the same view of it, else 0."""
    with module.helper("is_apart", [("ptr", "%memory"), ("ptr", "%x"), ("ptr", "%operand")], "i64") as f:
        c = RecordingCode(f, fields)
        with f.otherwise(c.is_tensor("%operand")):
            f.give(1)
        storage = c.field("%operand", "Handle._storage")
        with f.otherwise(c.same(c.get(storage, TYPE_AT), c.object(of.STORAGE))):
            f.give(0)
        with f.when(c.same(storage, c.field("%x", "Handle._storage"))):
            alike = c.same(*[c.field(one, "Handle._geometry") for one in ("%x", "%operand")])
            f.give(f.emit(f"zext i1 {alike} to i64"))
        f.give(1)
    return f


def _value_signature(module: Module, fields: Slots) -> Function:
    """The signature of an operator of a whole storage and a value; null, without an error, if unknown."""
    with module.helper("signature_of_value", [("ptr", "%memory"), ("ptr", "%operator"), ("ptr", "%storage"),
                                              ("ptr", "%x"), ("ptr", "%attributes")], "ptr") as f:
        c = RecordingCode(f, fields)
        family = c.field(c.field("%storage", "Storage.geometry"), "Geometry.family")
        flat = c.field(family, "Family.flat")
        with f.when(c.either(c.missing(flat), c.same(flat, c.object(of.NONE)))):
            f.give("null")
        part = f.variable("ptr", c.get("%x", TYPE_AT))
        with f.when(c.is_tensor("%x")):
            part.set(c.field("%x", "Handle._geometry"))
        key = c.call(of.NEW_TUPLE, "i64 4")
        with f.when(c.missing(key)):
            c.forget()
            f.give("null")
        for k, one in enumerate(("%operator", "%attributes", flat, part.get())):
            c.put(key, k, one)
        signature = c.call(of.FIND, f"ptr {c.object(of.SIGNATURES)}, ptr {key}")
        c.tell(of.LET_GO, key)
        with f.when(c.missing(signature)):
            c.forget()
            f.give("null")
        usual = c.both(*[c.same(c.field(signature, f"Signature.{name}"), c.object(wanted))
                         for name, wanted in (("single", of.TRUE), ("on_meta", of.FALSE))])
        f.give(f.choose(usual, "ptr", signature, "null"))
    return f


def record_value(module: Module, fields: Slots, node_of: Function, checked: Function) -> None:
    """``record_value``: the operator, a storage, a tensor or number, and attributes."""
    signature_of = _value_signature(module, fields)
    with module.function("record_value", PARAMETERS, "ptr") as f:
        memory = f.read("ptr", f.at("%self", DATA_AT, "i8"), 8)
        c = RecordingCode(f, fields, memory=memory)
        signature = f.variable("ptr", "null")
        f.slots.append("  %operands = alloca [2 x ptr]")
        with f.when(c.both(c.equal("%count", 4), c.missing("%names"), c.is_on())):
            operator, storage, x, attributes = [c.item("%given", k) for k in range(4)]
            suits = f.variable("i1", c.is_own(storage))
            with f.when(c.is_tensor(x)):
                suits.set(c.both(suits.get(), c.is_own(c.field(x, "Handle._storage"))))
            with f.otherwise(c.is_tensor(x)):
                suits.set(c.both(suits.get(), c.is_number(x)))
            with f.when(suits.get()):
                signature.set(str(f.run(signature_of, memory, operator, storage, x, attributes)))
                f.write("ptr", c.field(storage, "Storage.node"), "%operands", 8)
                f.write("ptr", x, f.at("%operands", 1, "ptr"), 8)
        with f.when(c.missing(signature.get())):
            f.give(c.call(of.CALL, f"ptr {c.object(of.RECORD_VALUE)}, ptr %given, i64 %count, ptr %names"))
        node = str(f.run(node_of, memory, signature.get(), "%operands", 2))
        c.need(node)
        failed = c.call(of.APPEND, f"ptr {c.object(of.PENDING)}, ptr {node}", "i32")
        with f.when(f.emit(f"icmp ne i32 {failed}, 0")):
            c.tell(of.LET_GO, node)
            f.give("null")
        with f.when(c.equal(str(f.run(checked, memory)), 0)):
            c.tell(of.LET_GO, node)
            f.give("null")
        f.give(node)


def _without_history(module: Module, fields: Slots, wants: Function) -> Function:
    """1 if nothing is taped, else 0; -1 where Python has raised an error."""
    with module.helper("without_history", [("ptr", "%memory"), ("ptr", "%x"), ("ptr", "%operands"),
                                           ("i64", "%count")], "i64") as f:
        c = RecordingCode(f, fields, -1)
        enabled, = c.thread_says(of.ENABLED)
        with f.otherwise(enabled):
            f.give(1)
        wanted = f.emit(f"or i64 {history.wanted(c, wants, '%operands', '%count')}, "
                        f"{f.run(wants, '%memory', '%x')}")
        f.give(f.emit(f"zext i1 {c.equal(wanted, 0)} to i64"))
    return f


def _written(module: Module, fields: Slots, signature_of: Function, node_of: Function) -> Function:
    """1 once the storage has its next version, or 0 where nothing was done; -1 where there is an error."""
    with module.helper("written", [("ptr", "%memory"), ("ptr", "%operator"), ("ptr", "%x"),
                                   ("ptr", "%operands"), ("i64", "%count"), ("ptr", "%attributes")],
                       "i64") as f:
        c = RecordingCode(f, fields, -1)
        signature = str(f.run(signature_of, "%memory", "%operator", "%operands", "%count", "%attributes"))
        with f.when(c.missing(signature)):
            f.give(0)
        single = c.same(c.field(signature, "Signature.single"), c.object(of.TRUE))
        result = c.get(c.field(signature, "Signature.outputs"), TUPLE_AT)
        with f.otherwise(c.both(single, c.same(result, c.field("%x", "Handle._geometry")))):
            f.give(0)
        storage = c.field("%x", "Handle._storage")
        before = c.call(of.AS_INTEGER, f"ptr {c.field(storage, 'Storage.version')}", "i64")
        version = c.call(of.NEW_INTEGER, f"i64 {f.add(before, 1)}")
        c.need(version)
        node = str(f.run(node_of, "%memory", signature, "%operands", "%count"))
        c.need(node, version)
        failed = c.call(of.APPEND, f"ptr {c.object(of.PENDING)}, ptr {node}", "i32")
        with f.otherwise(c.equal(failed, 0, "i32")):
            c.tell(of.LET_GO, node)
            c.tell(of.LET_GO, version)
            f.give(-1)
        c.replace(storage, "Storage.version", version)
        c.replace(storage, "Storage.node", node)
        f.give(1)
    return f


def write_whole(module: Module, fields: Slots, wants: Function, signature_of: Function, node_of: Function,
                checked: Function) -> None:
    """``write_whole``: the operator, the tensor to write, a tuple of operands, and maybe attributes."""
    is_written, is_apart = _is_written(module, fields), _is_apart(module, fields)
    without_history = _without_history(module, fields, wants)
    written = _written(module, fields, signature_of, node_of)
    with module.function("write_whole", PARAMETERS, "ptr") as f:
        memory = f.read("ptr", f.at("%self", DATA_AT, "i8"), 8)
        c = RecordingCode(f, fields, memory=memory)

        def leave_unless(condition: str) -> None:
            with f.otherwise(condition):
                c.tell(of.HOLD, c.object(of.FALSE))
                f.give(c.object(of.FALSE))
        few = c.either(c.equal("%count", 3), c.equal("%count", 4))
        leave_unless(c.both(few, c.missing("%names"), c.is_on()))
        operator, x, several = [c.item("%given", k) for k in range(3)]
        attributes = f.variable("ptr", c.object(of.EMPTY))
        with f.when(c.equal("%count", 4)):
            attributes.set(c.item("%given", 3))
        leave_unless(c.equal(str(f.run(is_written, memory, x)), 1))
        count, operands = c.get(several, SIZE_AT, "i64"), f.at(several, TUPLE_AT, "i8")
        leave_unless(f.compare("sle", count, _MOST))
        with f.loop(0, count) as i:
            leave_unless(c.equal(str(f.run(is_apart, memory, x, c.item(operands, i))), 1))
        bare = str(f.run(without_history, memory, x, operands, count))
        with f.when(f.compare("slt", bare, 0)):
            f.give("null")
        leave_unless(c.equal(bare, 1))
        done = str(f.run(written, memory, operator, x, operands, count, attributes.get()))
        with f.when(f.compare("slt", done, 0)):
            f.give("null")
        leave_unless(c.equal(done, 1))
        with f.when(c.equal(str(f.run(checked, memory)), 0)):
            f.give("null")
        c.tell(of.HOLD, c.object(of.TRUE))
        f.give(c.object(of.TRUE))
