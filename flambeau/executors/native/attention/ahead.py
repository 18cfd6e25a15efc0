"""Cache lines that are brought while something else is computed.

Rows of a head lie as far apart as the model is wide, so the CPU does not foresee which of them comes next,
and with few columns a block is computed in hardly more time than its rows take to arrive. So the products
over keys ask, line by line, for what the next block or the next head begins with (``Parts.product``), and a
result's lines are asked for before its values are computed.
"""

from __future__ import annotations

from ..llvm.build import Function
from .arguments import Arguments, Head
from .tiles import Ahead


def needed_next(w: Arguments, head: Head, following: str, blocks: tuple[str, str],
                shared_next: Head) -> Ahead:
    """Rows of operands' next blocks, from ``following`` on; after the last, V and K of another head."""
    f, size = w.f, w.parts.storage.itemsize
    last = f.compare("sge", following, w["queries"])

    def rows(name: str, other: str) -> tuple[str, str]:
        row = f.mul(w[f"{name}.row"], size)
        block = f.at(w.of_head(name, head), f.mul(following, row), "i8")
        return (f.choose(last, "ptr", w.of_head(other, shared_next), block),
                f.choose(last, "i64", f.mul(w[f"{other}.row"], size), row))

    return Ahead(*rows(blocks[0], "value"), *rows(blocks[1], "key"))


def bring_later_keys(w: Arguments, shared: Head, first: str) -> None:
    """Under a causal mask: ask for rows of K and V that the block of queries from ``first`` on adds."""
    f, parts = w.f, w.parts
    stop = f.least(f.least(f.add(first, parts.width), w["queries"]), w["keys"])
    stop = f.choose(w.flag("causal"), "i64", stop, first)
    for name, columns in (("key", "depth"), ("value", "width")):
        matrix, row = w.of_head(name, shared), f.mul(w[f"{name}.row"], parts.storage.itemsize)
        start, size = f.at(matrix, f.mul(first, row), "i8"), f.mul(w[columns], parts.storage.itemsize)
        _bring(f, start, row, f.sub(stop, first), size, write=False)


def bring_result(w: Arguments, name: str, head: Head, first: str, count: str, columns: str) -> None:
    """Let the cache lines of a result come meanwhile: rows lie far apart, stores would wait for each."""
    f, size = w.f, w.parts.storage.itemsize
    row = f.mul(w[f"{name}.row"], size)
    rows = f.at(w.of_head(name, head), f.mul(first, row), "i8")
    _bring(f, rows, row, count, f.mul(columns, size), write=True)


def _bring(f: Function, rows: str, row: str, count: str, size: str, write: bool) -> None:
    """Ask for ``count`` rows of ``size`` bytes, ``row`` bytes apart: two cache lines of each in turn."""
    with f.loop(0, size, 128) as c:
        second = f.least(64, f.sub(f.sub(size, c), 1))
        place = f.variable("ptr", f.at(rows, c, "i8"))
        with f.loop(0, count):
            at = place.get()
            f.prefetch(at, 2, write=write)
            f.prefetch(f.at(at, second, "i8"), 2, write=write)
            place.set(f.at(at, row, "i8"))
