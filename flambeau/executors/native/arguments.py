"""Arguments of kernels by name: the plan fills them in, the kernel reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...graph.geometry import Geometry
from .llvm.build import Function
from .plan import Words

Argument = int | Callable[[Words], int]


class Registers:
    """A kernel's arguments: ``a.name`` is the register that holds one."""

    def __init__(self, found: Mapping[str, str]) -> None:
        self._found = found

    def __getattr__(self, name: str) -> str:
        return self._found[name]

    def replaced(self, **changes: str) -> Registers:
        """The same with other registers for some names."""
        return Registers({**self._found, **changes})

    def named(self, prefix: str) -> Registers:
        """The arguments whose names begin with a prefix, without it."""
        return Registers({name[len(prefix):]: register for name, register in self._found.items()
                          if name.startswith(prefix)})


def registers(f: Function, pointers: Sequence[str], numbers: Sequence[str]) -> Registers:
    """Read all arguments: pointers, then numbers, then ``table``, the place of what follows."""
    found = {name: f.word(k, "ptr") for k, name in enumerate(pointers)}
    found |= {name: f.word(len(pointers) + k) for k, name in enumerate(numbers)}
    found["table"] = f.at(f.words, len(pointers) + len(numbers), "i64")
    return Registers(found)


def entry(f: Function, table: str, index: int | str) -> str:
    """An entry of a table."""
    return f.read("i64", f.at(table, index, "i64"), 8)


def operand(k: int, geometry: Geometry | None) -> Argument:
    """A pointer to an operand; 0 where there is none."""
    return 0 if geometry is None else lambda w: w.input(k, geometry)


def result(k: int) -> Argument:
    """A pointer to a result."""
    return lambda w: w.output(k)


def words(pointers: Sequence[str], numbers: Sequence[str], given: Mapping[str, Argument],
          table: Sequence[int] = ()) -> Words:
    """The arguments in the kernel's order; pointers are functions that reserve a place, or 0."""
    made = Words()
    for name in (*pointers, *numbers):
        value = given[name]
        if callable(value):
            value(made)
        else:
            made.constant(value)
    made.constant(*table)
    return made
