"""Gamma, Poisson and binomial numbers by rejection, one by one: the formulas of ``random_streams``.

Each is one function of a module, ``f(scratch, parameters) -> double``, with the loops and tests of the
interpreter's in the same order, so that it draws the same numbers and gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ....random_streams.counts import LARGE, STIRLING_TAILS
from ..llvm.build import Function, Module
from ..llvm.emitter import FLOAT64, literal
from ..llvm.expressions.expression import Expression, compare, select
from .one_by_one import Reader, library, log_or_infinite

_NAN = literal(math.nan, FLOAT64)


def _value(f: Function, name: str) -> Expression:
    return Expression(f, name, FLOAT64)


def gamma(module: Module, reader: Reader) -> Function:
    """``gamma(scratch, exponent, d)``: squeeze and rejection after Marsaglia and Tsang (2000)."""
    with module.helper("gamma", [("ptr", "%scratch"), ("double", "%exponent"), ("double", "%d")],
                       "double") as f:
        exponent, d = _value(f, "%exponent"), _value(f, "%d")
        with f.when(compare("==", exponent, math.inf).register):     # a shape of zero
            f.give("0.0")
        positive = compare(">", d, 0).register
        scale = f.variable("double", "1.0")
        with f.when(compare("!=", exponent, 0).register):
            boost = 1.0 - reader.uniform(f)
            scale.set(_NAN)
            with f.when(positive):
                scale.set(library("pow", boost, exponent).register)
        c = f.variable("double", _NAN)
        with f.when(positive):
            c.set((1.0 / (d * 9.0).intrinsic("sqrt")).register)
        with f.forever():
            x = reader.normal(f)
            y = _value(f, c.get()) * x + 1.0
            with f.otherwise(compare("<=", y, 0).register):
                v = y * y * y
                u = 1.0 - reader.uniform(f)
                square = x * x
                found = (_value(f, scale.get()) * d * v).register
                with f.when(compare("<", u, 1.0 - square * 0.0331 * square).register):
                    f.give(found)
                bound = square * 0.5 + d * ((1.0 - v) + library("log", v))
                with f.when(compare("<", library("log", u), bound).register):
                    f.give(found)
    return f


def poisson(module: Module, reader: Reader) -> Function:
    """``poisson(scratch, rate)``: products of uniform numbers, or from 10 on transformed rejection."""
    large = _poisson_large(module, reader)
    with module.helper("poisson", [("ptr", "%scratch"), ("double", "%rate")], "double") as f:
        rate = _value(f, "%rate")
        with f.when(compare("==", rate, 0).register):
            f.give("0.0")
        with f.when(compare(">=", rate, LARGE).register):
            f.give(f.run(large, f.scratch, "%rate") or "")
        bound = library("exp", -rate)
        _count(f, 1.0, lambda product: product * reader.uniform(f),
               lambda product: compare("<=", product, bound))
    return f


def _count(f: Function, start: float, step: Callable[[Expression], Expression],
           ends: Callable[[Expression], Expression]) -> None:
    """Give the number of steps before the one that ends it."""
    held, count = f.variable("double", literal(start, FLOAT64)), f.variable("double", "0.0")
    with f.forever():
        following = step(_value(f, held.get()))
        with f.when(ends(following).register):
            f.give(count.get())
        held.set(following.register)
        count.set((_value(f, count.get()) + 1.0).register)


def _poisson_large(module: Module, reader: Reader) -> Function:
    with module.helper("poisson_large", [("ptr", "%scratch"), ("double", "%rate")], "double") as f:
        rate = _value(f, "%rate")
        with f.when(compare(">=", rate, 2.0 ** 63).register):      # an int64 overflows to the least one
            reader.uniform(f)
            reader.uniform(f)
            f.give(literal(-2.0 ** 63, FLOAT64))
        log_rate = library("log", rate)
        b = rate.intrinsic("sqrt") * 2.53 + 0.931
        a = b * 0.02483 + -0.059
        inverse_alpha = 1.1328 / (b - 3.4) + 1.1239
        inner = 0.9277 - 3.6224 / (b - 2.0)
        with f.forever():
            v, s, count = _tried(f, reader, a, b, rate, 0.43)
            with f.when((compare(">=", s, 0.07) & compare("<=", v, inner)).register):
                f.give(count.register)
            again = compare("<", count, 0) | (compare("<", s, 0.013) & compare(">", v, s))
            with f.otherwise(again.register):
                left = log_or_infinite(v) + library("log", inverse_alpha) - library("log", a / (s * s) + b)
                right = count * log_rate - rate - library("lgamma", count + 1.0)
                with f.when(compare("<=", left, right).register):
                    f.give(count.register)
    return f


def _tried(f: Function, reader: Reader, a: Expression, b: Expression, centre: Expression,
           shift: float) -> tuple[Expression, Expression, Expression]:
    """A uniform number, how far another one is from its ends, and the count that this stands for."""
    u = reader.uniform(f) - 0.5
    v = reader.uniform(f)
    s = 0.5 - u.intrinsic("fabs")
    place = ((a * 2.0) / s + b) * u + centre
    count = (place + shift if shift else place).intrinsic("floor")
    return v, s, select(compare("!=", s, 0), count, count * 0.0 - 1.0)


def binomial(module: Module, reader: Reader) -> Function:
    """``binomial(scratch, trials, p)``: waiting times, or for a mean from 10 on transformed rejection."""
    successes = _successes(module, reader)
    with module.helper("binomial", [("ptr", "%scratch"), ("double", "%trials"), ("double", "%p")],
                       "double") as f:
        trials, p = _value(f, "%trials"), _value(f, "%p")
        with f.when((compare("<=", trials, 0) | compare("<=", p, 0)).register):
            f.give("0.0")
        with f.when(compare(">=", p, 1).register):
            f.give("%trials")
        with f.when(compare(">", p, 0.5).register):
            failures = f.run(successes, f.scratch, "%trials", (1.0 - p).register)
            f.give((trials - _value(f, failures or "")).register)
        with f.when(compare("<=", p, 0.5).register):
            f.give(f.run(successes, f.scratch, "%trials", "%p") or "")
        f.give(_NAN)
    return f


def _successes(module: Module, reader: Reader) -> Function:
    large = _binomial_large(module, reader)
    with module.helper("successes", [("ptr", "%scratch"), ("double", "%trials"), ("double", "%p")],
                       "double") as f:
        trials, p = _value(f, "%trials"), _value(f, "%p")
        with f.when(compare(">=", trials * p, LARGE).register):
            f.give(f.run(large, f.scratch, "%trials", "%p") or "")
        divisor = library("log1p", -p)
        none = compare("==", divisor, 0)

        def wait(elapsed: Expression) -> Expression:
            waited = (log_or_infinite(reader.uniform(f)) / divisor).intrinsic("ceil")
            return elapsed + select(none, divisor * 0.0 + math.inf, waited)
        _count(f, 0.0, wait, lambda elapsed: compare(">", elapsed, trials))
    return f


def _binomial_large(module: Module, reader: Reader) -> Function:
    tail = _stirling_tail(module)

    def tail_of(f: Function, k: Expression) -> Expression:
        return _value(f, f.run(tail, k.register) or "")

    with module.helper("binomial_large", [("ptr", "%scratch"), ("double", "%trials"), ("double", "%p")],
                       "double") as f:
        trials, p = _value(f, "%trials"), _value(f, "%p")
        deviation = (trials * p * (1.0 - p)).intrinsic("sqrt")
        b = deviation * 2.53 + 1.15
        a = b * 0.0248 + -0.0873 + p * 0.01
        centre = trials * p + 0.5
        inner = 0.92 - 4.2 / b
        odds = p / (1.0 - p)
        alpha = (5.1 / b + 2.83) * deviation
        mode = ((trials + 1.0) * p).intrinsic("floor")
        with f.forever():
            v, s, count = _tried(f, reader, a, b, centre, 0.0)
            with f.when((compare(">=", s, 0.07) & compare("<=", v, inner)).register):
                f.give(count.register)
            with f.otherwise((compare("<", count, 0) | compare(">", count, trials)).register):
                left = log_or_infinite(v * alpha / (a / (s * s) + b))
                rest, ending = trials - mode + 1.0, trials - count + 1.0
                bound = ((mode + 0.5) * library("log", (mode + 1.0) / (odds * rest))
                         + (trials + 1.0) * library("log", rest / ending)
                         + (count + 0.5) * library("log", odds * ending / (count + 1.0))
                         + tail_of(f, mode) + tail_of(f, trials - mode)
                         - tail_of(f, count) - tail_of(f, trials - count))
                with f.when(compare("<=", left, bound).register):
                    f.give(count.register)
    return f


def _stirling_tail(module: Module) -> Function:
    """log(k!) minus Stirling's approximation."""
    with module.helper("stirling_tail", [("double", "%k")], "double") as f:
        k = _value(f, "%k")
        values = ", ".join(f"double {literal(v, FLOAT64)}" for v in STIRLING_TAILS)
        kind = f"[{len(STIRLING_TAILS)} x double]"
        f.declarations[f"@stirling_tails = internal constant {kind} [{values}]"] = None
        with f.when(compare("<=", k, 9).register):
            place = f.emit("fptosi double %k to i64")
            at = f.emit(f"getelementptr {kind}, ptr @stirling_tails, i64 0, i64 {place}")
            f.give(f.read("double", at, 8))
        square = (k + 1.0) * (k + 1.0)
        f.give((((1.0 / 12) - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1.0)).register)
    return f
