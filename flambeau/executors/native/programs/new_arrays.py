"""Native code that makes the arrays of results.

Note: aligned results. NumPy's memory begins at any multiple of 16 bytes, so that wide loads and stores cross
cache lines, or do not, by chance. Results of more than a kilobyte (of smaller ones NumPy keeps a stock) lie
in memory that begins at a multiple of 64. The array owns it, and names the functions that free it: a *data
memory handler*, as NumPy calls it (NEP 49). The C library's address stands just before it.

In memory, in 64-bit words: a row per array (ELEMENTS, TYPE of elements, BYTES), and a table of what is
Python's and NumPy's.
"""

from __future__ import annotations

import sys

from ..llvm.build import Function, Module

ELEMENTS, TYPE, BYTES = range(3)
ROW_WORDS = 3
ARRAY_TYPE, HANDLER, NEW_ARRAY, NEW_LIST, HOLD, LET_GO, NO_MEMORY = range(7)

_FLAGS_AT, HANDLER_AT = 64, 88   # (Note: array objects)
_OWNS, _PLAIN = 0x4, 0x501      # flags: frees its memory; in order, aligned, may be written
_ITEMS_AT, _DATA_AT = 24, 16
_ALIGN = 64
_LEAST, _LARGE = 1 << 10, 4 << 20
_PAGE, _HUGE_PAGES = 4096, 14   # bytes; which advice to the system


def _get(f: Function, base: str, k: int, kind: str = "ptr") -> str:
    return f.read(kind, f.at(base, k, "i64"), 8)


def _aligned(f: Function, raw: str) -> str:
    """Where aligned memory begins in what the C library gave: 16 bytes after its beginning, or more."""
    after = f.add(f.emit(f"ptrtoint ptr {raw} to i64"), _ALIGN)
    return f.emit(f"inttoptr i64 {f.emit(f'and i64 {after}, {-_ALIGN}')} to ptr")


def _free(f: Function, memory: str) -> None:
    f.declarations["declare void @free(ptr)"] = None
    f.effect(f"call void @free(ptr {_get(f, memory, -1)})")


def allocate(module: Module) -> Function:
    """``allocate(size)``: aligned memory; null if there is none."""
    with module.helper("allocate", [("i64", "%size")], "ptr") as f:
        f.declarations["declare ptr @malloc(i64)"] = None
        raw = f.emit(f"call ptr @malloc(i64 {f.add('%size', _ALIGN)})")
        with f.when(f.emit(f"icmp eq ptr {raw}, null")):
            f.give("null")
        found = _aligned(f, raw)
        f.write("ptr", raw, f.at(found, -1, "i64"), 8)
        if sys.platform == "linux":
            with f.when(f.compare("sge", "%size", _LARGE)):
                _advise(f, found, "%size")
        f.give(found)
    return f


def _advise(f: Function, memory: str, size: str) -> None:
    """Ask for huge pages, as NumPy does: the first whole page of the memory is where the advice begins."""
    behind = f.add(f.emit(f"ptrtoint ptr {memory} to i64"), _PAGE - 1)
    page = f.emit(f"inttoptr i64 {f.emit(f'and i64 {behind}, {-_PAGE}')} to ptr")
    f.declarations["declare i32 @madvise(ptr, i64, i32)"] = None
    f.effect(f"{f.name()} = call i32 @madvise(ptr {page}, i64 {f.sub(size, _PAGE)}, i32 {_HUGE_PAGES})")


def handler(module: Module, allocate: Function) -> None:
    """The functions of a data memory handler."""
    with module.function("take", [("ptr", "%context"), ("i64", "%size")], "ptr") as f:
        f.give(str(f.run(allocate, "%size")))
    counted = [("ptr", "%context"), ("i64", "%count"), ("i64", "%each")]
    with module.function("take_zeros", counted, "ptr") as f:
        size = f.mul("%count", "%each")
        found = str(f.run(allocate, size))
        with f.when(f.emit(f"icmp ne ptr {found}, null")):
            f.effect(f"call void @llvm.memset.p0.i64(ptr {found}, i8 0, i64 {size}, i1 false)")
            f.declarations["declare void @llvm.memset.p0.i64(ptr, i8, i64, i1 immarg)"] = None
        f.give(found)
    with module.function("resize", [("ptr", "%context"), ("ptr", "%old"), ("i64", "%size")], "ptr") as f:
        raw = _get(f, "%old", -1)
        shift = f.apart("%old", raw)
        f.declarations["declare ptr @realloc(ptr, i64)"] = None
        moved = f.emit(f"call ptr @realloc(ptr {raw}, i64 {f.add('%size', _ALIGN)})")
        with f.when(f.emit(f"icmp eq ptr {moved}, null")):
            f.give("null")
        found = _aligned(f, moved)
        f.effect(f"call void @llvm.memmove.p0.p0.i64(ptr {found}, ptr {f.at(moved, shift, 'i8')}, i64 %size, "
                 "i1 false)")
        f.declarations["declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1 immarg)"] = None
        f.write("ptr", moved, f.at(found, -1, "i64"), 8)
        f.give(found)
    with module.function("release", [("ptr", "%context"), ("ptr", "%old"), ("i64", "%size")]) as f:
        with f.when(f.emit("icmp ne ptr %old, null")):
            _free(f, "%old")


def new_array(module: Module, allocate: Function) -> Function:
    """``new_array(table, row)``: an array; null on an error."""
    with module.helper("new_array", [("ptr", "%table"), ("ptr", "%row")], "ptr") as f:
        kind, size = _get(f, "%row", TYPE), _get(f, "%row", BYTES, "i64")
        hold = _get(f, "%table", HOLD)
        f.effect(f"call void {hold}(ptr {kind})")   # the array's reference
        data = f.variable("ptr", "null")
        large = f.compare("sgt", size, _LEAST)
        with f.when(large):
            data.set(str(f.run(allocate, size)))
            with f.when(f.emit(f"icmp eq ptr {data.get()}, null")):
                f.effect(f"call void {_get(f, '%table', LET_GO)}(ptr {kind})")
                f.effect(f"{f.name()} = call ptr {_get(f, '%table', NO_MEMORY)}()")
                f.give("null")
        flags = f.choose(large, "i32", _PLAIN, 0)
        array = f.emit(f"call ptr {_get(f, '%table', NEW_ARRAY)}(ptr {_get(f, '%table', ARRAY_TYPE)}, "
                       f"ptr {kind}, i32 1, ptr %row, ptr null, ptr {data.get()}, i32 {flags}, ptr null)")
        with f.when(large):
            with f.when(f.emit(f"icmp eq ptr {array}, null")):
                _free(f, data.get())
                f.give("null")
            owner, flags = _get(f, "%table", HANDLER), f.at(array, _FLAGS_AT, "i8")
            f.effect(f"call void {hold}(ptr {owner})")
            f.write("ptr", owner, f.at(array, HANDLER_AT, "i8"), 8)
            f.write("i32", f.emit(f"or i32 {f.read('i32', flags, 4)}, {_OWNS}"), flags, 4)
        f.give(array)
    return f


def new_arrays(module: Module, new: Function) -> None:
    """``new_arrays(self, nothing)``, a method: a list of arrays.

    ``self``: an array of words: the address of the table, the number of rows, the rows.
    """
    with module.function("new_arrays", [("ptr", "%self"), ("ptr", "%nothing")], "ptr") as f:
        words = f.read("ptr", f.at("%self", _DATA_AT, "i8"), 8)
        table, count = _get(f, words, 0), _get(f, words, 1, "i64")
        found = f.emit(f"call ptr {_get(f, table, NEW_LIST)}(i64 {count})")
        with f.when(f.emit(f"icmp eq ptr {found}, null")):
            f.give("null")
        items = f.read("ptr", f.at(found, _ITEMS_AT, "i8"), 8)
        with f.loop(0, count) as i:
            array = str(f.run(new, table, f.at(f.at(words, 2, "i64"), f.mul(i, ROW_WORDS), "i64")))
            with f.when(f.emit(f"icmp eq ptr {array}, null")):
                f.effect(f"call void {_get(f, table, LET_GO)}(ptr {found})")
                f.give("null")
            f.write("ptr", array, f.at(items, i, "ptr"), 8)
        f.give(found)
