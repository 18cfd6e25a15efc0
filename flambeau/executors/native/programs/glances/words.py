"""What lies in memory for a glance, and how native code reads it.

A glance in memory, in 64-bit words: the header, then its tables, whose rows have so many words:

    NODES     address of the signature, references to the node, number of operands
    FIRST     node, place in its operands: where a leaf is first met
    AGAIN     node, place in its operands, and which node or leaf (numbered after the nodes) must be there
    NUMBERS   node, place in its operands, kind of the word, its address
    LEAVES    which leaf the next slot takes
    FRESH     the array that the next slot takes (``new_arrays.py``)
    OWNED     which leaf the next slot takes to be overwritten, and how many operands refer to it
    GIVEN     node, slot
    REUSED    slot, its number among FRESH, which leaf's array it may take instead (Note: arrays that are used
              again), and how many operands refer to that

A node's place is its position in the order of recording; an operand's place is in bytes.

Of a node whose signature is the expected one but for where its operands lie (Note: moving operands), operands
are *shifted* by so many bytes: a leaf is a node and its shift.
"""

from __future__ import annotations

from ...llvm.build import Function
from ..runtime.new_arrays import ROW_WORDS
from ..runtime.objects import ObjectCode

TABLES = NODES, FIRST, AGAIN, NUMBERS, LEAVES, FRESH, OWNED, GIVEN, REUSED = range(9)
WIDTHS = 3, 2, 3, 4, 1, ROW_WORDS, 2, 2, 4
# Beside each table's address and number of rows: the program, its number of slots, where the arena's address
# stands, room for pointers to nodes and leaves and for shifts, Python's functions and objects, whether it is
# so long that others get the interpreter lock meanwhile, room for a set of leaves, its size (a power of two),
# whether it was found in the book since somebody asked, room for a number of elements, and from when it is
# ready until its values are given the list of its nodes, otherwise 0, and that of its arrays. Of kin (Note:
# kin), for each node where it is said how far its operands are shifted, and of which type they are.
(PROGRAM, SLOTS, ARENA, FOUND, PYTHON, LONG, SET, ROOM, USED, COUNT, LIVE,
 VALUES, STARTS) = range(2 * len(TABLES), 2 * len(TABLES) + 13)
HEADER_WORDS = STARTS + 1
FLOAT, DOUBLE, HALF, BFLOAT, INTEGER, INT32, INT16, INT8, UINT8 = range(9)
MIXER = 0x9E3779B97F4A7C15 - (1 << 64)     # 2 ** 64 by the golden ratio: neighbours come to lie apart
# The book: the functions and objects of Python, how many places it has (a power of two), and at each place
# the number of a graph's signatures and the address of its glance, or zeros. After these places come others,
# with the number of a graph's forms and the address of its kin (Note: kin): how many, 0 where there is none,
# what tells whether a graph is kin, which kin was asked last, or 0, and what it said where others run it.
(BOOK_PYTHON, BOOK_SIZE, BOOK_KIN_SIZE, BOOK_FIT, BOOK_KIN, BOOK_SAID, BOOK_FORM_AT, BOOK_PLACES) = range(8)

# The table of what is Python's and NumPy's.
(NONE, TRUE, EMPTY, NODE_TYPE, HOLD, LET_GO, NEW_LIST, SLICE, SET_SLICE, AS_DOUBLE, AS_INTEGER, OCCURRED,
 FORGET, NUMPY, START, SETTLED_AT, RELEASE, TAKE, BIND, NEW_INTEGER) = range(20)

OPERANDS_AT, SIGNATURE_AT, SITE_AT, VALUE_AT = 16, 24, 32, 40   # slots lie in alphabetical order


class GlanceCode(ObjectCode):
    """A function that is given a glance, with what glances read."""

    def __init__(self, f: Function, glance: str) -> None:
        super().__init__(f, glance, PYTHON)

    def table(self, k: int) -> tuple[str, str]:
        """Address and number of rows of a table."""
        return self.word(2 * k, "ptr"), self.word(2 * k + 1)

    def place(self, k: int) -> str:
        """The address of a word."""
        return self.f.at(self.memory, k, "i64")

    def row(self, table: int, base: str, i: str) -> str:
        return self.f.at(base, self.f.mul(i, WIDTHS[table]), "i64")

    def found(self, i: str) -> str:
        """Where the pointer to a node or leaf is kept."""
        return self.f.at(self.word(FOUND, "ptr"), i, "ptr")

    def leaf(self, i: str) -> str:
        return self.get(self.found(self.f.add(self.word(2 * NODES + 1), i)), 0)

    def shift(self, i: str) -> str:
        """Where the shift of a leaf is kept."""
        both = self.f.add(self.word(2 * NODES + 1), self.word(2 * FIRST + 1))
        return self.found(self.f.add(both, i))

    def operand(self, row: str) -> str:
        """The operand at the node and place that a row begins with."""
        node = self.get(self.found(self.get(row, 0, "i64")), 0)
        return self.get(self.get(node, OPERANDS_AT), self.get(row, 8, "i64"))

    def refuse_unless(self, condition: str) -> None:
        with self.f.otherwise(condition):
            self.f.give(0)


def settled(c: ObjectCode, signature: str) -> str:
    """What a signature keeps of its operands (``moving.py``), or None, also where nobody said so."""
    kept = c.get(signature, c.get(c.python, 8 * SETTLED_AT, "i64"))
    return c.f.choose(c.same(kept, "null"), "ptr", c.object(NONE), kept)
