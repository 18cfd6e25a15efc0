"""What follows a product, block by block: any function of this form, as long as the block is in the cache."""

from __future__ import annotations

from typing import Protocol, SupportsIndex

from ..llvm.build import Function
from ..plan import Words

# Rows and columns of a block of the result. ``words``: the follower's own arguments.
PARAMETERS = (("ptr noalias readonly", "%words"), ("i64", "%row"), ("i64", "%rows"), ("i64", "%column"),
              ("i64", "%columns"))


class Follower(Protocol):
    """A function and its arguments."""

    @property
    def address(self) -> SupportsIndex:
        """Of the function."""
        ...

    def fill(self, words: Words) -> None:
        """Append the arguments."""
        ...


def follow(f: Function, address: int, first: int, row: str, rows: str, column: str, columns: str) -> None:
    """Call the function whose address is word ``address``, if there is one, with words from ``first`` on."""
    function = f.word(address, "ptr")
    there = f.emit(f"icmp ne ptr {function}, null")
    with f.when(there):
        words = f.at(f.words, first, "i64")
        passed = ", ".join(f"{kind.split()[0]} {x}" for (kind, _), x
                           in zip(PARAMETERS, (words, row, rows, column, columns)))
        f.effect(f"call void {function}({passed})")
