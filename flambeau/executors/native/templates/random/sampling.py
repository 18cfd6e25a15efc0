"""The native forms of distributions that are drawn element by element, mostly by rejection: one task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np

from .....graph.geometry import Geometry
from .....graph.node import Signature
from .....random_streams.gammas import THIRD
from ...draws import rejection
from ...draws.mersenne import STATE_BYTES
from ...draws.one_by_one import COUNT, NUMBERS, RESULT, SCRATCH, Reader
from ...llvm.build import Function, Module
from ...llvm.compiling.code import kernel
from ...llvm.compiling.effort import Effort
from ...llvm.emitter import FLOAT32, FLOAT64, Dtype, literal, memory_type
from ...llvm.expressions.expression import Expression, compare, constant, convert, select
from ...plan import Call, Plan, Template, Words

STATUS = NUMBERS + 2


def _template(make: Callable[[Dtype], SupportsIndex], each: float) -> Template:
    """``make(dtype)``: a kernel's address; ``each``: nanoseconds for an element."""
    def template(signature: Signature) -> Plan | None:
        out, state = signature.outputs[0], signature.geometries[0]
        operands = signature.geometries[1:]
        if not isinstance(state, Geometry) or not state.is_contiguous or state.numel != STATE_BYTES \
                or out.dtype.numpy not in (FLOAT32, FLOAT64) or not out.is_contiguous:
            return None
        if any(not g.is_contiguous or g.shape != out.shape or g.dtype is not out.dtype for g in operands):
            return None
        words = Words()
        words.input(0, state)
        words.output(1)
        words.output(0)
        words.constant(out.numel)
        for k in (0, -1):       # kernels have two parameters; of those that need one they are the same
            words.input(1 + k % len(operands), operands[k])
        words.status()
        call = Call(make(np.dtype(out.dtype.numpy)), words, 1, scratch=SCRATCH)
        return Plan([call], nanoseconds=2000 + each * out.numel)
    return template


def _written(name: str, dtype: Dtype, define: Callable[[Module, Reader], Function],
             formula: Callable[[Function, Function, list[Expression]], Expression]) -> str:
    """A kernel of elements ``formula(f, function, parameters)`` with the function that ``define`` writes."""
    module = Module()
    reader = Reader(module)
    function = define(module, reader)
    with module.kernel(name) as f:
        reader.start(f)
        with f.loop(0, f.word(COUNT)) as i:
            places = [f.at(f.word(NUMBERS + k, "ptr"), i, memory_type(dtype)) for k in range(2)]
            given = [Expression(f, f.load(at, dtype), dtype) for at in places]
            found = formula(f, function, given)
            f.store(found.register, f.at(f.word(RESULT, "ptr"), i, memory_type(dtype)), dtype)
        reader.finish(f)
    return module.text()


def _called(f: Function, function: Function, *parameters: Expression) -> Expression:
    """What a function gives, in double precision."""
    given = [convert(x, FLOAT64).register for x in parameters]
    return Expression(f, f.run(function, f.scratch, *given) or "", FLOAT64)


@kernel("draw_gamma", effort=Effort.SOME)
def _gamma(dtype: Dtype) -> str:
    def formula(f: Function, function: Function, given: list[Expression]) -> Expression:
        shape = given[0]
        boosted = compare("<", shape, 1)
        exponent = select(boosted, 1 / shape, constant(shape, 0.0))
        reduced = select(boosted, shape + 1, shape) - float(dtype.type(THIRD))
        found = convert(_called(f, function, exponent, reduced), dtype)
        least = constant(found, float(np.finfo(dtype).tiny))
        return select(compare(">", found, least), found, least)     # what is not a number, too
    return _written("draw_gamma", dtype, rejection.gamma, formula)


@kernel("draw_poisson", effort=Effort.SOME)
def _poisson(dtype: Dtype) -> str:
    def formula(f: Function, function: Function, given: list[Expression]) -> Expression:
        rate = given[0]
        wrong = f.emit(f"xor i1 {compare('>=', rate, 0).register}, true")
        with f.when(wrong):
            f.write("i64", 1, f.word(STATUS, "ptr"), 8)
        safe = Expression(f, f.choose(wrong, memory_type(dtype), literal(0, dtype), rate.register), dtype)
        return convert(_called(f, function, safe), dtype)
    return _written("draw_poisson", dtype, rejection.poisson, formula)


@kernel("draw_binomial", effort=Effort.SOME)
def _binomial(dtype: Dtype) -> str:
    def formula(f: Function, function: Function, given: list[Expression]) -> Expression:
        return convert(_called(f, function, *given), dtype)
    return _written("draw_binomial", dtype, rejection.binomial, formula)


TEMPLATES: dict[str, Any] = {"standard_gamma": _template(_gamma, 60.0), "poisson": _template(_poisson, 60.0),
                             "binomial": _template(_binomial, 300.0)}
