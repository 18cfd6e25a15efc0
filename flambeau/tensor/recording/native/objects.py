"""Native code that makes what an operation is recorded as: its site, node, storage and tensor."""

from __future__ import annotations

from ....executors.native.llvm.build import Function, Module
from ....executors.native.programs.runtime.objects import TUPLE_AT
from .code import Python as of
from .code import RecordingCode, Slots


def site(module: Module, fields: Slots) -> Function:
    """The site of what is recorded: code and instruction of the nearest caller outside the package."""
    with module.helper("site", [("ptr", "%memory")], "ptr") as f:
        c = RecordingCode(f, fields)
        f.slots.append("  %depth = alloca ptr")
        f.write("ptr", c.object(of.ONE), "%depth", 8)
        first = c.call(of.CALL, f"ptr {c.object(of.FRAME)}, ptr %depth, i64 1, ptr null")
        c.need(first)
        frame, inner = f.variable("ptr", first), f.variable("i1", "false")
        with f.forever():
            code = c.call(of.CODE_OF, f"ptr {frame.get()}")
            name = c.field(code, "code.co_filename")
            inside = c.call(of.FIND, f"ptr {c.object(of.IS_LIBRARY)}, ptr {name}")
            known = f.emit(f"icmp ne ptr {inside}, null")
            library = c.either(c.same(inside, c.object(of.TRUE)), c.missing(inside))
            caller = f.variable("ptr", "null")
            with f.when(library):
                with f.otherwise(inner.get()):
                    inner.set("true")
                    members = c.call(of.ATTRIBUTE, f"ptr {c.object(of.STATE)}, ptr {c.object(of.MEMBERS)}")
                    c.need(members, code, frame.get())
                    given = c.find(members, of.SITE, of.NONE)
                    c.tell(of.HOLD, given)
                    c.tell(of.LET_GO, members)
                    with f.otherwise(c.same(given, c.object(of.NONE))):
                        c.tell(of.LET_GO, code)
                        c.tell(of.LET_GO, frame.get())
                        f.give(given)
                    c.tell(of.LET_GO, given)
                with f.otherwise(known):     # a file that never recorded or looked so far
                    c.tell(of.LET_GO, code)
                    f.write("ptr", frame.get(), "%depth", 8)
                    found = c.call(of.CALL, f"ptr {c.object(of.USER_FRAME)}, ptr %depth, i64 1, ptr null")
                    c.tell(of.LET_GO, frame.get())
                    f.give(found)
                caller.set(c.call(of.CALLER_OF, f"ptr {frame.get()}"))
            with f.when(c.missing(caller.get())):
                offset = c.call(of.ATTRIBUTE, f"ptr {frame.get()}, ptr {c.object(of.OFFSET)}")
                c.tell(of.LET_GO, frame.get())
                c.need(offset, code)
                site = c.call(of.NEW_TUPLE, "i64 2")
                c.need(site, code, offset)
                f.write("ptr", code, f.at(site, TUPLE_AT, "i8"), 8)
                f.write("ptr", offset, f.at(site, TUPLE_AT + 8, "i8"), 8)
                f.give(site)
            c.tell(of.LET_GO, code)
            c.tell(of.LET_GO, frame.get())
            frame.set(caller.get())
    return f


def node(module: Module, fields: Slots, site_of: Function) -> Function:
    """A new node, which is not among the pending ones yet; its one reference is the caller's."""
    with module.helper("node", [("ptr", "%memory"), ("ptr", "%signature"), ("ptr", "%operands"),
                                ("i64", "%count")], "ptr") as f:
        c = RecordingCode(f, fields)
        node = c.call(of.NEW_OBJECT, f"ptr {c.object(of.NODE)}, i64 0")
        c.need(node)
        c.share(node, "Node.signature", "%signature")
        c.share(node, "Node.value", c.object(of.NONE))
        site = str(f.run(site_of, "%memory"))
        c.need(site, node)
        c.set(node, "Node.site", site)
        operands = c.call(of.NEW_TUPLE, "i64 %count")
        c.need(operands, node)
        c.set(node, "Node.operands", operands)
        with f.loop(0, "%count") as i:
            given = c.item("%operands", i)
            x = f.variable("ptr", given)
            with f.when(c.is_tensor(given)):
                x.set(c.field(c.field(given, "Handle._storage"), "Storage.node"))
            c.tell(of.HOLD, x.get())
            f.write("ptr", x.get(), f.at(f.at(operands, i, "ptr"), TUPLE_AT, "i8"), 8)
        f.give(node)
    return f


def parts(module: Module, fields: Slots, tensor_of: Function) -> Function:
    """A tuple of so many of an operation's results, of these signatures, each on a new pending node."""
    with module.helper("parts", [("ptr", "%memory"), ("ptr", "%node"), ("ptr", "%signatures"),
                                 ("i64", "%count")], "ptr") as f:
        c = RecordingCode(f, fields)
        outs = c.call(of.NEW_TUPLE, "i64 %count")
        c.need(outs)
        with f.loop(0, "%count") as i:
            signature = c.item(f.at("%signatures", TUPLE_AT, "i8"), i)
            part = c.call(of.NEW_OBJECT, f"ptr {c.object(of.NODE)}, i64 0")
            c.need(part, outs)
            for name, value in (("signature", signature), ("value", c.object(of.NONE)),
                                ("site", c.field("%node", "Node.site"))):
                c.share(part, f"Node.{name}", value)
            operands = c.call(of.NEW_TUPLE, "i64 1")
            c.need(operands, part, outs)
            c.set(part, "Node.operands", operands)
            c.tell(of.HOLD, "%node")
            f.write("ptr", "%node", f.at(operands, TUPLE_AT, "i8"), 8)
            failed = c.call(of.APPEND, f"ptr {c.object(of.PENDING)}, ptr {part}", "i32")
            with f.when(f.emit(f"icmp ne i32 {failed}, 0")):
                c.tell(of.LET_GO, part)
                c.tell(of.LET_GO, outs)
                f.give("null")
            geometry = c.get(c.field(signature, "Signature.outputs"), TUPLE_AT)
            out = str(f.run(tensor_of, "%memory", part, geometry, geometry))
            c.need(out, outs)
            f.write("ptr", out, f.at(f.at(outs, i, "ptr"), TUPLE_AT, "i8"), 8)
        f.give(outs)
    return f


def tensor(module: Module, fields: Slots) -> Function:
    """A new tensor on a node, whose reference it takes, without history; ``stored``: how the value lies."""
    with module.helper("tensor", [("ptr", "%memory"), ("ptr", "%node"), ("ptr", "%geometry"),
                                  ("ptr", "%stored")], "ptr") as f:
        c = RecordingCode(f, fields)
        storage = c.call(of.NEW_OBJECT, f"ptr {c.object(of.STORAGE)}, i64 0")
        c.need(storage, "%node")
        c.set(storage, "Storage.node", "%node")
        for name, value in (("version", of.ZERO), ("exposed", of.FALSE), ("owner", of.NONE)):
            c.share(storage, f"Storage.{name}", c.object(value))
        c.share(storage, "Storage.geometry", "%stored")
        out = c.call(of.NEW_TENSOR, f"ptr {c.object(of.TENSOR)}, ptr {c.object(of.EMPTY)}, ptr null")
        c.need(out, storage)
        c.set(out, "Handle._storage", storage)
        c.share(out, "Handle._geometry", "%geometry")
        c.share(out, "Handle._requires_grad", c.object(of.FALSE))
        for name in ("_grad_fn", "_counter", "_base"):
            c.share(out, f"Handle.{name}", c.object(of.NONE))
        f.give(out)
    return f
