"""Native code that records an operation, as ``record`` and its short ways do.

Note: native recording. A program that trains spends most of a short step's time recording it. Once a graph
has come back, native code takes the place of ``record``, ``record_one``, ``record_pair``, ``record_scaled``
and ``record_three``, and of what makes views and writes tensors: for an operation whose signature is known,
of tensors of this library's own classes that nobody outside sees, it makes the same objects in the same
order. Anything else it hands on to the function whose place it took, before it has done anything.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from ....config import settings
from ....executors.native.llvm.build import Function, Module
from ....executors.native.llvm.compiling.code import kernels
from ....executors.native.llvm.compiling.effort import Effort
from ....executors.native.programs.glances.glance import node_layout_is_known
from ....executors.native.programs.runtime.objects import (
    DATA_AT,
    ITEMS_AT,
    TUPLE_AT,
    TYPE_AT,
    WITH_KEYWORDS,
    address_of,
    for_ever,
    method,
    table_of,
)
from ....graph import pending
from ....graph.node import Node
from ....graph.site import is_library_file, user_frame
from ....graph.storage import Storage
from ...tape import INFERENCE, next_sequence, state
from ...tensor import Tensor
from ..history import attach
from ..signing import parts, parts_of, signatures
from ..tape_plans import NO_GRADIENT
from . import history, objects, taping, views
from .code import FUNCTIONS, PARAMETERS, RecordingCode, Slots, slots
from .code import Python as of
from .subscripts import known_view, slice_layout_is_known
from .writing import record_value, write_whole

record: Any = import_module("..record", __package__)    # the module, whose name its function has there
_NEW = 65                       # the number of the slot that makes an object (Py_tp_new)
_MOST = 32                      # operands
# What is recorded natively: the function, how many operands its arguments are, whether attributes may follow.
_WAYS = (("record_one", of.RECORD_ONE, 1, True), ("record_pair", of.RECORD_PAIR, 2, True),
         ("record_scaled", of.RECORD_SCALED, 2, True),
         ("record_three", of.RECORD_THREE, 3, False))


def begin() -> None:
    """Let native code record from now on, wherever the package has the names of what records."""
    if settings.backward_templates and node_layout_is_known():
        _take_places()


@cache
def _take_places() -> None:
    instead = native_ways()
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] == _PACKAGE:
            known = vars(module)
            for key, value in [*known.items()]:
                if value.__class__ is FunctionType and value in instead:
                    known[key] = instead[value]


@cache
def native_ways() -> dict[Any, Any]:
    """``record``, its short ways and others in Python, and what is native instead of each."""
    memory = np.array([address_of(table()), address_of(record.switch)], np.int64)
    functions = entries(slots())
    found = {vars(record)[name]: method(name, functions[name], WITH_KEYWORDS).of(memory)
             for name in ("record", *[name for name, *_ in _WAYS])}
    found[record.record_numbers] = found[record.record]     # they take the same
    others = [attach, record.record_value, record.aliasing["view"], record.aliasing["write_whole"]]
    if slice_layout_is_known():
        others.append(record.aliasing["known_view"])
    for function in others:
        name = function.__name__
        found[function] = method(name, functions[name], WITH_KEYWORDS).of(memory)
    return found


_PACKAGE = __name__.partition(".")[0]


@cache
def table() -> Any:
    """What native code has of Python; of ``record`` and its short ways, what is not native."""
    counted: Any = next_sequence
    kinds, aliasing = [*record.plain_classes, Tensor, Tensor], record.aliasing
    given: dict[int, Any] = {
        of.NONE: None, of.TRUE: True, of.FALSE: False, of.EMPTY: (), of.ZERO: 0, of.ONE: 1,
        of.BOOL_TYPE: bool, of.INT_TYPE: int, of.FLOAT_TYPE: float, of.COMPLEX_TYPE: complex,
        of.TUPLE_TYPE: tuple, of.LIST_TYPE: list, of.NODE: Node, of.STORAGE: Storage,
        of.TURNED: record.derived[0], of.TENSOR: Tensor, of.PARAMETER: kinds[0], of.BUFFER: kinds[1],
        of.SIGNATURES: signatures, of.PENDING: pending.nodes, of.SETTINGS: settings,
        of.STATE: state, of.MEMBERS: "__dict__", of.ENABLED: "enabled", of.INFERRING: "inference",
        of.WATCHED: "watched", of.SITE: "site", of.IS_LIBRARY: is_library_file, of.OFFSET: "f_lasti",
        of.OUTPUT_NUMBER: "_output_nr", of.INFERENCE: INFERENCE, of.NO_GRADIENT: NO_GRADIENT,
        of.SEQUENCE: counted.__self__, of.FRAME: sys._getframe, of.USER_FRAME: user_frame,
        of.CHECK_BUDGET: record.check_budget, of.ATTACH: attach, of.PARTS_OF: parts_of, of.PARTS: parts,
        of.RECORD: record.record, of.RECORD_VALUE: record.record_value, of.GRAD: "_grad", of.HOOKS: "_hooks",
        of.MULTIPLE: "_multiple", of.VIEW: aliasing["view"], of.VIEWS: aliasing["signatures"],
        of.SUBSCRIPTS: aliasing["known"], of.FIND_OUT: aliasing["find_out"], of.SLICE_TYPE: slice,
        of.ELLIPSIS: Ellipsis, of.AT_ONCE: "at_once",
        **{at: vars(record)[name] for name, at, *_ in _WAYS},
    }
    found = for_ever(table_of(for_ever(given), {**FUNCTIONS, of.NEW_TENSOR: "PyType_GetSlot"}))
    slot_of_type = ctypes.pythonapi.PyType_GetSlot
    slot_of_type.restype, slot_of_type.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_int)
    found[of.NEW_TENSOR] = slot_of_type(object, _NEW)
    return found


def _signature(module: Module, fields: Slots) -> Function:
    """The signature of an operation; null, without an error, where it is not recorded here."""
    with module.helper("signature_of", [("ptr", "%memory"), ("ptr", "%operator"), ("ptr", "%operands"),
                                        ("i64", "%count"), ("ptr", "%attributes")], "ptr") as f:
        c = RecordingCode(f, fields)
        key = c.call(of.NEW_TUPLE, f"i64 {f.add('%count', 2)}")
        with f.when(c.missing(key)):
            c.forget()
            f.give("null")
        for k, given in enumerate(("%operator", "%attributes")):
            c.tell(of.HOLD, given)
            f.write("ptr", given, f.at(key, TUPLE_AT + 8 * k, "i8"), 8)
        with f.loop(0, "%count") as i:
            x = c.item("%operands", i)
            part, suits = f.variable("ptr", c.get(x, TYPE_AT)), f.variable("i1", "false")
            tensor = c.is_tensor(x)
            with f.when(tensor):
                part.set(c.field(x, "Handle._geometry"))
                storage = c.field(x, "Handle._storage")
                own = f.variable("ptr", storage)
                with f.when(c.same(c.get(storage, TYPE_AT), c.object(of.TURNED))):
                    source = c.field(storage, "Derived.source")
                    # What was made of the source's value is still it (Note: turned storages).
                    with f.when(c.same(c.field(source, "Storage.node"), c.field(storage, "Derived.read"))):
                        own.set(source)
                suits.set(c.same(c.get(own.get(), TYPE_AT), c.object(of.STORAGE)))
                with f.when(suits.get()):
                    suits.set(c.same(c.field(own.get(), "Storage.exposed"), c.object(of.FALSE)))
            with f.otherwise(tensor):
                suits.set(c.is_number(x))
            with f.otherwise(suits.get()):
                c.tell(of.LET_GO, key)
                f.give("null")
            c.tell(of.HOLD, part.get())
            f.write("ptr", part.get(), f.at(f.at(key, i, "ptr"), TUPLE_AT + 16, "i8"), 8)
        signature = c.call(of.FIND, f"ptr {c.object(of.SIGNATURES)}, ptr {key}")
        c.tell(of.LET_GO, key)
        with f.when(c.missing(signature)):
            c.forget()
            f.give("null")
        on_meta = c.same(c.field(signature, "Signature.on_meta"), c.object(of.TRUE))
        f.give(f.choose(on_meta, "ptr", "null", signature))
    return f


def _recorded(module: Module, fields: Slots, wants: Function, taped: Function, signature_of: Function,
              node_of: Function, checked: Function) -> Function:
    """The result of an operation, or a tuple of them; ``None``, not a reference, where nothing was done.

    ``enough``: of several results without a history, how many are made.
    """
    is_taped = taping.is_taped(module, fields, wants)
    tensor_of = objects.tensor(module, fields)
    parts_of = objects.parts(module, fields, tensor_of)
    with module.helper("recorded", [("ptr", "%memory"), ("ptr", "%operator"), ("ptr", "%operands"),
                                    ("i64", "%count"), ("ptr", "%attributes"), ("i64", "%enough")],
                       "ptr") as f:
        c = RecordingCode(f, fields)
        signature = str(f.run(signature_of, "%memory", "%operator", "%operands", "%count", "%attributes"))
        with f.when(c.missing(signature)):
            f.give(c.object(of.NONE))
        node = str(f.run(node_of, "%memory", signature, "%operands", "%count"))
        c.need(node)
        pending = c.object(of.PENDING)
        with f.when(f.emit(f"icmp ne i32 {c.call(of.APPEND, f'ptr {pending}, ptr {node}', 'i32')}, 0")):
            c.tell(of.LET_GO, node)
            f.give("null")
        result, first, outs = (f.variable("ptr", "null") for _ in range(3))
        single = c.same(c.field(signature, "Signature.single"), c.object(of.TRUE))
        with f.when(single):
            geometry = c.get(c.field(signature, "Signature.outputs"), TUPLE_AT)
            result.set(str(f.run(tensor_of, "%memory", node, geometry, geometry)))
            c.need(result.get())
            first.set(result.get())
        with f.otherwise(single):
            several = f.variable("ptr", c.call(of.FIND, f"ptr {c.object(of.PARTS)}, ptr {signature}"))
            known = f.emit(f"icmp ne ptr {several.get()}, null")
            with f.when(known):
                c.tell(of.HOLD, several.get())
            with f.otherwise(known):
                c.forget()
                f.slots.append("  %asked = alloca ptr")
                f.write("ptr", signature, "%asked", 8)
                several.set(c.call(of.CALL, f"ptr {c.object(of.PARTS_OF)}, ptr %asked, i64 1, ptr null"))
                c.need(several.get(), node)
            signatures = several.get()
            there = c.size(signatures)
            many = f.variable("i64", there)
            with f.when(f.compare("slt", "%enough", there)):
                asked = str(f.run(is_taped, "%memory", "%operands", "%count"))
                with f.when(f.compare("slt", asked, 0)):
                    c.tell(of.LET_GO, signatures)
                    c.tell(of.LET_GO, node)
                    f.give("null")
                with f.when(c.equal(asked, 0)):
                    many.set("%enough")
            result.set(str(f.run(parts_of, "%memory", node, signatures, many.get())))
            c.tell(of.LET_GO, signatures)
            c.tell(of.LET_GO, node)
            c.need(result.get())
            outs.set(result.get())
        out = result.get()
        done = f.run(taped, "%memory", "%operator", signature, "%operands", "%count", first.get(), outs.get())
        with f.when(c.equal(str(done), 0)):
            c.tell(of.LET_GO, out)
            f.give("null")
        with f.when(c.equal(str(f.run(checked, "%memory")), 0)):
            c.tell(of.LET_GO, out)
            f.give("null")
        f.give(out)
    return f


def _way(module: Module, fields: Slots, recorded: Function, name: str, instead: int, count: int,
         attributed: bool) -> None:
    """One of the short ways: the operator, operands, and maybe attributes."""
    with module.function(name, PARAMETERS, "ptr") as f:
        memory = f.read("ptr", f.at("%self", DATA_AT, "i8"), 8)
        c = RecordingCode(f, fields, memory=memory)
        fits = c.equal("%count", count + 1)
        if attributed:
            fits = c.either(fits, c.equal("%count", count + 2))
        with f.when(c.both(fits, c.missing("%names"), c.is_on())):
            attributes = f.variable("ptr", c.object(of.EMPTY))
            if attributed:
                with f.when(c.equal("%count", count + 2)):
                    attributes.set(c.item("%given", count + 1))
            out = str(f.run(recorded, memory, c.item("%given", 0), f.at("%given", 1, "ptr"), count,
                            attributes.get(), _EVERY))
            with f.otherwise(c.same(out, c.object(of.NONE))):
                f.give(out)
        f.give(c.call(of.CALL, f"ptr {c.object(instead)}, ptr %given, i64 %count, ptr %names"))


def _general(module: Module, fields: Slots, recorded: Function) -> None:
    """``record`` itself: the operator, a list or tuple of operands, maybe attributes, and what is enough."""
    with module.function("record", PARAMETERS, "ptr") as f:
        memory = f.read("ptr", f.at("%self", DATA_AT, "i8"), 8)
        c = RecordingCode(f, fields, memory=memory)
        fits = c.both(f.compare("sge", "%count", 2), f.compare("sle", "%count", 4))
        with f.when(c.both(fits, c.missing("%names"), c.is_on())):
            several = c.item("%given", 1)
            kind, count = c.get(several, TYPE_AT), c.size(several)
            listed = c.is_type(kind, of.LIST_TYPE)
            with f.when(c.both(c.either(listed, c.is_type(kind, of.TUPLE_TYPE)),
                               f.compare("sle", count, _MOST))):
                operands = f.variable("ptr", f.at(several, TUPLE_AT, "i8"))
                with f.when(listed):
                    operands.set(c.get(several, ITEMS_AT))
                attributes = f.variable("ptr", c.object(of.EMPTY))
                with f.when(f.compare("sge", "%count", 3)):
                    attributes.set(c.item("%given", 2))
                enough = f.variable("i64", _EVERY)
                with f.when(c.equal("%count", 4)):
                    given = c.item("%given", 3)
                    with f.when(c.is_type(c.get(given, TYPE_AT), of.INT_TYPE)):
                        enough.set(c.call(of.AS_INTEGER, f"ptr {given}", "i64"))
                out = str(f.run(recorded, memory, c.item("%given", 0), operands.get(), count,
                                attributes.get(), enough.get()))
                with f.otherwise(c.same(out, c.object(of.NONE))):
                    f.give(out)
        f.give(c.call(of.CALL, f"ptr {c.object(of.RECORD)}, ptr %given, i64 %count, ptr %names"))


_EVERY = (1 << 63) - 1      # results are enough


@kernels("recording", Effort.FEW)
def entries(fields: Slots) -> str:
    """``record``, its short ways and others, methods: their memory is the data of the array ``self``."""
    module = Module()
    wants = history.wants(module, fields)
    attached = history.attach(module, fields, wants)
    taped = taping.taped(module, fields, wants, attached)
    checked, signature_of = taping.checked(module, fields), _signature(module, fields)
    node_of = objects.node(module, fields, objects.site(module, fields))
    recorded = _recorded(module, fields, wants, taped, signature_of, node_of, checked)
    for name, instead, count, attributed in _WAYS:
        _way(module, fields, recorded, name, instead, count, attributed)
    _general(module, fields, recorded)
    is_viewed, shown = views.fits(module, fields), views.shown(module, fields)
    made_view = views.made(module, fields, wants, taped, is_viewed, shown)
    views.view(module, fields, made_view)
    known_view(module, fields, wants, is_viewed, shown, made_view)
    views.attach(module, fields, wants, attached)
    write_whole(module, fields, wants, signature_of, node_of, checked)
    record_value(module, fields, node_of, checked)
    return module.text()
