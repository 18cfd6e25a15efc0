"""The native form of many normal numbers in double precision: Box and Muller's, in groups of 16, one task."""

from __future__ import annotations

import math

from .....graph.node import Signature
from ...draws.one_by_one import COUNT, NUMBERS, RESULT, SCRATCH, Reader, library
from ...llvm.build import Function, Module
from ...llvm.compiling.code import kernel
from ...llvm.compiling.effort import Effort
from ...llvm.emitter import FLOAT64
from ...llvm.expressions.expression import Expression
from ...llvm.expressions.functions import fma
from ...plan import Call, Plan, Words

GROUP = 16      # of normal numbers


def normal_in_double(signature: Signature) -> Plan:
    """Groups of 16; an incomplete group's numbers are lost, and the last 16 are made anew."""
    words = Words()
    words.input(0, signature.geometries[0])
    words.output(1)
    words.output(0)
    words.constant(signature.outputs[0].numel)
    for operand in (1, 2):
        words.number(operand, FLOAT64)
    call = Call(_normal(), words, 1, scratch=SCRATCH)
    return Plan([call], nanoseconds=2000 + 25.0 * signature.outputs[0].numel)


@kernel("draw_normal", effort=Effort.SOME)
def _normal() -> str:
    module = Module()
    reader = Reader(module)
    with module.helper("group", [("ptr", "%scratch"), ("ptr", "%to"), ("double", "%mean"),
                                 ("double", "%std")]) as f:
        _write_group(f, reader)
    group = f
    with module.kernel("draw_normal") as f:
        reader.start(f)
        mean, std = (f.word(NUMBERS + k, "double") for k in range(2))
        count, result = f.word(COUNT), f.word(RESULT, "ptr")
        rest = f.rem(count, GROUP)
        with f.loop(0, f.sub(count, rest), GROUP) as i:
            f.run(group, f.scratch, f.at(result, i, "double"), mean, std)
        with f.when(f.compare("ne", rest, 0)):
            with f.loop(0, rest):
                reader.uniform(f)
            f.run(group, f.scratch, f.at(result, f.sub(count, GROUP), "double"), mean, std)
        reader.finish(f)
    return module.text()


def _write_group(f: Function, reader: Reader) -> None:
    """Uniform numbers where the normal ones will be; the first half gives radii, the second angles."""
    def at(i: str) -> Expression:
        return Expression(f, f.read("double", f.at("%to", i, "double"), 8), FLOAT64)

    with f.loop(0, GROUP) as i:
        f.write("double", reader.uniform(f).register, f.at("%to", i, "double"), 8)
    mean, std = (Expression(f, name, FLOAT64) for name in ("%mean", "%std"))
    with f.loop(0, GROUP // 2) as i:
        other = f.add(i, GROUP // 2)
        radius = (library("log", 1.0 - at(i)) * -2.0).intrinsic("sqrt")
        angle = at(other) * (2.0 * math.pi)
        for place, turn in ((i, "cos"), (other, "sin")):
            value = fma(radius * library(turn, angle), std, mean)
            f.write("double", value.register, f.at("%to", place, "double"), 8)
