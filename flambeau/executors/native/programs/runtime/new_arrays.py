"""Native code that makes the arrays of results.

Note: aligned results. NumPy's memory begins at any multiple of 16 bytes, so that wide loads and stores cross
cache lines, or do not, by chance. Results of more than a kilobyte (of smaller ones NumPy keeps a stock) lie
in memory that begins at a multiple of 64. The array owns it, and names the functions that free it: a *data
memory handler*, as NumPy calls it (NEP 49). Large ones are blocks of the pool (Note: the pool), others the C
library's.

In memory, in 64-bit words: a row per array (ELEMENTS, TYPE of elements, BYTES), and a table of what is
Python's and NumPy's.
"""

from __future__ import annotations

from ...llvm.build import Function, Module
from .objects import BASE_AT, DATA_AT, DTYPE_AT, EXTENTS_AT, FLAGS_AT, HANDLER_AT, ITEMS_AT, STRIDES_AT
from .pool import BEFORE, GIVEN, LARGE, SIZE, Pool, get, is_null, put

ELEMENTS, TYPE, BYTES = range(3)
ROW_WORDS = 3
ARRAY_TYPE, HANDLER, POOL, NEW_ARRAY, NEW_LIST, HOLD, LET_GO, NO_MEMORY = range(8)

_OWNS, _PLAIN = 0x4, 0x501      # flags: frees its memory; in order, aligned, may be written
_ALIGN = 64
_LEAST = 1 << 10      # bytes


class Memory:
    """Functions for others of a module: ``take(pool, size)``, null if there is none; ``give``."""

    def __init__(self, module: Module) -> None:
        self.pool = Pool(module)
        self.take = self._take(module)
        self.give = self._give(module)

    def _take(self, module: Module) -> Function:
        with module.helper("take_memory", [("ptr", "%pool"), ("i64", "%size")], "ptr") as f:
            with f.when(f.compare("sge", "%size", LARGE)):
                f.give(str(f.run(self.pool.take, "%pool", "%size")))
            given = f.call("malloc", "ptr", ["i64"], [f.add("%size", BEFORE)])
            with f.when(is_null(f, given)):
                f.give("null")
            found = _aligned(f, given)
            put(f, found, GIVEN, given, "ptr")
            put(f, found, SIZE, f.sub(0, "%size"))
            f.give(found)
        return f

    def _give(self, module: Module) -> Function:
        with module.helper("give_memory", [("ptr", "%pool"), ("ptr", "%memory")]) as f:
            own = f.compare("sgt", get(f, "%memory", SIZE), 0)
            with f.when(own):
                f.run(self.pool.give, "%pool", "%memory")
            with f.otherwise(own):
                f.do("free", ["ptr"], [get(f, "%memory", GIVEN, "ptr")])
        return f


def _aligned(f: Function, given: str) -> str:
    """Where aligned memory begins in what the C library gave: 32 bytes after its beginning, or more."""
    after = f.add(f.emit(f"ptrtoint ptr {given} to i64"), BEFORE)
    return f.emit(f"inttoptr i64 {f.emit(f'and i64 {after}, {-_ALIGN}')} to ptr")


def handler(module: Module, memory: Memory) -> None:
    """The functions of a data memory handler, whose context is the pool."""
    context = ("ptr", "%pool")
    with module.function("take", [context, ("i64", "%size")], "ptr") as f:
        f.give(str(f.run(memory.take, "%pool", "%size")))
    with module.function("take_zeros", [context, ("i64", "%count"), ("i64", "%each")], "ptr") as f:
        size = f.mul("%count", "%each")
        found = str(f.run(memory.take, "%pool", size))
        with f.otherwise(is_null(f, found)):
            f.clear(found, size)
        f.give(found)
    with module.function("resize", [context, ("ptr", "%old"), ("i64", "%size")], "ptr") as f:
        found = str(f.run(memory.take, "%pool", "%size"))
        with f.when(is_null(f, found)):
            f.give("null")
        noted = get(f, "%old", SIZE)
        have = f.choose(f.compare("sgt", noted, 0), "i64", f.sub(noted, BEFORE), f.sub(0, noted))
        f.copy(found, "%old", f.least(have, "%size"))
        f.run(memory.give, "%pool", "%old")
        f.give(found)
    with module.function("release", [context, ("ptr", "%old"), ("i64", "%size")]) as f:
        with f.otherwise(is_null(f, "%old")):
            f.run(memory.give, "%pool", "%old")


def new_array(module: Module, memory: Memory) -> Function:
    """``new_array(table, row)``: an array; null on an error."""
    with module.helper("new_array", [("ptr", "%table"), ("ptr", "%row")], "ptr") as f:
        kind, size = get(f, "%row", TYPE, "ptr"), get(f, "%row", BYTES)
        pool = get(f, "%table", POOL, "ptr")
        hold = get(f, "%table", HOLD, "ptr")
        f.effect(f"call void {hold}(ptr {kind})")   # the array's reference
        data = f.variable("ptr", "null")
        large = f.compare("sgt", size, _LEAST)
        with f.when(large):
            data.set(str(f.run(memory.take, pool, size)))
            with f.when(is_null(f, data.get())):
                f.effect(f"call void {get(f, '%table', LET_GO, 'ptr')}(ptr {kind})")
                f.effect(f"{f.name()} = call ptr {get(f, '%table', NO_MEMORY, 'ptr')}()")
                f.give("null")
        flags = f.choose(large, "i32", _PLAIN, 0)
        new, of = get(f, "%table", NEW_ARRAY, "ptr"), get(f, "%table", ARRAY_TYPE, "ptr")
        array = f.emit(f"call ptr {new}(ptr {of}, ptr {kind}, i32 1, ptr %row, ptr null, ptr {data.get()}, "
                       f"i32 {flags}, ptr null)")
        with f.when(large):
            with f.when(is_null(f, array)):
                f.run(memory.give, pool, data.get())
                f.give("null")
            owner, flags = get(f, "%table", HANDLER, "ptr"), f.at(array, FLAGS_AT, "i8")
            f.effect(f"call void {hold}(ptr {owner})")
            f.write("ptr", owner, f.at(array, HANDLER_AT, "i8"), 8)
            f.write("i32", f.emit(f"or i32 {f.read('i32', flags, 4)}, {_OWNS}"), flags, 4)
        f.give(array)
    return f


def new_part(module: Module) -> Function:
    """``new_part(table, value, shift, room)``: an array on what lies so many bytes behind a value's begin.

    It takes over the reference to the value; null on an error. ``room``: for the number of elements.
    """
    parameters = ("ptr", "%table"), ("ptr", "%value"), ("i64", "%shift"), ("ptr", "%room")
    with module.helper("new_part", parameters, "ptr") as f:
        kind = f.read("ptr", f.at("%value", DTYPE_AT, "i8"), 8)
        f.effect(f"call void {get(f, '%table', HOLD, 'ptr')}(ptr {kind})")
        whole, size = [f.read("i64", f.read("ptr", f.at("%value", at, "i8"), 8), 8)
                       for at in (EXTENTS_AT, STRIDES_AT)]
        f.write("i64", f.sub(whole, f.div("%shift", size)), "%room", 8)
        flags = f.emit(f"and i32 {f.read('i32', f.at('%value', FLAGS_AT, 'i8'), 4)}, {_PLAIN}")
        data = f.at(f.read("ptr", f.at("%value", DATA_AT, "i8"), 8), "%shift", "i8")
        new, of = get(f, "%table", NEW_ARRAY, "ptr"), get(f, "%table", ARRAY_TYPE, "ptr")
        array = f.emit(f"call ptr {new}(ptr {of}, ptr {kind}, i32 1, ptr %room, ptr null, ptr {data}, "
                       f"i32 {flags}, ptr null)")
        with f.when(is_null(f, array)):
            f.effect(f"call void {get(f, '%table', LET_GO, 'ptr')}(ptr %value)")
            f.give("null")
        f.write("ptr", "%value", f.at(array, BASE_AT, "i8"), 8)
        f.give(array)
    return f


def new_arrays(module: Module, new: Function) -> None:
    """``new_arrays(self, nothing)``, a method: a list of arrays.

    ``self``: an array of words: the address of the table, the number of rows, the rows.
    """
    with module.function("new_arrays", [("ptr", "%self"), ("ptr", "%nothing")], "ptr") as f:
        words = f.read("ptr", f.at("%self", DATA_AT, "i8"), 8)
        table, count = get(f, words, 0, "ptr"), get(f, words, 1)
        found = f.emit(f"call ptr {get(f, table, NEW_LIST, 'ptr')}(i64 {count})")
        with f.when(is_null(f, found)):
            f.give("null")
        items = f.read("ptr", f.at(found, ITEMS_AT, "i8"), 8)
        with f.loop(0, count) as i:
            array = str(f.run(new, table, f.at(f.at(words, 2, "i64"), f.mul(i, ROW_WORDS), "i64")))
            with f.when(is_null(f, array)):
                f.effect(f"call void {get(f, table, LET_GO, 'ptr')}(ptr {found})")
                f.give("null")
            f.write("ptr", array, f.at(items, i, "ptr"), 8)
        f.give(found)
