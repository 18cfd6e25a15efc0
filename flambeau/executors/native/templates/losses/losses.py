"""Negative log likelihood and its gradient.

For each position n, (N, *) of them, the loss is -w[t] x[n, t] with t = target[n], and 0 where t is
``ignore_index`` or w[t] is 0. A task sums its positions in double precision; a second call adds the sums of
the tasks in order and divides. The gradient is zeros with -w[t] g / W in one place of each position.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...llvm.build import Function, Module, Variable
from ...llvm.compiling.code import kernel
from ...llvm.emitter import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT64, Dtype, element, register_type
from ...movement.copying import Place, filled
from ...movement.spaces import Nest, Space, fused, rank_for, split
from ...plan import Call, Plan, Template, Words

# Words before the walk: results and operands, number of classes and strides along them, what is ignored.
LOSSES, TOTAL, INPUT, TARGET, WEIGHT, STATUS, CLASSES, STEP, WEIGHT_STEP, IGNORED, PARTIAL = range(11)
WALK = 11
NONE, MEAN, SUM = "none", "mean", "sum"


class Form:
    """What the code of a loss depends on. ``x``: log probabilities, or their gradient."""

    def __init__(self, x: Geometry, target: Geometry, weight: Any, reduction: str) -> None:
        self.dtype = np.dtype(x.dtype.numpy)
        self.target = target.dtype.itemsize
        self.weighted = isinstance(weight, Geometry)
        self.reduction = reduction
        self.native = self.dtype in (FLOAT32, FLOAT64, FLOAT16, BFLOAT16) and target.numel > 0 \
            and (not self.weighted or weight.dtype is x.dtype) \
            and np.dtype(target.dtype.numpy) in (INT64, np.dtype(np.uint8))

    @property
    def wide(self) -> Dtype:
        """The type that is computed in, and of the sum of the weights."""
        return _wide(self.dtype)

    def key(self) -> tuple[Any, ...]:
        """As arguments of a kernel's generator."""
        return self.dtype, self.target, self.weighted, self.reduction


def _wide(dtype: Dtype) -> Dtype:
    return FLOAT64 if dtype == FLOAT64 else FLOAT32


def _positions(x: Geometry, target: Geometry, *others: Any) -> tuple[Space, int]:
    """The walk over target, input without its classes and others; the input's stride along the classes."""
    axis = 1 if x.ndim > 1 else 0
    along = x.strides[axis]
    rest = [s for d, s in enumerate(x.strides) if d != axis]
    size = x.dtype.itemsize
    strides = [[s * target.dtype.itemsize for s in target.strides], [s * size for s in rest],
               *[[s * size for s in own] for own in others]]
    return fused(target.shape, strides, ordered=False), along * size


# --- forward ------------------------------------------------------------------------------------------------

def _nll(signature: Signature) -> Plan | None:
    """(losses or their sum or mean, sum of the weights)."""
    x, target, weight = signature.geometries
    ignored, reduction = signature.attributes
    form = Form(x, target, weight, reduction)
    if not form.native or (x.ndim == 1) != (target.ndim == 0):
        return None
    losses = signature.outputs[0].strides if reduction == NONE else (0,) * target.ndim
    space, step = _positions(x, target, losses)
    rank = rank_for(space)
    cut = split(space, 64 + 8)  # each element of the input is in a cache line of its own
    words = Words()
    words.output(0)
    words.output(1)
    words.input(0, x)
    _operands(words, target, weight, x, ignored, step, form)
    Nest(rank, 3, WALK).place(words, space, cut)
    calls = [Call(_forward_kernel(rank, cut.tasks == 1, *form.key()), words, cut.tasks, cut.grain)]
    if cut.tasks > 1:
        finish = Words()
        finish.output(0)
        finish.output(1)
        finish.workspace(0)
        finish.constant(cut.tasks)
        calls.append(Call(_finish_kernel(form.dtype, reduction), finish, 1))
    return Plan(calls, workspace=16 * cut.tasks, traffic=72.0 * target.numel)


def _operands(words: Words, target: Geometry, weight: Any, x: Geometry, ignored: int, step: int,
              form: Form) -> None:
    """The words from TARGET to PARTIAL."""
    words.input(1, target)
    if form.weighted:
        words.input(2, weight)
    else:
        words.constant(0)
    words.status()
    classes = x.shape[1 if x.ndim > 1 else 0]
    words.constant(classes, step, weight.strides[0] * form.dtype.itemsize if form.weighted else 0, ignored)
    words.workspace(0)


class _Target:
    """One position's class: whether it counts, its weight."""

    def __init__(self, f: Function, form: tuple[Any, ...], words: dict[int, str], at: str) -> None:
        dtype, size, weighted, _ = form
        kind = register_type(dtype)
        t = f.read(element(size), at, size)
        t = t if size == 8 else f.emit(f"zext i8 {t} to i64")
        ignored = f.compare("eq", t, words[IGNORED])
        wrong = f.emit(f"and i1 {f.compare('uge', t, words[CLASSES])}, {f.emit(f'xor i1 {ignored}, true')}")
        with f.when(wrong):
            f.write("i64", 1, f.word(STATUS, "ptr"), 8)
        self.out = f.emit(f"or i1 {ignored}, {wrong}")
        self.index = f.choose(self.out, "i64", "0", t)
        one = "1.0"
        if weighted:
            at = f.at(words[WEIGHT], f.mul(self.index, words[WEIGHT_STEP]), "i8")
            one = f.load(at, dtype)
        self.weight = f.choose(self.out, kind, "0.0", one)
        self.nothing = f.emit(f"fcmp oeq {kind} {self.weight}, 0.0")


def _read_words(f: Function) -> dict[int, str]:
    kinds = {CLASSES: "i64", STEP: "i64", WEIGHT_STEP: "i64", IGNORED: "i64"}
    return {k: f.word(k, kinds.get(k, "ptr")) for k in range(WALK) if k != STATUS}


@kernel("nll")
def _forward_kernel(rank: int, whole: bool, *form: Any) -> str:
    dtype, _, _, reduction = form
    kind = register_type(dtype)
    module = Module()
    nest = Nest(rank, 3, WALK)
    with module.kernel("nll") as f:
        words = _read_words(f)
        total, weights = f.variable("double", "0.0"), f.variable("double", "0.0")
        target_step, step = nest.step(f, 0), nest.step(f, 1)
        with nest.tasks(f) as block:
            total.set("0.0")
            weights.set("0.0")
            with nest.rows(f, block) as row, f.loop(0, row.width(f)) as i:
                t = _Target(f, form, words, _place(f, words[TARGET], row.offsets[0], i, target_step))
                at = _place(f, words[INPUT], row.offsets[1], i, step)
                x = f.load(f.at(at, f.mul(t.index, words[STEP]), "i8"), dtype)
                loss = f.emit(f"fmul {kind} {f.emit(f'fneg {kind} {x}')}, {t.weight}")
                loss = f.choose(t.nothing, kind, "0.0", loss)
                if reduction == NONE:
                    f.store(loss, _place(f, words[LOSSES], row.offsets[2], i, nest.step(f, 2)), dtype)
                _accumulate(f, total, loss, kind)
                _accumulate(f, weights, t.weight, kind)
            if whole:
                _finish(f, dtype, reduction, total.get(), weights.get(), words[LOSSES], words[TOTAL])
            else:
                for k, sums in enumerate((total, weights)):
                    at = f.at(words[PARTIAL], f.add(f.mul(block.task, 2), k), "double")
                    f.write("double", sums.get(), at, 8)
    return module.text()


def _place(f: Function, pointer: str, row: str, i: str, step: str) -> str:
    """The address of column i of a row."""
    return f.at(f.at(pointer, row, "i8"), f.mul(i, step), "i8")


def _accumulate(f: Function, total: Variable, x: str, kind: str) -> None:
    x = x if kind == "double" else f.emit(f"fpext float {x} to double")
    total.set(f.emit(f"fadd double {total.get()}, {x}"))


def _finish(f: Function, dtype: Dtype, reduction: str, total: str, weights: str, losses: str,
            to: str) -> None:
    """The results from the sums."""
    found = [(to, _wide(dtype), weights)]
    if reduction != NONE:
        loss = f.emit(f"fdiv double {total}, {weights}") if reduction == MEAN else total
        found.append((losses, dtype, loss))
    for pointer, own, x in found:
        x = x if own == FLOAT64 else f.emit(f"fptrunc double {x} to float")
        f.store(x, pointer, own)


@kernel("nll_finish")
def _finish_kernel(dtype: Dtype, reduction: str) -> str:
    """Adds up what the tasks have found, in order."""
    module = Module()
    with module.kernel("nll_finish") as f:
        losses, to, partial, tasks = f.word(0, "ptr"), f.word(1, "ptr"), f.word(2, "ptr"), f.word(3)
        total, weights = f.variable("double", "0.0"), f.variable("double", "0.0")
        with f.loop(0, tasks) as i:
            for k, sums in enumerate((total, weights)):
                x = f.read("double", f.at(partial, f.add(f.mul(i, 2), k), "double"), 8)
                sums.set(f.emit(f"fadd double {sums.get()}, {x}"))
        _finish(f, dtype, reduction, total.get(), weights.get(), losses, to)
    return module.text()


# --- backward -----------------------------------------------------------------------------------------------

def _nll_backward(signature: Signature) -> Plan | None:
    """Zeros, then one element of each position."""
    grad, target, weight, total = signature.geometries
    ignored, reduction = signature.attributes[:2]
    out = signature.outputs[0]
    form = Form(out, target, weight, reduction)
    if not form.native or not out.numel or grad.dtype is not out.dtype \
            or total.dtype.numpy != form.wide or (out.ndim == 1) != (target.ndim == 0):
        return None
    size = out.dtype.itemsize
    given = grad.strides if grad.shape == target.shape else (0,) * target.ndim
    space, step = _positions(out, target, given)
    rank = rank_for(space)
    cut = split(space, 72)
    words = Words()
    words.output(0)
    words.input(3, total)
    words.input(0, grad)
    _operands(words, target, weight, out, ignored, step, form)
    Nest(rank, 3, WALK).place(words, space, cut)
    return Plan([filled(Place((1,)), (out.numel,), size),
                 Call(_backward_kernel(rank, *form.key()), words, cut.tasks, cut.grain)],
                traffic=1.0 * signature.nbytes + 72.0 * target.numel)


@kernel("nll_backward")
def _backward_kernel(rank: int, *form: Any) -> str:
    dtype, _, _, reduction = form
    kind = register_type(dtype)
    module = Module()
    nest = Nest(rank, 3, WALK)
    with module.kernel("nll_backward") as f:
        words = _read_words(f)
        target_step, step, given = [nest.step(f, k) for k in range(3)]
        weights = f.load(words[TOTAL], _wide(dtype)) if reduction == MEAN else ""
        with nest.rows(f) as row, f.loop(0, row.width(f)) as i:
            t = _Target(f, form, words, _place(f, words[TARGET], row.offsets[0], i, target_step))
            g = f.load(_place(f, words[INPUT], row.offsets[2], i, given), dtype)
            if weights:
                g = f.emit(f"fdiv {kind} {g}, {weights}")
            x = f.emit(f"fmul {kind} {f.emit(f'fneg {kind} {t.weight}')}, {g}")
            at = f.at(_place(f, words[LOSSES], row.offsets[1], i, step), f.mul(t.index, words[STEP]), "i8")
            f.store(f.choose(t.nothing, kind, "0.0", x), at, dtype)
    return module.text()


TEMPLATES: dict[str, Template] = {"nll_loss": _nll, "nll_loss_backward": _nll_backward}
