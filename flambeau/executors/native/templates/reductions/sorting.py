"""Sorting along a dimension: sort, topk, kthvalue, mode and median.

An element becomes an unsigned integer, its key, of the same order: the sign bit of an integer is turned over;
the bits of a negative floating number are, too; NaN is the largest; for descending order all bits are turned
over. These ways of sorting keep equal elements in their order:

* a *network* (``sorting/network.py``): for short rows with keys of 32 bits.
* *insertion*: the k smallest keys so far, in order; most elements are larger than the last one, and done with
  after one comparison, of many at once. For other short rows, and for topk with a small k.
* *radix*: a counting sort by each byte of the key, the last byte first. The bytes are all counted in one
  pass, and a byte that is the same in all keys costs nothing more.

Where equal elements have an order of their own (``sorting/introsort.py``), rows that have some are done
again; for topk an element more than wanted is found, which may equal the last one.
"""

from __future__ import annotations

import math

import numpy as np

from .....graph.node import Signature
from ...llvm.build import Function, Module
from ...llvm.compiling.code import kernel
from ...llvm.emitter import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, element
from ...movement.spaces import Nest, Space, fused, rank_for, split
from ...plan import Call, Plan, Template, Words
from ...quantity import whole
from ...sorting import introsort
from ...sorting.introsort import Introsort
from ...sorting.network import Network, scratch_for, size_for
from ...sorting.rows import DIGITS, STEP, Form, Row, by_insertion, by_radix, define_insert, scan

SHORT = 32      # rows up to this are sorted by insertion
RADIX = 10.0    # nanoseconds for each element
WALK = 9
LIKELY = 8      # rows behind one with equal elements that are taken to have some, too


# --- plans --------------------------------------------------------------------------------------------------

def _sort(signature: Signature) -> Plan | None:
    dim, descending, stable = signature.attributes
    g = signature.geometries[0]
    ties = "" if stable or not g.ndim or g.shape[dim] <= introsort.SHORT else "sort"
    return _planned(signature, dim, descending, None, ties, False)


def _topk(signature: Signature) -> Plan | None:
    k, dim, largest, in_order = signature.attributes
    g = signature.geometries[0]
    direct = not in_order and g.ndim > 0 and k * introsort.FEW > g.shape[dim]
    return _planned(signature, dim, largest, k, "top", direct)


def _kthvalue(signature: Signature) -> Plan | None:
    dim, keepdim, k = signature.attributes
    return _planned(signature, dim, False, k, "pick", True, squeezed=not keepdim)


def _mode(signature: Signature) -> Plan | None:
    dim, keepdim = signature.attributes
    return _planned(signature, dim, False, 1, "mode", True, squeezed=not keepdim)


def _median(signature: Signature) -> Plan | None:
    dim, keepdim, ignore_nan = signature.attributes
    if len(signature.outputs) < 2:      # of all elements
        return None
    return _planned(signature, dim, False, 1, "nanmedian" if ignore_nan else "median", True,
                    squeezed=not keepdim)


def _planned(signature: Signature, dim: int, descending: bool, k: int | None, ties: str, direct: bool,
             squeezed: bool = False) -> Plan | None:
    g, out = signature.geometries[0], signature.outputs[0]
    dtype = np.dtype(g.dtype.numpy)
    if not g.ndim or not out.numel or (dtype.kind not in "biu" and dtype not in (
            FLOAT16, BFLOAT16, FLOAT32, FLOAT64)):
        return None
    n = g.shape[dim]
    if n >= 1 << 31:
        return None
    wanted = n if k is None else 1 if ties == "pick" else k
    others = [d for d in range(g.ndim) if d != dim]
    given = [(*o.strides[:dim], 0, *o.strides[dim:]) if squeezed else o.strides for o in signature.outputs]
    sides = [(given[0], dtype.itemsize), (given[1], 8), (g.strides, dtype.itemsize)]
    space = fused([g.shape[d] for d in others], [[own[d] * size for d in others] for own, size in sides],
                  ordered=False)
    space = Space((*space.extents, 1), tuple([(*own, 0) for own in space.strides]))
    more = n if k is None else k + 1 if k < n else k
    last = more if k is None or ties != "pick" else k - 1
    # Nanoseconds of a row: about wanted log(n / wanted) elements are smaller than the last one so far.
    inserting = 0.2 * n + more * (1 + _log(n / more)) * (20.0 + more)
    radix = not direct and n > SHORT and RADIX * n < inserting
    network = size_for(n) if dtype.itemsize <= 4 and not direct else 0
    scanned = not radix and not network and sides[2][0][dim] == 1 and dtype.itemsize >= 4 and n >= 2 * SHORT
    form = Form(rank_for(space), dtype, descending, radix, network, scanned, ties, direct)
    words = Words()
    words.output(0)
    words.output(1)
    words.input(0, g)
    words.constant(n, wanted, *[own[dim] * size for own, size in sides], last)
    each = RADIX * n if radix or direct else 2.5 * n if network else inserting
    cut = split(space, 20.0 * each)
    Nest(form.rank, 3, WALK).place(words, space, cut)
    held = n if radix else more
    scratch = scratch_for(network) if network else \
        2 * _aligned(held * form.key) + 2 * _aligned(held * 4) + 4 * DIGITS * form.key
    items = 2 * _aligned(n * form.key) if ties else 0
    call = Call(_kernel(form), words, cut.tasks, cut.grain, scratch + items)
    return Plan([call], nanoseconds=each * space.size)


@whole
def _log(ratio: float) -> float:
    return math.log(ratio)


def _aligned(size: int) -> int:
    return -(-size // 64) * 64


# --- code ---------------------------------------------------------------------------------------------------

@kernel("sort_rows")
def _kernel(form: Form) -> str:
    module = Module()
    redo = _define_redo(module, form) if form.ties else None
    if form.network:
        _write_network(module, form, redo)
        return module.text()
    insert = None if form.radix or form.direct else define_insert(module, form)
    with module.kernel("sort_rows") as f:
        sides = [f.word(k, "ptr") for k in range(3)]
        own = Row(f, form)
        own.place(f)
        likely = f.variable("i64", 0)   # rows that are taken to have equal elements
        with Nest(form.rank, 3, WALK).rows(f) as row:
            pointers = [f.at(p, offset, "i8") for p, offset in zip(sides, row.offsets)]
            if form.direct:
                likely.set(1)
            else:
                with f.when(f.compare("eq", likely.get(), 0)):
                    equal = _in_order(f, own, pointers, insert)
                    likely.set(f.choose(equal, "i64", LIKELY, 0))
            if redo:
                with f.when(f.compare("ne", likely.get(), 0)):
                    likely.set(f.sub(likely.get(), 1))
                    f.run(redo, *pointers, f.words, f.scratch)
    return module.text()


def _in_order(f: Function, own: Row, pointers: list[str], insert: Function | None) -> str:
    """Write a row in order; whether it has equal elements."""
    keys, found = by_radix(f, own, pointers[2]) if insert is None else \
        by_insertion(f, own, pointers[2], insert)
    with f.loop(0, own.wanted) as j:
        place = f.emit(f"zext i32 {f.read('i32', f.at(found, j, 'i32'))} to i64")
        _give(f, own.form, own.steps, pointers, place, j)
    equal = f.variable("i64", 0)
    if own.form.ties:
        with f.loop(1, own.more) as j:
            x, y = (f.read(own.kind, f.at(keys, i, own.kind)) for i in (j, f.sub(j, 1)))
            same = f.emit(f"zext i1 {f.emit(f'icmp eq {own.kind} {x}, {y}')} to i64")
            equal.set(f.emit(f"or i64 {equal.get()}, {same}"))
    return f.compare("ne", equal.get(), 0)


# --- ties ---------------------------------------------------------------------------------------------------

def _define_redo(module: Module, form: Form) -> Function:
    """``redo(values, places, source, words, scratch)``: write a row in the order that ties have."""
    order = Introsort(module, form.key)
    arrange = {"sort": lambda: order.sort, "mode": lambda: order.sort, "pick": order.define_pick,
               "median": lambda: order.select, "nanmedian": lambda: order.select,
               "top": lambda: order.define_top(not form.direct)}[form.ties]()
    with module.helper("redo", [("ptr", "%values"), ("ptr", "%places"), ("ptr", "%source"), ("ptr", "%words"),
                                ("ptr", "%scratch")]) as f:
        f.attributes = "noinline #0"
        own, sides = Row(f, form), ["%values", "%places", "%source"]
        if form.ties == "top":
            few = f.compare("sle", f.mul(own.wanted, introsort.FEW), own.count)
            with f.when(few):
                _by_heap(f, own, order)
            with f.otherwise(few):
                _write_items(f, own, order, own.count)
                f.run(arrange, own.items, own.wanted, own.count)
        elif form.ties in ("median", "nanmedian"):
            _write_items(f, own, order, own.count)
            _give(f, form, own.steps, sides, _median_place(f, own, order, arrange), "0")
            return f
        else:
            _write_items(f, own, order, own.count)
            f.run(arrange, own.items, *[own.more] * (form.ties == "pick"), own.count)
        first = own.more if form.ties == "pick" else "0"
        if form.ties == "mode":
            first = _longest_run(f, own, order)
        with f.loop(0, own.wanted) as j:
            _give(f, form, own.steps, sides, order.place(f, own.items, f.add(first, j)), j)
    return f


def _median_place(f: Function, own: Row, order: Introsort, select: Function) -> str:
    """Where the lower median is, of equal elements by their order; of NaN the first, unless it is ignored."""
    rank = f.div(f.sub(own.count, 1), 2)
    if own.form.has_nan:
        numbers = f.variable("i64", 0)
        with f.loop(0, own.count) as i:
            number = f.emit(f"icmp ne {order.kind} {order.key(f, own.items, i)}, {(1 << order.half) - 1}")
            numbers.set(f.add(numbers.get(), f.emit(f"zext i1 {number} to i64")))
        found = numbers.get()
        lower = f.div(f.most(f.sub(found, 1), 0), 2) if own.form.ties == "nanmedian" else found
        rank = f.choose(f.compare("eq", found, own.count), "i64", rank, lower)
    f.run(select, own.items, rank, own.count)
    chosen = order.key(f, own.items, rank)
    skipped, place = f.variable("i64", rank), f.variable("i64", 0)
    with f.loop(0, rank) as i:
        smaller = f.emit(f"icmp ult {order.kind} {order.key(f, own.items, i)}, {chosen}")
        skipped.set(f.sub(skipped.get(), f.emit(f"zext i1 {smaller} to i64")))
    key = f.emit(f"trunc {order.kind} {chosen} to {own.kind}")
    with f.forever() as leave:
        equal = f.emit(f"icmp eq {own.kind} {own.load(f, '%source', place.get())}, {key}")
        leave(f.emit(f"and i1 {equal}, {f.compare('eq', skipped.get(), 0)}"))
        skipped.set(f.sub(skipped.get(), f.emit(f"zext i1 {equal} to i64")))
        place.set(f.add(place.get(), 1))
    return place.get()


def _longest_run(f: Function, own: Row, order: Introsort) -> str:
    """Where the first of the longest runs of equal items ends; NaN equals nothing."""
    length, longest, best = [f.variable("i64", 0) for _ in range(3)]
    with f.loop(1, own.count) as i:
        key, before = order.key(f, own.items, i), order.key(f, own.items, f.sub(i, 1))
        same = f.emit(f"icmp eq {order.kind} {key}, {before}")
        if own.form.has_nan:
            number = f.emit(f"icmp ne {order.kind} {key}, {(1 << order.half) - 1}")
            same = f.emit(f"and i1 {same}, {number}")
        length.set(f.choose(same, "i64", f.add(length.get(), 1), 0))
        longer = f.compare("sgt", length.get(), longest.get())
        best.set(f.choose(longer, "i64", i, best.get()))
        longest.set(f.most(longest.get(), length.get()))
    return best.get()


def _write_items(f: Function, own: Row, order: Introsort, count: str) -> None:
    with f.loop(0, count) as i:
        order.write_item(f, own.items, i, own.load(f, "%source", i))


def _by_heap(f: Function, own: Row, order: Introsort) -> None:
    """The wanted items in order, of many more that are looked at once."""
    items, wanted = own.items, own.wanted
    _write_items(f, own, order, wanted)
    f.run(order.heap, items, wanted, wanted)

    def offer(start: str, stop: str) -> None:
        with f.loop(start, stop) as i:
            order.offer(f, items, wanted, i, own.load(f, "%source", i))

    scan(f, own, "%source", wanted, items, offer)
    f.run(order.drain, items, wanted)


def _give(f: Function, form: Form, steps: list[str], pointers: list[str], place: str, j: str) -> None:
    """Write the j-th element in order, which was at a place of its row."""
    values, places, source = pointers
    raw, size = element(form.dtype.itemsize), form.dtype.itemsize
    f.write("i64", place, f.at(places, f.mul(j, steps[1]), "i8"), 8)
    x = f.read(raw, f.at(source, f.mul(place, steps[2]), "i8"), size)
    f.write(raw, x, f.at(values, f.mul(j, steps[0]), "i8"), size)


def _write_network(module: Module, form: Form, redo: Function | None) -> None:
    def give(f: Function, pointers: list[str], place: str, j: str) -> None:
        _give(f, form, [f.word(STEP + k) for k in range(3)], pointers, place, j)

    def again(f: Function, pointers: list[str]) -> None:
        if redo:
            f.run(redo, *pointers, f.words, f.scratch)

    with module.kernel("sort_rows") as f:
        sides = [f.word(k, "ptr") for k in range(3)]
        own = Row(f, form)
        network = Network(module, f, form.network, (own.count, own.wanted, own.more), give,
                          again if redo else None)
        with Nest(form.rank, 3, WALK).rows(f) as row:
            pointers = [f.at(p, offset, "i8") for p, offset in zip(sides, row.offsets)]
            network.add(pointers, lambda i: own.load(f, pointers[2], i))
        network.finish()


TEMPLATES: dict[str, Template] = {"sort": _sort, "topk": _topk, "kthvalue": _kthvalue, "mode": _mode,
                                  "median": _median, "nanmedian": _median}
