"""Native code for the memory of large results, which is used again.

Note: the pool. A large array of the C library either comes in fresh pages each time, which are zeroed, or
from a heap where holes between arrays of other sizes are lost. Here each has pages of its own. When it is
freed they are kept for the next array of about this size. No more is kept than what has been in use at some
time leaves room for: rather than go beyond that, what was kept first is given back. So memory is never larger
than what arrays once needed at the same time. The interpreter lock protects the pool.

Before a block stand, in 64-bit words: what the system gave, how many bytes, the block that was kept after
this one and the one before it. (Before memory of the C library: what it gave, and less than 0.)
"""

from __future__ import annotations

import mmap
import sys

from ...llvm.build import Function, Module

GIVEN, SIZE, NEWER, OLDER = -1, -2, -3, -4      # words before a block
BEFORE = 64                                     # bytes before a block; blocks begin at multiples of this
NEWEST, OLDEST, LIVE, KEPT, MOST, LIMIT = range(6)      # the pool's words; LIMIT: bytes that may be kept
POOL_WORDS = 6
LARGE = 1 << 20         # bytes, from which on a block is the pool's
_PAGE = 4096
_NEAR = 8               # a block may be larger by this part
_HUGE_PAGES = 14        # advice to Linux
_SMALL_PAGES = 16 << 20     # bytes of a block up to which it is not given (Note: small pages)


def get(f: Function, base: str, k: int, kind: str = "i64") -> str:
    """Word k behind (or before) an address."""
    return f.read(kind, f.at(base, k, "i64"), 8)


def put(f: Function, base: str, k: int, value: str | int, kind: str = "i64") -> None:
    """Write it."""
    f.write(kind, value, f.at(base, k, "i64"), 8)


def is_null(f: Function, pointer: str) -> str:
    """Whether an address is none."""
    return f.emit(f"icmp eq ptr {pointer}, null")


def _count(f: Function, pool: str, k: int, change: str) -> None:
    put(f, pool, k, f.add(get(f, pool, k), change))


class Pool:
    """The pool's functions, for others of a module: ``take(pool, size)`` and ``give(pool, block)``."""

    def __init__(self, module: Module) -> None:
        self._unlink = _unlink(module)
        self._drop = self._drop_oldest(module)
        self._fresh = self._fresh_block(module)
        self.take = self._take(module)
        self.give = self._give(module)

    def _drop_oldest(self, module: Module) -> Function:
        with module.helper("drop_oldest", [("ptr", "%pool")]) as f:
            block = get(f, "%pool", OLDEST, "ptr")
            f.run(self._unlink, "%pool", block)
            f.call("munmap", "i32", ["ptr", "i64"], [get(f, block, GIVEN, "ptr"), get(f, block, SIZE)])
        return f

    def _fresh_block(self, module: Module) -> Function:
        """A block of so many bytes, a multiple of a page's; null if there is no memory."""
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        with module.helper("fresh_block", [("i64", "%size")], "ptr") as f:
            given = f.call("mmap", "ptr", ["ptr", "i64", "i32", "i32", "i32", "i64"],
                           ["null", "%size", str(mmap.PROT_READ | mmap.PROT_WRITE), str(flags), "-1", "0"])
            with f.when(f.compare("eq", f.emit(f"ptrtoint ptr {given} to i64"), -1)):
                f.give("null")
            if sys.platform == "linux":
                with f.when(f.compare("sgt", "%size", _SMALL_PAGES)):
                    f.call("madvise", "i32", ["ptr", "i64", "i32"], [given, "%size", str(_HUGE_PAGES)])
            block = f.at(given, BEFORE, "i8")
            put(f, block, GIVEN, given, "ptr")
            put(f, block, SIZE, "%size")
            f.give(block)
        return f

    def _take(self, module: Module) -> Function:
        with module.helper("take_block", [("ptr", "%pool"), ("i64", "%bytes")], "ptr") as f:
            size = f.emit(f"and i64 {f.add('%bytes', BEFORE + _PAGE - 1)}, {-_PAGE}")
            largest = f.add(size, f.div(size, _NEAR))
            at = f.variable("ptr", get(f, "%pool", NEWEST, "ptr"))
            with f.forever() as leave:
                block = at.get()
                leave(is_null(f, block))
                own = get(f, block, SIZE)
                fits = f.emit(f"and i1 {f.compare('sge', own, size)}, {f.compare('sle', own, largest)}")
                with f.when(fits):
                    f.run(self._unlink, "%pool", block)
                    f.give(self._in_use(f, block))
                at.set(get(f, block, OLDER, "ptr"))
            most = f.most(get(f, "%pool", MOST), f.add(get(f, "%pool", LIVE), size))
            with f.forever() as leave:
                wanted = f.add(size, f.add(get(f, "%pool", LIVE), get(f, "%pool", KEPT)))
                leave(f.compare("sle", wanted, most))
                leave(f.compare("eq", get(f, "%pool", KEPT), 0))
                f.run(self._drop, "%pool")
            block = str(f.run(self._fresh, size))
            with f.otherwise(is_null(f, block)):
                f.give(self._in_use(f, block))
            with f.forever() as leave:
                leave(f.compare("eq", get(f, "%pool", KEPT), 0))
                f.run(self._drop, "%pool")
            block = str(f.run(self._fresh, size))
            with f.when(is_null(f, block)):
                f.give("null")
            f.give(self._in_use(f, block))
        return f

    @staticmethod
    def _in_use(f: Function, block: str) -> str:
        """The block, counted."""
        _count(f, "%pool", LIVE, get(f, block, SIZE))
        put(f, "%pool", MOST, f.most(get(f, "%pool", MOST), get(f, "%pool", LIVE)))
        return block

    def _give(self, module: Module) -> Function:
        with module.helper("give_block", [("ptr", "%pool"), ("ptr", "%block")]) as f:
            size, before = get(f, "%block", SIZE), get(f, "%pool", NEWEST, "ptr")
            _count(f, "%pool", LIVE, f.sub(0, size))
            _count(f, "%pool", KEPT, size)
            put(f, "%block", NEWER, "null", "ptr")
            put(f, "%block", OLDER, before, "ptr")
            put(f, "%pool", NEWEST, "%block", "ptr")
            first = is_null(f, before)
            with f.when(first):
                put(f, "%pool", OLDEST, "%block", "ptr")
            with f.otherwise(first):
                put(f, before, NEWER, "%block", "ptr")
            with f.forever() as leave:
                leave(f.compare("sle", get(f, "%pool", KEPT), get(f, "%pool", LIMIT)))
                f.run(self._drop, "%pool")
        return f


def _unlink(module: Module) -> Function:
    """``unlink(pool, block)``: the block is kept no longer."""
    with module.helper("unlink", [("ptr", "%pool"), ("ptr", "%block")]) as f:
        newer, older = get(f, "%block", NEWER, "ptr"), get(f, "%block", OLDER, "ptr")
        for one, end, other, word in ((newer, NEWEST, older, OLDER), (older, OLDEST, newer, NEWER)):
            last = is_null(f, one)
            with f.when(last):
                put(f, "%pool", end, other, "ptr")
            with f.otherwise(last):
                put(f, one, word, other, "ptr")
        _count(f, "%pool", KEPT, f.sub(0, get(f, "%block", SIZE)))
    return f
