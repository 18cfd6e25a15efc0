"""What is done to each sample of a batch, read from the operators that wait.

Note: chains. Samples of which the same is done, to other values, are a group. A *chain* is all that such
samples have in common: operators, and the ways in which values are read. It is a tree, in which what is used
twice is one object. The values, which each sample has its own of, are numbered as they are met: of each there
is the array or the Python number, and the offset and the dimensions (a bit each) in which it is read
backwards. So a flip is no operator here, but another way of reading.

A native function compares the samples and lists their values (``executors/native/batches/chains.py``); a
chain is made once, of the first sample of its kind.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...executors.gather import is_native, spend
from ...graph.geometry import Family, Geometry
from ...graph.node import Node, Signature
from ...graph.operator import Operator
from ...graph.recent import Recent
from ..tensor import Tensor
from .waiting import Application, Shared, Waits

Array = np.ndarray[Any, Any]

_SAMPLE = 1.5e3     # modelled nanoseconds that native code saves for a sample
_LONGEST = 120      # tokens: what is longer is computed alone
FLIP = "flip"
flips: list[Operator] = []      # the operator of that name, once there was one


class Leaf:
    """A value that is there: its number, and how it is read."""

    __slots__ = ("slot", "family", "numpy_type")

    def __init__(self, slot: int, family: Family, numpy_type: Any) -> None:
        self.slot = slot
        self.family = family
        self.numpy_type = numpy_type


class View:
    """A part of a result that waits."""

    __slots__ = ("slot", "family", "result", "below")

    def __init__(self, slot: int, family: Family, result: Geometry, below: Chain) -> None:
        self.slot = slot
        self.family = family
        self.result = result    # of all of which this is a part
        self.below = below


class Applied:
    """An operator that waits, and its operands."""

    __slots__ = ("signature", "operands")

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.operands: list[Chain | int] = []       # of a number only which value it is


Chain = Leaf | View | Applied


class TooLong(Exception):
    """It is not worth while to read it to its end."""


class _Reader:
    """Reads one sample."""

    def __init__(self) -> None:
        self.tokens: list[Any] = []     # what makes it another chain
        self.count = 0      # of values
        self.seen: dict[Any, Any] = {}

    def value(self) -> int:
        """The number of one more value."""
        self.count += 1
        return self.count - 1

    def walk(self, source: Any, g: Geometry) -> Chain:
        """How a value is made, of which this is read."""
        if len(self.tokens) > _LONGEST:
            raise TooLong
        backwards = 0
        while source.__class__ is list and source[0] is not None and source[0].operator.name == FLIP \
                and source[0].outputs[0] is g:
            for d in source[0].attributes[0]:
                backwards ^= 1 << d
            source, g = source[1:]
        if source.__class__ is np.ndarray:
            return self.leaf(source, source, g, backwards)
        if source.__class__ is Node or source[0] is None:
            node = source if source.__class__ is Node else source[1]
            return self.leaf(node, node.value, g, backwards)
        signature: Signature = source[0]
        output, is_flip = signature.outputs[0], signature.operator.name == FLIP
        if output is g and not backwards:
            return self.applied(source)
        self.tokens += "view", g.family
        slot = self.value()
        return View(slot, g.family, output, self.walk(source, output) if is_flip else self.applied(source))

    def leaf(self, owner: Any, value: Any, g: Geometry, backwards: int) -> Chain:
        found: Any = self.seen.get((id(owner), g, backwards))
        if found is not None:
            self.tokens.append(found[0])
            return found[1]
        if value.__class__ is not np.ndarray or not value.flags.c_contiguous:
            raise TooLong
        self.tokens += "leaf", g.family, value.dtype
        made = Leaf(self.value(), g.family, value.dtype)
        self.seen[id(owner), g, backwards] = len(self.seen), made
        return made

    def applied(self, source: Application) -> Chain:
        found: Any = self.seen.get(id(source))
        if found is not None:
            self.tokens.append(found[0])
            return found[1]
        alike: Signature = source[0].alike
        made = Applied(alike)
        self.seen[id(source)] = len(self.seen), made
        self.tokens += "operator", alike
        for x, g in zip(source[1::2], source[2::2]):
            if g is None:
                self.tokens += "number", x.__class__
                made.operands.append(self.value())
            else:
                made.operands.append(self.walk(x, g))
        return made


class Group:
    """Samples with one chain."""

    __slots__ = ("chain", "count", "positions", "_objects", "_starts", "table", "_differs")

    def __init__(self, chain: Chain, positions: Array | None, objects: list[Any], starts: Array,
                 table: Array, differs: int) -> None:
        self.chain = chain
        self.positions = positions      # in the batch; None: it is all of it
        self.count = len(starts)
        self.table = table      # as ``gather_each`` takes it, for each value of each sample
        self._objects = objects
        self._starts = starts       # of a sample's values
        self._differs = differs     # bits

    def is_one(self, slot: int) -> bool:
        """Whether this value, and how it is read, is the same for all."""
        return not self._differs >> slot & 1

    def first(self, slot: int) -> Any:
        """The value of the first sample."""
        return self._objects[self._starts[0] + slot]

    def values(self, slot: int) -> list[Any]:
        """The values of all."""
        return [self._objects[start + slot] for start in self._starts.tolist()]


_chains: Recent[bytes, tuple[Chain, tuple[Any, ...]]] = Recent(1 << 8)


@cache
def native_samples() -> Any:
    """The native code that reads the tensors of a batch, where ``gather.is_native``."""
    from ...executors.native.batches.samples import Samples  # needs llvmlite
    return Samples(Tensor, Waits, Shared)


def _source(x: Tensor) -> Any:
    """What the value of a sample is read from, or made of."""
    storage = x._storage
    return storage.owner if isinstance(storage, Waits | Shared) else storage.node


def load_ahead(samples: int) -> None:
    """Start what reads samples natively, if so many to come are worth it: processes forked later have it.

    Otherwise each of them would come to start it for itself, while others wait for its batches.
    """
    spend(samples * _SAMPLE)
    if is_native():
        _reader()


def _reader() -> Any:
    from ...executors.native.batches.chains import chains  # needs llvmlite, which is there where samples wait
    return chains(native_samples())


def groups_of(tensors: list[Any]) -> list[Group] | None:
    """The samples in groups; None where they have too little in common. Under the lock of what is pending."""
    reader = _reader()
    objects = reader.read(tensors, flips[0] if flips else None)
    if objects is None:
        return None
    rows = reader.found()
    kinds, starts, slots = [x[:len(tensors)] for x in (reader.kinds, reader.starts, reader.slots)]
    groups = []
    for k, (first, _, differs) in enumerate(rows):
        row = reader.tokens[first]
        key = row[:row[0]].tobytes()
        known = _chains.get(key) or _chains.recall(key)
        if known is None:
            sample = _Reader()
            try:
                chain = sample.walk(_source(tensors[first]), tensors[first]._geometry)
            except TooLong:
                return None
            # What the addresses in the key are of stays alive with the chain.
            known = _chains.keep(key, (chain, (*sample.tokens,)))
        if len(rows) == 1:
            groups.append(Group(known[0], None, objects, starts, slots, differs))
        else:
            positions = np.flatnonzero(kinds == k)
            groups.append(Group(known[0], positions, objects, starts[positions], slots[positions], differs))
    return groups


__all__ = ["FLIP", "Applied", "Chain", "Group", "Leaf", "View", "flips", "groups_of", "load_ahead",
           "native_samples"]
