"""Packing B once for all tasks of a product: a call of its own."""

from __future__ import annotations

from enum import IntEnum, auto

from ..llvm.build import Module
from ..llvm.compiling.code import kernel
from ..llvm.compiling.effort import Effort
from ..llvm.compiling.machine import machine
from ..llvm.emitter import Dtype
from ..llvm.lanes import element_at
from .items import item_of, item_offset
from .microkernel import tile_of
from .packing import copier, packer, padded_in_code
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
    PAST = 13           # whether panels are written past the caches; columns are adjacent if they are


_CHUNK = 8  # steps of the depth: as many lines of a cache's set as there usually are


def packing_text(dtype: Dtype, compute: Dtype, pairs: bool) -> str:
    """A task is a panel of columns of B.

    Of those that are written past the caches, all of a call take a few steps of the depth, then the next
    ones: memory is read in longer runs than a panel is wide.
    """
    tile = tile_of(compute.itemsize)
    module = Module()
    pack = pair_packer(module, "panel", tile.columns, tile.lanes) if pairs \
        else packer(module, "panel", dtype, tile.columns, tile.lanes)
    past = copier(module, "panel_past", dtype, tile.columns, tile.lanes) \
        if machine().passes and not pairs else None
    with module.kernel("pack") as f:
        n, depth, count = f.word(PackWord.N), f.word(PackWord.K), f.word(PackWord.PER_ITEM)
        size = f.mul(padded_in_code(f, depth, tile.lanes), tile.columns)
        step, stride = f.word(PackWord.STEP), f.word(PackWord.COLUMN)
        passes = f.compare("ne", f.word(PackWord.PAST), 0)
        chunk = f.choose(passes, "i64", _CHUNK, f.most(depth, 1))
        task = f.variable("i64", f.begin)
        with f.forever() as leave:
            number = task.get()
            leave(f.compare("sge", number, f.end))
            of = f.div(number, count)
            first = f.sub(number, f.mul(of, count))
            last = f.least(count, f.add(first, f.sub(f.end, number)))
            task.set(f.add(number, f.sub(last, first)))
            start = item_offset(f, item_of(f, of, PackWord.EXTENTS), PackWord.B_ITEM)
            panels = f.at(f.word(PackWord.PANELS, "ptr"), f.mul(f.mul(of, count), size), tile.element)
            with f.loop(0, depth, chunk) as k, f.loop(first, last) as panel:
                column = f.mul(panel, tile.columns)
                offset = f.add(start, f.add(f.mul(column, stride), f.mul(k, step)))
                source = element_at(f, dtype, f.word(PackWord.B, "ptr"), offset)
                before = f.mul(f.emit(f"lshr i64 {k}, 1") if pairs else k, tile.columns)
                target = f.at(panels, f.add(f.mul(panel, size), before), tile.element)
                arguments = (source, target, f.least(f.sub(n, column), tile.columns),
                             f.least(chunk, f.sub(depth, k)), stride, step)
                if past is None:
                    f.run(pack, *arguments)
                else:
                    whole = f.compare("sge", arguments[2], tile.columns)
                    whole = f.emit(f"and i1 {whole}, {passes}")
                    with f.when(whole):
                        f.run(past, *arguments)
                    with f.otherwise(whole):
                        f.run(pack, *arguments)
        if past is not None:
            with f.when(passes):
                f.settle()
    return module.text()
