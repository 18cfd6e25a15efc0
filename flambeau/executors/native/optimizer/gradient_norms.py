"""The norm of many tensors together, and their scaling by it (``operators/optimization/gradient_norms.py``).

As in optimizer steps (``multi_tensor.py``), all tensors count as one list of elements, cut into tasks of
equal size. Each task leaves a sum of squares in double precision; a second call adds them in their order.
What scales and limits may be given the same memory to read and to write: each element depends on itself alone
and is read once, before it is written, so that it is vectorized as if they lay apart.

    words: number of tensors, elements of a task, elements in all, then what a kernel needs besides, then a
    record for each tensor: start in the list, pointers; and one more start, the end
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..llvm.build import Function, Module
from ..llvm.compiling.code import kernel
from ..llvm.emitter import FLOAT32, Dtype, literal, memory_type

COUNT, CHUNK, TOTAL, HEADER = range(4)

# Words after the header. Of the norm: the tasks' sums. Of the scaling: the norm, and the greatest allowed. Of
# the limiting: the greatest value allowed.
SUMS = HEADER
NORM, MOST = HEADER, HEADER + 1
LIMIT = HEADER
NORM_TABLE, SCALE_TABLE, LIMIT_TABLE = 4, 5, 4


@contextmanager
def _spans(f: Function, task: str, after: str, table: int, pointers: int,
           element: str) -> Iterator[tuple[list[str], str]]:
    """For each tensor that the tasks before ``after`` meet: addresses of its part, and its length."""
    chunk, record_words = f.word(CHUNK), 1 + pointers
    first = f.mul(task, chunk)
    last = f.least(f.mul(after, chunk), f.word(TOTAL))
    with f.loop(0, f.word(COUNT)) as k:
        record = f.at(f.words, f.add(f.mul(k, record_words), table), "i64")
        start = f.read("i64", record, 8)
        stop = f.read("i64", f.at(record, record_words, "i64"), 8)
        begin = f.most(f.sub(first, start), 0)
        end = f.sub(f.least(last, stop), start)
        with f.when(f.compare("slt", begin, end)):
            places = [f.at(f.read("ptr", f.at(record, 1 + j, "i64"), 8), begin, element)
                      for j in range(pointers)]
            yield places, f.sub(end, begin)


@kernel("squares_of_tasks", "squares")
def squares_kernel(dtype: Dtype) -> str:
    """Each task's sum of squares."""
    module = Module()
    element = memory_type(dtype)
    with module.helper("squares", [("ptr noalias readonly", "%x"), ("i64", "%count")], "double") as g:
        total = g.variable("double", "0.0")
        with g.loop(0, "%count") as i:
            x = g.read(element, g.at("%x", i, element), dtype.itemsize)
            square = g.emit(f"fmul {element} {x}, {x}")
            wide = g.emit(f"fpext float {square} to double") if dtype == FLOAT32 else square
            # The order of the sum is LLVM's choice, and the same in every run.
            total.set(g.emit(f"fadd reassoc nsz double {total.get()}, {wide}"))
        g.give(total.get())
    with module.kernel("squares_of_tasks") as f:
        sums = f.word(SUMS, "ptr")
        with f.loop(f.begin, f.end) as task:
            own = f.variable("double")
            own.set("0.0")
            with _spans(f, task, f.add(task, 1), NORM_TABLE, 1, element) as (places, count):
                own.set(f.emit(f"fadd double {own.get()}, {f.run(g, places[0], count)}"))
            f.write("double", own.get(), f.at(sums, task, "double"), 8)
    return module.text()


@kernel("root")
def root_kernel(dtype: Dtype) -> str:
    """The root of the sum of the tasks' sums. Words: sums, how many, result."""
    module = Module()
    with module.kernel("root") as f:
        total = f.variable("double", "0.0")
        sums = f.word(0, "ptr")
        with f.loop(0, f.word(1)) as i:
            total.set(f.emit(f"fadd double {total.get()}, {f.read('double', f.at(sums, i, 'double'), 8)}"))
        root = f.call("llvm.sqrt.f64", "double", ["double"], [total.get()])
        if dtype == FLOAT32:
            f.write("float", f.emit(f"fptrunc double {root} to float"), f.word(2, "ptr"))
        else:
            f.write("double", root, f.word(2, "ptr"), 8)
    return module.text()


@kernel("scale_all", "scale")
def scale_kernel(dtype: Dtype) -> str:
    """Tensors times min(1, most / (norm + 1e-6))."""
    module = Module()
    element = memory_type(dtype)
    parameters = [("ptr noalias readonly", "%x"), ("ptr noalias", "%y"), ("i64", "%count"),
                  (element, "%factor")]
    with module.helper("scale", parameters) as g, g.loop(0, "%count") as i:
        x = g.read(element, g.at("%x", i, element), dtype.itemsize)
        g.write(element, g.emit(f"fmul {element} {x}, %factor"), g.at("%y", i, element), dtype.itemsize)
    with module.kernel("scale_all") as f:
        factor = _factor(f, dtype)
        with _spans(f, f.begin, f.end, SCALE_TABLE, 2, element) as (places, count):
            f.run(g, *places, count, factor)
    return module.text()


@kernel("limit_all", "limit")
def limit_kernel(dtype: Dtype) -> str:
    """Tensors' values limited to [-most, most]; NaN stays."""
    module = Module()
    element = memory_type(dtype)
    parameters = [("ptr noalias readonly", "%x"), ("ptr noalias", "%y"), ("i64", "%count"),
                  (element, "%most")]
    with module.helper("limit", parameters) as g:
        least = g.emit(f"fneg {element} %most")
        with g.loop(0, "%count") as i:
            x = g.read(element, g.at("%x", i, element), dtype.itemsize)
            for order, bound in (("olt", least), ("ogt", "%most")):
                beyond = g.emit(f"fcmp {order} {element} {x}, {bound}")
                x = g.emit(f"select i1 {beyond}, {element} {bound}, {element} {x}")
            g.write(element, x, g.at("%y", i, element), dtype.itemsize)
    with module.kernel("limit_all") as f:
        most = f.word(LIMIT, element)
        with _spans(f, f.begin, f.end, LIMIT_TABLE, 2, element) as (places, count):
            f.run(g, *places, count, most)
    return module.text()


def _factor(f: Function, dtype: Dtype) -> str:
    element = memory_type(dtype)
    norm = f.read(element, f.word(NORM, "ptr"), dtype.itemsize)
    bottom = f.emit(f"fadd {element} {norm}, {literal(1e-6, dtype)}")
    factor = f.emit(f"fmul {element} {f.emit(f'fdiv {element} 1.0, {bottom}')}, {f.word(MOST, element)}")
    above = f.emit(f"fcmp ogt {element} {factor}, 1.0")
    return f.emit(f"select i1 {above}, {element} 1.0, {element} {factor}")
