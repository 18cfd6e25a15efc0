"""Kernels that read or write a tensor at positions that index tensors give.

A space of positions is walked by two sides: the *dense* side moves with strides alone; the *indexed* side has
strides too, 0 in the dimensions of the index, where it is found at the sum of index times stride. All of
gather, scatter, ``x[i, j]``, index_select, embeddings and their gradients are such a walk (``indexing.py``):

    read:   dense[p] = indexed[p, i(p)]
    write:  indexed[p, i(p)] = dense[p]       or add, multiply, take the greatest or least

Positions may repeat where the indexed side has stride 0. A task that writes takes all positions that could
fall together, in their order, so that the last one wins, and sums do not depend on the number of threads.
An index out of range sets the status; what it would read or write is left out, or position 0 stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....graph.geometry import Geometry
from ..llvm.build import Function, Module, Value, Variable
from ..llvm.compiling.code import kernel
from ..llvm.compiling.machine import LINE
from ..llvm.emitter import BFLOAT16, FLOAT16, INT32, INT64, Dtype, Unsupported, element, register_type
from ..plan import Call, Words
from ..quantity import whole
from .copying import define_run
from .spaces import ALIGNED, Nest, Row, Space, Split, fused, rank_for, split, tasks_for

Strides = Sequence[int]
STRIP = 2048       # columns whose indices, once checked, are still in the first cache
LONG = 1024        # bytes from which a row is copied while so many of the next one come from memory
EARLY = 12         # rows that are computed while one comes from memory,
FETCHED = 256      # or so many bytes of it: the core itself fetches what follows
FAR = 1 << 20      # where what is indexed has more bytes than this
INDICES = 3        # the words before those of the indices: dense side, indexed side, status
EACH = 3           # words of an index: pointer, extent, bytes from one position to the next
ARITHMETIC = {"add": ("add", "fadd"), "multiply": ("mul", "fmul")}


class Index(NamedTuple):
    """An index tensor: operand, geometry, strides over the space; extent and stride of what it indexes.

    ``skipped``: how many of its elements lie before the first one.
    """

    operand: int
    geometry: Geometry
    strides: Strides
    extent: int
    step: int
    skipped: int = 0


class Side(NamedTuple):
    """One side of a walk: an operand, a result (no geometry), or a Python number (its type).

    Or one constant, of which ``number`` is the bits (a true ``constant``); or, in the workspace at ``place``,
    what elements of a 16-bit type are reduced to in single precision.
    """

    strides: Strides
    number: int = 0
    geometry: Any = None
    constant: bool = False
    place: int | None = None


class Form(NamedTuple):
    """What the code depends on."""

    rank: int
    action: str             # read, write, add, multiply, greatest, least
    dtype: Dtype
    indices: int
    index_size: int
    wraps: bool             # negative indices count from the end
    varies: bool            # the index changes along the columns
    packed: bool            # and lies along memory there
    near: bool              # neighbouring indices mean neighbouring elements
    units: tuple[bool, bool]
    constant: bool          # the dense side is a number among the words
    scaled: bool            # the dense side is multiplied by a number
    ahead: bool             # rows are fetched before they are copied
    sums: bool              # the indexed side is in single precision
    early: bool             # rows are asked for some rows before they are needed

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes of an element of either side."""
        return self.dtype.itemsize, 4 if self.sums else self.dtype.itemsize


def walked(action: str, extents: Strides, dense: Side, indexed: Side, indices: Sequence[Index], dtype: Any, *,
           wraps: bool = False, factor: int | None = None, rounds: bool = False) -> Call:
    """The call of a walk. ``factor``: the operand, a Python number, by which the dense side is multiplied.

    ``rounds``: elements of 16-bit types may be added, every sum being rounded.
    """
    number_type = dtype.numpy
    size = number_type.itemsize
    index_type = indices[0].geometry.dtype.numpy
    if index_type not in (INT64, INT32) or indexed.geometry == () \
            or any(i.geometry.dtype.numpy != index_type for i in indices[1:]):
        raise Unsupported("indices of these types")
    sums = indexed.place is not None
    if action not in ("read", "write") and not sums and not (rounds and number_type in (BFLOAT16, FLOAT16)) \
            and not (number_type.kind in "iu" or (number_type.kind == "f" and size >= 4)):
        raise Unsupported("arithmetic on this type")
    wide, held = index_type.itemsize, 4 if sums else size
    strides = [[s * size for s in dense.strides], [s * held for s in indexed.strides],
               *[[s * wide for s in i.strides] for i in indices]]
    if action == "read":
        space = fused(extents, strides)
        cut = split(space, 2 * size + wide, widest=STRIP)
    else:
        space, cut = _for_writing(extents, strides, held, size + held + wide)
    first, second, *others = [own[-1] for own in space.strides]
    ahead = action == "read" and cut.columns * size >= LONG
    form = Form(rank_for(space), action, number_type, len(indices), wide, wraps,
                any(others), others.count(wide) == len(others), all(i.step == 1 for i in indices),
                (first == size, second == held),
                dense.constant or isinstance(dense.geometry, type), factor is not None,
                ahead, sums, not ahead and rank_for(space) == 1 and second == held and not any(others)
                and space.extents[-1] * held >= LINE)
    words = _words(dense, indexed, indices, number_type, factor, held)
    Nest(form.rank, 2 + len(indices), len(words.values)).place(words, space, cut)
    return Call(_kernel(form), words, cut.tasks, cut.grain)


def _words(dense: Side, indexed: Side, indices: Sequence[Index], dtype: Dtype, factor: int | None,
           size: int) -> Words:
    words = Words()
    for side in (dense, indexed):
        if side.place is not None:
            words.workspace(side.place)
        elif side.constant:
            words.constant(side.number)
        elif side.geometry is None:
            words.output(side.number)
        elif isinstance(side.geometry, type):
            words.number(side.number, dtype)
        else:
            words.input(side.number, side.geometry)
    words.status()
    for i in indices:
        words.input(i.operand, i.geometry, skipped=i.skipped)
        words.constant(i.extent, i.step * size)
    if factor is not None:
        words.number(factor, dtype)
    return words


def _for_writing(extents: Strides, strides: list[list[int]], size: int, each: float) -> tuple[Space, Split]:
    """Positions that may fall together inside: a task has all of them, or all of one range of columns."""
    dims = [d for d, n in enumerate(extents) if n != 1]
    apart = [d for d in dims if strides[1][d]]
    apart.sort(key=lambda d: -strides[1][d])
    together = [d for d in dims if not strides[1][d]]
    column = apart.pop() if apart and (strides[1][apart[-1]] == size or not together) else None
    order = [*apart, *together, *([] if column is None else [column])]
    space = fused([extents[d] for d in order], [[own[d] for d in order] for own in strides], ordered=False)
    groups = 1
    for n, s in zip(space.extents[:-1], space.strides[1]):
        if not s:
            break
        groups *= n
    return space, Split(*_blocks(space.size, space.extents[-1], groups, each, column is not None), 1)


@whole
def _blocks(size: int, columns: int, groups: int, each: float, has_column: bool) -> tuple[int, int, int]:
    """Rows and columns of a task, and how many tasks there are."""
    rows = size // columns // groups
    wanted = tasks_for(size * each)
    wide, high = columns, rows
    if groups >= wanted or not has_column:
        high = rows * -(-groups // wanted)
    else:
        wide = min(columns, -(-columns // (-(-wanted // groups) * ALIGNED)) * ALIGNED)
    tasks = -(-rows * groups // high) * -(-columns // wide)
    return high, wide, tasks


# --- code ---------------------------------------------------------------------------------------------------

@kernel("indexed")
def _kernel(form: Form) -> str:
    module = Module()
    runs = form.action in ("read", "write") and all(form.units) and not form.varies
    run = define_run(module) if runs else None
    after = INDICES + EACH * form.indices
    nest = Nest(form.rank, 2 + form.indices, after + form.scaled)
    with module.kernel("indexed") as f:
        dense = f.at(f.words, 0, "i64") if form.constant else f.word(0, "ptr")
        indexed = f.word(1, "ptr")
        factor = f.load(f.at(f.words, after, "i64"), form.dtype) if form.scaled else ""
        finder = _Finder(f, form, nest)
        size = str(form.dtype.itemsize)
        steps = [str(form.sizes[side]) if unit else nest.step(f, side)
                 for side, unit in enumerate(form.units)]
        ahead = _Ahead(f, run) if run is not None and form.ahead else None
        with nest.rows(f) as row:
            first, at = f.at(dense, row.offsets[0], "i8"), f.at(indexed, row.offsets[1], "i8")
            if form.early:
                finder.bring(row, at)
            if form.varies:
                wrong = finder.check_row(row)
            else:
                at = f.at(at, finder.row_offset(row), "i8")
                wrong = "false"
            if ahead is not None:
                ahead.copy(first, at, f.mul(row.width(f), size))
            elif run is not None:
                to, source = (first, at) if form.action == "read" else (at, first)
                f.run(run, to, source, f.mul(row.width(f), size))
            else:
                with f.otherwise(wrong), f.loop(0, row.width(f)) as i:
                    here = f.at(at, f.mul(i, steps[1]), "i8")
                    if form.varies:
                        here = f.at(here, finder.offset(row, i), "i8")
                    _act(f, form, f.at(first, f.mul(i, steps[0]), "i8"), here, factor)
        if ahead is not None:
            ahead.finish()
        finder.report()
    return module.text()


class _Ahead:
    """Copies a row while the next one comes from memory: no core guesses where that is."""

    def __init__(self, f: Function, run: Function) -> None:
        self.f, self.run = f, run
        self.row = [f.variable(kind, none) for kind, none in (("ptr", "null"), ("ptr", "null"), ("i64", 0))]

    def copy(self, to: str, source: str, count: str) -> None:
        """Fetch a row, and copy the one before it."""
        for i in range(0, LONG, LINE):
            self.f.prefetch(self.f.at(source, i, "i8"), 1)
        self.finish()
        for variable, x in zip(self.row, (to, source, count)):
            variable.set(x)

    def finish(self) -> None:
        """Copy the last row."""
        self.f.run(self.run, *[x.get() for x in self.row])


class _Finder:
    """Reads indices, checks them and adds up what they mean in bytes."""

    def __init__(self, f: Function, form: Form, nest: Nest) -> None:
        self.f = f
        self.form = form
        self.nest = nest
        base = [INDICES + EACH * k for k in range(form.indices)]
        self.pointers = [f.word(b, "ptr") for b in base]
        self.extents = [f.word(b + 1) for b in base]
        self.steps = [str(form.sizes[1]) if form.near else f.word(b + 2) for b in base]
        self.along = [str(form.index_size) if form.packed else nest.step(f, 2 + k)
                      for k in range(form.indices)]
        self.wrong: Variable = f.variable("i1", "false")

    def _read(self, k: int, row: Row, i: Value) -> str:
        f, kind = self.f, element(self.form.index_size)
        at = f.at(f.at(self.pointers[k], row.offsets[2 + k], "i8"), f.mul(i, self.along[k]), "i8")
        x = f.read(kind, at, self.form.index_size)
        return x if kind == "i64" else f.emit(f"sext {kind} {x} to i64")

    def _wrapped(self, k: int, x: str) -> str:
        if not self.form.wraps:
            return x
        f = self.f
        return f.choose(f.compare("slt", x, 0), "i64", f.emit(f"add i64 {x}, {self.extents[k]}"), x)

    def check_row(self, row: Row) -> str:
        """Whether an index of the row is out of range: a loop of its own, which vectorizes."""
        f, found = self.f, "false"
        for k, extent in enumerate(self.extents):
            largest = f.variable("i64", 0)
            with f.loop(0, row.width(f)) as i:
                # As numbers without sign, those below the range lie above it.
                x = self._read(k, row, i)
                x = f.emit(f"add i64 {x}, {extent}") if self.form.wraps else x
                largest.set(f.call("llvm.umax.i64", "i64", ["i64", "i64"], [largest.get(), x]))
            limit = f.add(extent, extent) if self.form.wraps else extent
            found = f.emit(f"or i1 {found}, {f.compare('uge', largest.get(), limit)}")
        self.wrong.set(f.emit(f"or i1 {self.wrong.get()}, {found}"))
        return found

    def offset(self, row: Row, i: str) -> str:
        """The bytes that the indices of column i, which are in range, add."""
        f, total = self.f, "0"
        for k, step in enumerate(self.steps):
            total = f.add(total, f.mul(self._wrapped(k, self._read(k, row, i)), step))
        return total

    def row_offset(self, row: Row) -> str:
        """The bytes that the indices of a whole row add."""
        f, total = self.f, "0"
        for k, (extent, step) in enumerate(zip(self.extents, self.steps)):
            x = self._wrapped(k, self._read(k, row, 0))
            bad = f.compare("uge", x, extent)
            self.wrong.set(f.emit(f"or i1 {self.wrong.get()}, {bad}"))
            total = f.add(total, f.mul(f.choose(bad, "i64", "0", x), step))
        return total

    def bring(self, row: Row, at: str) -> None:
        """Ask for the row that the index of a later row means, if it may not be in the caches."""
        f, (extent, step) = self.f, (self.extents[0], self.steps[0])
        with f.when(f.compare("sgt", f.mul(extent, step), FAR)):
            last = f.mul(f.sub(self.nest.rows_of(f), 1), self.nest.row_step(f, 2))
            later = f.least(f.add(row.offsets[2], f.mul(self.nest.row_step(f, 2), EARLY)), last)
            x = self._wrapped(0, self._read(0, row._replace(offsets=["", "", later]), 0))
            x = f.choose(f.compare("ult", x, extent), "i64", x, "0")
            place = f.at(at, f.mul(x, step), "i8")
            count = f.least(f.mul(row.width(f), self.form.sizes[1]), FETCHED)
            with f.loop(0, count, LINE) as i:
                f.prefetch(f.at(place, i, "i8"), 1, self.form.action != "read")

    def report(self) -> None:
        """Set the status if an index was wrong."""
        with self.f.when(self.wrong.get()):
            self.f.write("i64", 1, self.f.word(2, "ptr"), 8)


def _act(f: Function, form: Form, dense: str, indexed: str, factor: str) -> None:
    size = form.dtype.itemsize
    align = min(size, 8)
    if form.action in ("read", "write"):
        kind = element(size)
        to, source = (dense, indexed) if form.action == "read" else (indexed, dense)
        f.write(kind, f.read(kind, source, align), to, align)
        return
    kind = register_type(form.dtype)
    if form.dtype in (BFLOAT16, FLOAT16):
        held = f.read("float", indexed, 4) if form.sums else f.load(indexed, form.dtype)
        x = f.load(dense, form.dtype)
        if form.scaled:
            x = f.rounded(f.emit(f"fmul float {x}, {factor}"), form.dtype)
        if form.action in ARITHMETIC:
            total = f.emit(f"{ARITHMETIC[form.action][1]} float {held}, {x}")
        else:
            total = f.choose(_exceeds(f, form, "float", x, held), "float", x, held)
        if form.sums:
            f.write("float", total, indexed, 4)
        else:
            f.store(total, indexed, form.dtype)
        return
    x = f.read(kind, dense, align)
    if form.action not in ARITHMETIC:
        y = f.read(kind, indexed, align)
        f.write(kind, f.choose(_exceeds(f, form, kind, x, y), kind, x, y), indexed, align)
        return
    whole, real = ARITHMETIC[form.action]
    if form.scaled:
        x = f.emit(f"{'mul' if form.dtype.kind in 'iu' else 'fmul'} {kind} {x}, {factor}")
    y = f.emit(f"{whole if form.dtype.kind in 'iu' else real} {kind} {f.read(kind, indexed, align)}, {x}")
    f.write(kind, y, indexed, align)


def _exceeds(f: Function, form: Form, kind: str, x: str, extreme: str) -> str:
    """Whether x takes the place of an extreme: what is not a number does, and stays."""
    order = "gt" if form.action == "greatest" else "lt"
    if form.dtype.kind in "iu":
        return f.emit(f"icmp {'s' if form.dtype.kind == 'i' else 'u'}{order} {kind} {x}, {extreme}")
    beyond, none = f.emit(f"fcmp o{order} {kind} {x}, {extreme}"), f.emit(f"fcmp uno {kind} {x}, {x}")
    return f.emit(f"or i1 {beyond}, {none}")
