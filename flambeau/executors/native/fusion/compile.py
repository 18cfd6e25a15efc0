"""The cache of fused kernels.

Note: the key of a kernel. A kernel is found by its ``Structure``: operators, element types and how inputs are
read. Shapes, strides, pointers and numbers are arguments, so that another shape compiles nothing.
"""

from __future__ import annotations

from typing import Any

from .... import dtypes
from ....graph.recent import Recent
from ..llvm.compiling.code import noted
from ..llvm.emitter import Dtype, Unsupported
from .body import Body, Progress, passes_of
from .columns import Columns
from .rows import Rows
from .structure import Structure, layout_of

_DTYPES: dict[str, Dtype] = {dtype.numpy.name: dtype.numpy for dtype in dtypes.ALL}


class Kernel:
    """Machine code of a structure: the functions of its calls, the words they take, the memory they use.

    ``work``: instructions for each element, over all passes.
    """

    __slots__ = ("calls", "words", "reductions", "regions", "buffers", "work")

    def __init__(self, structure: Structure) -> None:
        title = "_".join(dict.fromkeys(member.operator.name for member in structure.members))[:60]
        addresses, facts = noted(_written, (structure,), title, lambda: _written(structure))
        names, reductions, self.regions, buffers, self.work = facts
        self.calls = [(name, addresses[name]) for name in names]
        self.words = layout_of(structure, len(reductions))
        self.reductions: list[tuple[str, Dtype]] = [(kind, _DTYPES[name]) for kind, name in reductions]
        self.buffers: list[Dtype] = [_DTYPES[name] for name in buffers]


def _written(structure: Structure) -> tuple[str, Any]:
    """The module of a structure, and what ``Kernel`` says of it, as notes can hold it."""
    bodies, progress = passes(structure)
    frame = (Columns if structure.columns else Rows)(structure, bodies, progress)
    names = frame.write()
    reductions = [(kind, dtype.name) for kind, dtype in progress.reductions]
    return frame.text(), (names, reductions, frame.regions(), [dtype.name for dtype in progress.buffers],
                          sum(len(body.code) for body in bodies))


_kernels: Recent[Structure, Kernel | None] = Recent(1 << 11)


def passes(structure: Structure) -> tuple[list[Body], Progress]:
    """``passes_of``; Unsupported where a kernel wants an array."""
    try:
        return passes_of(structure)
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise Unsupported(str(error)) from error


def kernel_of(structure: Structure) -> Kernel | None:
    """The kernel of a structure, compiled now if it is new; None where it has no native form."""
    try:
        return _kernels[structure]
    except KeyError:
        pass
    try:
        found: Kernel | None = Kernel(structure)
    except Unsupported:
        found = None
    return _kernels.keep(structure, found)


def clear() -> None:
    """Forget which structure has which kernel."""
    _kernels.clear()
