"""What native code that records has of Python: objects, functions, and where the fields of objects lie.

Its memory is two 64-bit words: the addresses of the table of objects and functions, and of ``switch``.
"""

from __future__ import annotations

from enum import IntEnum
from types import CodeType
from typing import Any

from ....config import settings
from ....executors.native.llvm.build import Function
from ....executors.native.programs.runtime.objects import SIZE_AT, TUPLE_AT, TYPE_AT, ObjectCode, slot_of
from ....graph.geometry import Family, Geometry
from ....graph.node import Node, Signature
from ....graph.storage import Derived, Storage
from ...attributes import Handle
from ...tape import GradFn, TapePlan

PYTHON, SWITCH = range(2)
# What native code has of Python, by its place in the table: objects, and functions.
Python = IntEnum("Python", """
    NONE TRUE FALSE EMPTY ZERO ONE BOOL_TYPE INT_TYPE FLOAT_TYPE COMPLEX_TYPE TUPLE_TYPE LIST_TYPE NODE
    STORAGE TURNED TENSOR PARAMETER BUFFER SIGNATURES PENDING SETTINGS STATE MEMBERS ENABLED INFERRING WATCHED
    SITE IS_LIBRARY OFFSET OUTPUT_NUMBER INFERENCE NO_GRADIENT SEQUENCE FRAME USER_FRAME CHECK_BUDGET
    ATTACH PARTS_OF RECORD RECORD_ONE RECORD_PAIR RECORD_SCALED RECORD_THREE HOLD LET_GO NEW_TUPLE
    NEW_OBJECT NEW_TENSOR APPEND FIND ATTRIBUTE EQUAL AS_INTEGER NEW_INTEGER NEXT CALL CODE_OF
    CALLER_OF FORGET SET_ATTRIBUTE GRAD HOOKS VIEW VIEWS MULTIPLE NEW_LIST SUBSCRIPTS
    FIND_OUT SLICE_TYPE ELLIPSIS AT_ONCE RAISED PARTS RECORD_VALUE
""", start=0)
# Those that are functions of Python's, by their names.
FUNCTIONS: dict[int, str] = {
    Python.HOLD: "Py_IncRef",
    Python.LET_GO: "Py_DecRef",
    Python.NEW_TUPLE: "PyTuple_New",
    Python.NEW_OBJECT: "PyType_GenericAlloc",
    Python.APPEND: "PyList_Append",
    Python.FIND: "PyDict_GetItemWithError",
    Python.ATTRIBUTE: "PyObject_GetAttr",
    Python.EQUAL: "PyObject_RichCompareBool",
    Python.AS_INTEGER: "PyLong_AsLongLong",
    Python.NEW_INTEGER: "PyLong_FromLongLong",
    Python.NEXT: "PyIter_Next",
    Python.CALL: "PyObject_Vectorcall",
    Python.CODE_OF: "PyFrame_GetCode",
    Python.CALLER_OF: "PyFrame_GetBack",
    Python.FORGET: "PyErr_Clear",
    Python.SET_ATTRIBUTE: "PyObject_SetAttr",
    Python.NEW_LIST: "PyList_New",
    Python.RAISED: "PyErr_Occurred",
}
# Of what native code is called with: an array, how many there are before keywords, and these words.
PARAMETERS = [("ptr", "%self"), ("ptr", "%given"), ("i64", "%count"), ("ptr", "%names")]
# What a thread's state is where it was never set, and what it is asked to be.
_ASKED: dict[int, tuple[int, int]] = {
    Python.ENABLED: (Python.TRUE, Python.TRUE), Python.INFERRING: (Python.FALSE, Python.TRUE),
    Python.WATCHED: (Python.FALSE, Python.TRUE), Python.AT_ONCE: (Python.NONE, Python.NONE)}
# Where fields lie, by the name of what has them.
Slots = tuple[tuple[str, int], ...]
_FIELDS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (Node, ("signature", "operands", "value", "site")),
    (Storage, ("node", "version", "exposed", "geometry", "owner")),
    (Derived, ("source", "read")),
    (Handle, ("_storage", "_geometry", "_requires_grad", "_grad_fn", "_counter", "_base", "_view",
              "_base_version")),
    (Signature, ("single", "on_meta", "outputs", "tape_plans")),
    (TapePlan, ("kept", "single", "results", "grad_class")),
    (GradFn, ("signature", "plan", "numbers", "edges", "saved", "sequence", "hooks", "trace")),
    (CodeType, ("co_filename",)),
    (Geometry, ("family",)),
    (Family, ("flat",)),
    (type(settings), ("check_at", "backward_templates")),
)


def slots() -> Slots:
    """The fields that native code reads and writes."""
    return tuple([(f"{kind.__name__}.{name}", slot_of(kind, name))
                  for kind, names in _FIELDS for name in names])


class RecordingCode(ObjectCode):
    """A function that records; ``failed`` is what it gives where Python raised an error."""

    def __init__(self, f: Function, fields: Slots, failed: str | int = "null",
                 memory: str = "%memory") -> None:
        super().__init__(f, memory, PYTHON)
        self.fields = dict(fields)
        self.failed = failed

    def field(self, x: str, name: str) -> str:
        """What a field of an object refers to; null where it was never set."""
        return self.get(x, self.fields[name])

    def set(self, x: str, name: str, value: str) -> None:
        """Let a field of a new object have a reference that is this function's own."""
        self.f.write("ptr", value, self.f.at(x, self.fields[name], "i8"), 8)

    def share(self, x: str, name: str, value: str) -> None:
        """The same for a reference of its own."""
        self.tell(Python.HOLD, value)
        self.set(x, name, value)

    def put(self, items: str, i: int, value: str) -> None:
        """Let a new tuple have a reference of its own."""
        self.tell(Python.HOLD, value)
        self.f.write("ptr", value, self.f.at(items, TUPLE_AT + 8 * i, "i8"), 8)

    def replace(self, x: str, name: str, value: str) -> None:
        """Let a field have a reference that is this function's own, instead of another."""
        before = self.field(x, name)
        self.set(x, name, value)
        self.tell(Python.LET_GO, before)

    def missing(self, x: str) -> str:
        return self.f.emit(f"icmp eq ptr {x}, null")

    def need(self, x: str, *owned: str) -> None:
        """Where there is no ``x``, Python has raised an error: let go of what is owned."""
        with self.f.when(self.missing(x)):
            for one in owned:
                self.tell(Python.LET_GO, one)
            self.f.give(self.failed)

    def either(self, *conditions: str) -> str:
        found, *others = conditions
        for one in others:
            found = self.f.emit(f"or i1 {found}, {one}")
        return found

    def both(self, *conditions: str) -> str:
        found, *others = conditions
        for one in others:
            found = self.f.emit(f"and i1 {found}, {one}")
        return found

    def is_type(self, kind: str, *types: int) -> str:
        return self.either(*[self.same(kind, self.object(k)) for k in types])

    def is_tensor(self, x: str) -> str:
        """Whether it is a tensor whose fields nobody has overridden."""
        return self.is_type(self.get(x, TYPE_AT), Python.TENSOR, Python.PARAMETER, Python.BUFFER)

    def is_own(self, storage: str) -> str:
        """Whether a storage's value is its own, and nobody outside sees it."""
        return self.both(self.same(self.get(storage, TYPE_AT), self.object(Python.STORAGE)),
                         self.same(self.field(storage, "Storage.exposed"), self.object(Python.FALSE)))

    def is_number(self, x: str) -> str:
        """Whether it is a number, or None, which stands for an operand that is not there."""
        kinds = Python.FLOAT_TYPE, Python.INT_TYPE, Python.BOOL_TYPE, Python.COMPLEX_TYPE
        return self.either(self.is_type(self.get(x, TYPE_AT), *kinds), self.same(x, self.object(Python.NONE)))

    def thread_says(self, *asked: int) -> list[str]:
        """Whether this thread's state is, of each that is asked, what ``_ASKED`` has."""
        members = self.call(Python.ATTRIBUTE,
                            f"ptr {self.object(Python.STATE)}, ptr {self.object(Python.MEMBERS)}")
        self.need(members)
        found = [self.same(self.find(members, name, _ASKED[name][0]), self.object(_ASKED[name][1]))
                 for name in asked]
        self.tell(Python.LET_GO, members)
        return found

    def is_on(self) -> str:
        """Whether nobody is to be asked before an operator is recorded, and nobody steps through it."""
        wanted = self.field(self.object(Python.SETTINGS), "_Settings.backward_templates")
        return self.both(self.equal(self.get(self.word(SWITCH, "ptr"), 0, "i64"), 1),
                         self.same(wanted, self.object(Python.TRUE)))

    def forget(self) -> None:
        """Forget an error that Python may have raised."""
        self.f.effect(f"call void {self.object(Python.FORGET)}()")

    def size(self, x: str) -> str:
        return self.get(x, SIZE_AT, "i64")

    def find(self, table: str, key: int, default: int) -> str:
        """What a dictionary has for a string, or else this object."""
        found = self.call(Python.FIND, f"ptr {table}, ptr {self.object(key)}")
        return self.f.choose(self.missing(found), "ptr", self.object(default), found)

    def item(self, items: str, i: str | int) -> str:
        """An element of an array of references."""
        return self.f.read("ptr", self.f.at(items, i, "ptr"), 8)
