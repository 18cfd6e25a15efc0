"""What lies in memory for kin, and how native code reads it (Note: kin, in ``kin.py``).

In 64-bit words: the header, then tables, whose rows have so many words:

    STEPS     of the tape (``playing.py``)
    FORMS     of each node in the order of recording: the form that it must have, and where its signature is
              written for the glance; zeros where the glance has the one that it must be
    PAIRS     two nodes that have one signature
    SAID      node, field of its signature, which element of it (or WHOLE, or LENGTH), what it must be
    READS     what is read of a signature, see ``READ_WORDS``
    WORDS     a register, and the address to which its number goes
    MOVED     the same, and what is added: where the arena, and the value in it, begins
    SIZES     a register, and how large it may be: there is no more room
    COUNTS    a register with a number of elements, their size, the address of the array's row
"""

from __future__ import annotations

from ...llvm.build import Function
from ..runtime.objects import ObjectCode

TABLES = STEPS, FORMS, PAIRS, SAID, READS, WORDS, MOVED, SIZES, COUNTS = range(9)
WIDTHS = 5, 2, 2, 4, 12, 2, 3, 2, 3
# Beside each table's address and number of rows: Python's functions and objects, the next kin of the same
# forms or 0, the memory of the glance, room for pointers to signatures, the registers of the tape, for how
# many threads it was recorded, the program, where the arena's address stands, the register that has modelled
# nanoseconds, from how many on a program is long; how many numbers there are, room for how often some came
# (of each the number that stands for them, and how often), for how many it is (a power of two), and how often
# is enough; and whether it was found since somebody asked.
(PYTHON, NEXT, GLANCE, FOUND, REGISTERS, THREADS, PROGRAM, ARENA, NANOSECONDS, LONG_FROM, NUMBERS, COMINGS,
 COMINGS_SIZE, ENOUGH, USED) = range(2 * len(TABLES), 2 * len(TABLES) + 15)
HEADER_WORDS = USED + 1

WHOLE_FIELD, LENGTH = -1, -2
# Of what is read: the node, the field of its signature, the place there in bytes, its kind; how many integers
# it has, or dimensions; where it is said what these are, INTEGER_WORDS each; the row of the same one before,
# or 0; where the shift of a moving operand goes, or 0; what is compared with it; room for its address; the
# size and the type of an element.
(NODE, FIELD, PLACE, KIND, NUMBER, INTEGERS, AGAIN, SHIFT, EXPECTED, MET, SIZE_OF, TYPE_OF) = range(12)
READ_WORDS = 12
GEOMETRY, GEOMETRY_SAID, TUPLE, INTEGER = range(4)
# Of an integer: whether it is a constant, the first that is a certain number, another one, or None; that
# constant, or the number's register; and the lesser of it and 2, or ANY.
INTEGER_WORDS = 3
CONSTANT, FIRST, SAME, NOTHING = range(4)
ANY = 1 << 62
REFUSED, READY, WAITS, SHARED, FREQUENT, RAISED = range(6)  # what is said of a graph

# The table of what is Python's.
(NONE, HOLD, LET_GO, AS_INTEGER, AS_DOUBLE, NEW_INTEGER, NEW_FLOAT, CALL, OCCURRED, FORGET, COMPARE, INT_TYPE,
 FLOAT_TYPE, TUPLE_TYPE, SETTINGS, IS_RAISED, ERRORS) = range(17)


class KinCode(ObjectCode):
    """A function that is given kin, with what it reads."""

    def __init__(self, f: Function, kin: str) -> None:
        super().__init__(f, kin, PYTHON)

    def table(self, k: int) -> tuple[str, str]:
        """Address and number of rows of a table."""
        return self.word(2 * k, "ptr"), self.word(2 * k + 1)

    def refuse_unless(self, condition: str) -> None:
        with self.f.otherwise(condition):
            self.f.give(0)

    def whole(self, x: str) -> str:
        """The value of an integer of Python's, which must have room in 64 bits."""
        n = self.call(AS_INTEGER, f"ptr {x}", "i64")
        with self.f.when(self.equal(n, -1)):
            self.refuse_unless(self.same(self.call(OCCURRED, ""), "null"))
        return n

    def tell_nothing(self, k: int) -> None:
        """Call a function of nothing that gives nothing."""
        self.f.effect(f"call void {self.object(k)}()")

    def register(self, at: str) -> str:
        """The address of a register."""
        return self.f.at(self.word(REGISTERS, "ptr"), at, "i8")
