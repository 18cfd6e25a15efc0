"""The native function that plays a tape: it does for all of them what a Python function of each would.

A tape in memory (``tapes.py``) is a list of steps, STEP_WORDS words each: what is done, the places of two
operands and of the result, and how a comparison must come out. Places are in bytes, in a table of registers
of 64 bits that hold integers or ``double``; constants stand there from the start. A ``CALL`` is a function of
Python's: its first operand is the address of a record of words: the function, the number of arguments, of
each its kind and place (or the object), the number of results or -1 for one that is no tuple, and of each its
kind and place.
"""

from __future__ import annotations

from ...llvm.build import Function, Module
from ..runtime.objects import SIZE_AT, TUPLE_AT, TYPE_AT
from .kin_words import (
    AS_DOUBLE,
    CALL,
    FLOAT_TYPE,
    INT_TYPE,
    LET_GO,
    NEW_FLOAT,
    NEW_INTEGER,
    REGISTERS,
    STEPS,
    TUPLE_TYPE,
    KinCode,
)

STEP_WORDS = 5
(ADD, SUBTRACT, MULTIPLY, QUOTIENT, REMAINDER, EQUAL, LESS, LESS_EQUAL, LEAST, MOST, TO_REAL, ADD_REAL,
 SUBTRACT_REAL, MULTIPLY_REAL, DIVIDE_REAL, EQUAL_REAL, LESS_REAL, LESS_EQUAL_REAL, LEAST_REAL, MOST_REAL,
 CALLED) = range(21)
WHOLE, REAL, OBJECT = range(3)      # kinds of arguments and results
ARGUMENTS = 24                      # of a call, at most
_REALS = {ADD_REAL: "fadd", SUBTRACT_REAL: "fsub", MULTIPLY_REAL: "fmul", DIVIDE_REAL: "fdiv"}
_CHECKED = {ADD: "sadd", SUBTRACT: "ssub", MULTIPLY: "smul"}
_ORDERS = {EQUAL: "icmp eq i64", LESS: "icmp slt i64", LESS_EQUAL: "icmp sle i64",
           EQUAL_REAL: "fcmp oeq double", LESS_REAL: "fcmp olt double", LESS_EQUAL_REAL: "fcmp ole double"}
_CHOICES = {LEAST: "icmp slt i64", MOST: "icmp sgt i64", LEAST_REAL: "fcmp olt double",
            MOST_REAL: "fcmp ogt double"}


def play(module: Module, equals: Function) -> Function:
    """Whether all comparisons come out as they did: then the registers hold what follows from the numbers."""
    called = _called(module, equals)
    with module.helper("play", [("ptr", "%kin")], "i64") as f:
        c = KinCode(f, "%kin")
        table, count = c.table(STEPS)
        registers = c.word(REGISTERS, "ptr")
        with f.loop(0, count) as i:
            step = f.at(table, f.mul(i, STEP_WORDS), "i64")
            a, b, result = [f.at(registers, c.get(step, 8 * k, "i64"), "i8") for k in (1, 2, 3)]
            for kind in f.cases(c.get(step, 0, "i64"), CALLED + 1):
                if kind == CALLED:
                    done = str(f.run(called, c.memory, c.get(step, 8)))
                    c.refuse_unless(c.equal(done, 1))
                else:
                    _step(c, kind, a, b, result, step)
        f.give(1)
    return f


def _step(c: KinCode, kind: int, a: str, b: str, result: str, step: str) -> None:
    f = c.f
    of = "double" if kind >= ADD_REAL else "i64"
    if kind == TO_REAL:
        f.write("double", f.emit(f"sitofp i64 {f.read('i64', a, 8)} to double"), result, 8)
        return
    x, y = f.read(of, a, 8), f.read(of, b, 8)
    if kind in _REALS:
        if kind == DIVIDE_REAL:
            c.refuse_unless(f.emit(f"fcmp une double {y}, 0.0"))
        f.write("double", f.emit(f"{_REALS[kind]} double {x}, {y}"), result, 8)
    elif kind in _CHECKED:
        name = f"llvm.{_CHECKED[kind]}.with.overflow.i64"
        both = f.call(name, "{i64, i1}", ["i64", "i64"], [x, y])
        with f.when(f.emit(f"extractvalue {{i64, i1}} {both}, 1")):
            f.give(0)
        f.write("i64", f.emit(f"extractvalue {{i64, i1}} {both}, 0"), result, 8)
    elif kind in _ORDERS:
        found = f.emit(f"zext i1 {f.emit(f'{_ORDERS[kind]} {x}, {y}')} to i64")
        c.refuse_unless(c.equal(found, c.get(step, 32, "i64")))
    elif kind in _CHOICES:
        f.write(of, f.choose(f.emit(f"{_CHOICES[kind]} {x}, {y}"), of, x, y), result, 8)
    else:
        f.write("i64", _divided(c, x, y, kind == REMAINDER), result, 8)


def _divided(c: KinCode, x: str, y: str, wants_rest: bool) -> str:
    """Python's quotient, which is rounded down, or remainder, which has the divisor's sign."""
    f = c.f
    c.refuse_unless(f.compare("ne", y, 0))
    c.refuse_unless(f.compare("ne", y, -1))     # the one quotient that may overflow
    quotient, rest = f.emit(f"sdiv i64 {x}, {y}"), f.emit(f"srem i64 {x}, {y}")
    other_side = f.compare("slt", f.emit(f"xor i64 {rest}, {y}"), 0)
    below = f.emit(f"and i1 {f.compare('ne', rest, 0)}, {other_side}")
    if wants_rest:
        return f.choose(below, "i64", f.add(rest, y), rest)
    return f.choose(below, "i64", f.sub(quotient, 1), quotient)


def _called(module: Module, equals: Function) -> Function:
    """Call a function of Python's: 1, or 0 where it raised or its results are of other kinds than before."""
    take = _take(module, equals)
    with module.helper("called", [("ptr", "%kin"), ("ptr", "%record")], "i64") as f:
        c = KinCode(f, "%kin")
        registers = c.word(REGISTERS, "ptr")
        f.slots.append(f"  %given = alloca [{ARGUMENTS} x ptr]")
        count = c.get("%record", 8, "i64")
        with f.loop(0, count) as i:
            each = f.at(f.at("%record", 2, "i64"), f.mul(i, 2), "i64")
            made = f.variable("ptr", c.get(each, 8))
            for kind in f.cases(c.get(each, 0, "i64"), OBJECT):
                place = f.at(registers, c.get(each, 8, "i64"), "i8")
                if kind == WHOLE:
                    made.set(c.call(NEW_INTEGER, f"i64 {f.read('i64', place, 8)}"))
                else:
                    made.set(c.call(NEW_FLOAT, f"double {f.read('double', place, 8)}"))
            f.write("ptr", made.get(), f.at("%given", i, "ptr"), 8)
        function = c.get("%record", 0)
        found = c.call(CALL, f"ptr {function}, ptr %given, i64 {count}, ptr null")
        with f.loop(0, count) as i:
            with f.when(f.compare("ne", c.get(f.at("%record", f.add(f.mul(i, 2), 2), "i64"), 0, "i64"),
                                  OBJECT)):
                c.tell(LET_GO, f.read("ptr", f.at("%given", i, "ptr"), 8))
        with f.when(c.same(found, "null")):
            f.give(0)
        results = f.at(f.at("%record", 2, "i64"), f.mul(count, 2), "i64")
        several, done = c.get(results, 0, "i64"), f.variable("i64", 1)
        single = f.compare("slt", several, 0)
        with f.when(single):
            done.set(str(f.run(take, "%kin", found, f.at(results, 1, "i64"))))
        with f.otherwise(single):
            is_tuple = c.same(c.get(found, TYPE_AT), c.object(TUPLE_TYPE))
            done.set(f.emit(f"zext i1 {is_tuple} to i64"))
            with f.when(is_tuple):
                done.set(f.emit(f"zext i1 {c.equal(c.get(found, SIZE_AT, 'i64'), several)} to i64"))
            with f.when(c.equal(done.get(), 1)):
                with f.loop(0, several) as i:
                    row = f.at(f.at(results, 1, "i64"), f.mul(i, 2), "i64")
                    item = f.read("ptr", f.at(f.at(found, i, "ptr"), TUPLE_AT, "i8"), 8)
                    taken = str(f.run(take, "%kin", item, row))
                    done.set(f.emit(f"and i64 {done.get()}, {taken}"))
        c.tell(LET_GO, found)
        f.give(done.get())
    return f


def _take(module: Module, equals: Function) -> Function:
    """Put a result of this kind into its register: 1, or 0 if it is none."""
    with module.helper("take_result", [("ptr", "%kin"), ("ptr", "%x"), ("ptr", "%row")], "i64") as f:
        c = KinCode(f, "%kin")
        place = f.at(c.word(REGISTERS, "ptr"), c.get("%row", 8, "i64"), "i8")
        wanted, kind = c.get("%row", 0, "i64"), c.get("%x", TYPE_AT)
        for case in f.cases(wanted, OBJECT + 1):
            if case == OBJECT:      # it must be like this one
                f.give(str(f.run(equals, "%kin", "%x", c.get("%row", 8))))
            elif case == WHOLE:
                c.refuse_unless(c.same(kind, c.object(INT_TYPE)))
                f.write("i64", c.whole("%x"), place, 8)
            else:
                c.refuse_unless(c.same(kind, c.object(FLOAT_TYPE)))
                f.write("double", c.call(AS_DOUBLE, "ptr %x", "double"), place, 8)
        f.give(1)
    return f
