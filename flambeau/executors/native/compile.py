"""The cache of fused kernels.

Note: the key of a kernel. A kernel is found by its ``Structure``: operators, element types and how inputs are
read. Shapes, strides, pointers and numbers are arguments, so that another shape compiles nothing.
"""

from __future__ import annotations

from .code import code_of
from .emitter import Unsupported
from .lowering import Layout, Structure, layout_of, lower

_LIMIT = 4096


class Kernel:
    """Machine code of a structure."""

    __slots__ = ("address", "layout", "work")

    def __init__(self, structure: Structure) -> None:
        title = "_".join(dict.fromkeys(member.operator.name for member in structure.members))[:60]
        self.address = code_of(lower(structure), title).addresses["kernel"]
        self.layout: Layout = layout_of(structure)
        self.work = len(structure.members)


_kernels: dict[Structure, Kernel | None] = {}


def kernel_of(structure: Structure) -> Kernel | None:
    """The kernel of a structure, compiled now if it is new; None where it has no native form."""
    try:
        return _kernels[structure]
    except KeyError:
        pass
    if len(_kernels) > _LIMIT:
        _kernels.clear()
    try:
        found: Kernel | None = Kernel(structure)
    except Unsupported:
        found = None
    _kernels[structure] = found
    return found


def clear() -> None:
    """Forget which structure has which kernel."""
    _kernels.clear()
