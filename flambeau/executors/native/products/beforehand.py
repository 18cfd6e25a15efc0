"""Packing B once for all tasks of a product: a call of its own."""

from __future__ import annotations

from enum import IntEnum, auto

from ..llvm.build import Module
from ..llvm.compiling.code import kernel
from ..llvm.compiling.effort import Effort
from ..llvm.emitter import Dtype
from ..llvm.lanes import element_at
from .items import item_of, item_offset
from .microkernel import tile_of
from .packing import packer, padded_in_code
from .packing_pairs import pair_packer


@kernel("pack", effort=Effort.FEW)
def packing_kernel(dtype: Dtype, compute: Dtype, pairs: bool) -> str:
    """The address of the kernel that packs B for all tasks."""
    return packing_text(dtype, compute, pairs)


class PackWord(IntEnum):
    """The arguments of the kernel that packs B."""

    B = 0
    PANELS = auto()
    N = auto()
    K = auto()
    STEP = auto()
    COLUMN = auto()
    PER_ITEM = auto()   # panels of an item
    EXTENTS = auto()    # of the batch: 3, and 3 strides
    B_ITEM = 10


def packing_text(dtype: Dtype, compute: Dtype, pairs: bool) -> str:
    """A task is a panel of columns of B."""
    tile = tile_of(compute.itemsize)
    module = Module()
    pack = pair_packer(module, "panel", tile.columns, tile.lanes) if pairs \
        else packer(module, "panel", dtype, tile.columns, tile.lanes)
    with module.kernel("pack") as f:
        n, depth = f.word(PackWord.N), f.word(PackWord.K)
        size = f.mul(padded_in_code(f, depth, tile.lanes), tile.columns)
        column_stride = f.word(PackWord.COLUMN)
        with f.loop(f.begin, f.end) as task:
            count = f.word(PackWord.PER_ITEM)
            item = item_of(f, f.div(task, count), PackWord.EXTENTS)
            column = f.mul(f.rem(task, count), tile.columns)
            offset = item_offset(f, item, PackWord.B_ITEM, f.mul(column, column_stride))
            source = element_at(f, dtype, f.word(PackWord.B, "ptr"), offset)
            target = f.at(f.word(PackWord.PANELS, "ptr"), f.mul(task, size), tile.element)
            f.run(pack, source, target, f.least(f.sub(n, column), tile.columns), depth, column_stride,
                  f.word(PackWord.STEP))
    return module.text()
