"""From the members of a unit to the launch of a kernel: what is input, what is number, what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph.geometry import Geometry
from ...graph.node import Node
from .compile import kernel_of
from .launch import Launch
from .loops import loop_of
from .lowering import Structure, sum_type
from .schedule import Unit, is_sum, member_of

_LIMIT = 1 << 14

Reference = tuple[str, int] | None

_launches: dict[Any, Launch | None] = {}


class Binding:
    """A launch and where its inputs and numbers are found: (member, operand)."""

    __slots__ = ("launch", "inputs", "numbers")

    def __init__(self, launch: Launch, inputs: list[tuple[int, int]], numbers: list[tuple[int, int]]) -> None:
        self.launch = launch
        self.inputs = inputs
        self.numbers = numbers

    def run(self, members: list[Node]) -> bool:
        """Compute the members; false if the interpreter has to."""
        inputs = [members[i].operands[j] for i, j in self.inputs]
        numbers = [members[i].operands[j] for i, j in self.numbers]
        try:
            done = self.launch.run(members, inputs, numbers)
        except MemoryError:  # the interpreter, which needs one result at a time, tells which node it is
            return False
        if done:
            for node in members:
                node.operands = ()
        return done


def bind(unit: Unit, members: list[Node]) -> Binding | None:
    """The binding of a unit; None where its kernel has no native form."""
    position = {id(node): i for i, node in enumerate(members)}
    inputs: list[tuple[int, int]] = []
    geometries: list[Geometry] = []
    numbers: list[tuple[int, int]] = []
    known: dict[tuple[int, Any], int] = {}
    references: list[tuple[Reference, ...]] = []
    signatures: list[Any] = []
    for m, node in enumerate(members):
        signature = node.signature
        assert signature is not None
        signatures.append(signature)
        own: list[Reference] = []
        for j, (operand, g) in enumerate(zip(node.operands, signature.geometries)):
            if operand is None:
                own.append(None)
            elif operand.__class__ is not Node:
                own.append(("number", len(numbers)))
                numbers.append((m, j))
            elif id(operand) in position:
                own.append(("member", position[id(operand)]))
            else:
                k = known.setdefault((id(operand), g), len(inputs))
                if k == len(inputs):
                    inputs.append((m, j))
                    geometries.append(g)
                own.append(("input", k))
        references.append(tuple(own))
    key = (tuple(signatures), tuple(references), tuple(unit.stored), tuple(geometries))
    if key not in _launches:
        if len(_launches) > _LIMIT:
            _launches.clear()
        _launches[key] = _prepare(unit, signatures, references, geometries)
    launch = _launches[key]
    return None if launch is None else Binding(launch, inputs, numbers)


def _prepare(unit: Unit, signatures: Sequence[Any], references: list[tuple[Reference, ...]],
             geometries: list[Geometry]) -> Launch | None:
    space = signatures[0].outputs[0]
    loop = loop_of(space, geometries, unit.row)
    if loop is None:
        return None
    members: list[Any] = []
    outputs: list[Any] = []
    sums: list[Any] = []
    structure_sums: list[Any] = []
    numbers: list[Any] = []
    renamed: dict[int, int] = {}
    for i, (signature, own) in enumerate(zip(signatures, references)):
        if is_sum(signature):
            reference = own[0]
            assert reference is not None
            dtype = signature.attributes[2]
            wanted = np.dtype(np.float32) if dtype.is_floating_point and dtype.itemsize < 4 else dtype.numpy
            structure_sums.append((renamed[reference[1]], wanted))
            sums.append((i, signature, sum_type(wanted)))
            continue
        renamed[i] = len(members)
        mapped = tuple([("member", renamed[r[1]]) if r is not None and r[0] == "member" else r for r in own])
        members.append(member_of(signature, mapped, unit.stored[i]))
        if unit.stored[i]:
            outputs.append((i, signature.outputs[0].dtype.numpy, space.numel))
        numbers += [signature.compute.numpy if signature.compute is not None else None
                    for r in own if r is not None and r[0] == "number"]
    structure = Structure(tuple(members), loop.inputs, len(numbers), len(loop.extents), tuple(structure_sums))
    kernel = kernel_of(structure)
    return None if kernel is None else Launch(kernel, loop, geometries, outputs, sums, numbers)
