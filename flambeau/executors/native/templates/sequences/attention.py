"""Plans of scaled dot-product attention and its backward."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsIndex

from .....config import settings
from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...attention.arguments import LEAD, Names, Scratch
from ...attention.backward import BACKWARD, STATISTICS, backward_text
from ...attention.forward import FORWARD, forward_text
from ...attention.place import Place
from ...attention.row import ROW, row_text
from ...attention.tiles import KEYS, ROWS
from ...llvm.compiling.code import kernel, kernels
from ...llvm.compiling.effort import Effort
from ...llvm.emitter import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Dtype
from ...movement.spaces import EVEN
from ...plan import Call, Plan, Words
from ...products.microkernel import tile_of
from ...quantity import least, whole

_OPERANDS = ("grad", "query", "key", "value", "mask", "kept")
_TYPES = (FLOAT32, FLOAT64, BFLOAT16, FLOAT16)
_TASKS = 32             # for this many threads at least there is something to do
_SMALL = 4e6            # operations that are not worth a second thread
_PORTIONS = 8           # of a thread, at least; within one, the next head's rows are read ahead
_PORTION = 4e7          # operations, at most, after which it makes no difference
_CAUSAL_KEYS = 96      # of a block under a causal mask: blocks of queries end where one of keys does
_FEW = 4                # queries of a head up to which they are computed one by one
_FIRST = 4 << 10        # addresses that are multiples of it apart share lines of the first cache
_SECOND = 128 << 10     # and of the second
_RIVALS = 4, 32         # rows that do so beyond which a copy pays,
_OFTEN = 256            # if more than so many rows of another matrix are multiplied with it

_forward_kernel = kernel("attention", effort=Effort.FEW)(forward_text)
_row_kernel = kernel("attention_row", effort=Effort.FEW)(row_text)
_backward_kernels = kernels("attention_backward", Effort.FEW)(backward_text)


_gcd = whole(math.gcd)


class _Problem:
    """Extents, strides and element types of an attention.

    ``places``: where the results lie in the one result of member ``member``; else each is one of its own.
    """

    def __init__(self, signature: Signature, places: Sequence[Place] = (), member: int = 0) -> None:
        name = signature.operator.name
        self.operands: tuple[str, ...] = _OPERANDS
        if not name.endswith("backward"):
            self.operands = self.operands[1:]
        # Of these, rows are read as vectors.
        self._rows = ("query", "grad", "key") if name.endswith("backward") else ("value",)
        if "dropout" not in name:
            self.operands = self.operands[:-1]
        self.geometries = {name: geometry for name, geometry in zip(self.operands, signature.geometries)
                           if geometry.__class__ is Geometry}
        self.outputs: Sequence[Place | Geometry] = places or signature.outputs
        self.member = member
        q, v = self.geometries["query"], self.geometries["value"]
        *lead, self.queries, self.depth = q.shape
        *shared, self.keys, self.width = v.shape
        self.lead = (*[1] * (LEAD - len(lead)), *lead)
        self.heads = math.prod(self.lead)
        self.group = lead[-1] // shared[-1] if lead and shared[-1] else 1
        self.shared = self.heads // self.group      # heads of keys and values
        self.storage: Dtype = q.dtype.numpy
        self.compute: Dtype = (signature.compute or q.dtype).numpy
        self.causal = bool(signature.attributes[0])
        tile = tile_of(self.compute.itemsize)
        self.block = tile.columns
        self.lanes = tile.lanes
        pairs = self.queries * self.keys * (0.5 if self.causal else 1.0)
        self.flops = 2.0 * self.heads * pairs * (self.depth + self.width)
        self.traffic = 1.0 * sum([g.nbytes for g in self.geometries.values()])

    @property
    def native(self) -> bool:
        """Whether the kernels take this problem."""
        return (len(self.lead) == LEAD and self.storage in _TYPES
                and all(g.strides[-1] == 1 or g.shape[-1] == 1 for g in self.outputs)
                and min(self.heads, self.queries, self.keys, self.depth, self.width) > 0
                and all(g.dtype.numpy == self.storage for g in self.geometries.values()))

    @property
    def has_adjacent_columns(self) -> bool:
        """Whether rows of Q, K and V can be read as vectors, as they are."""
        rows = [self.geometries[name] for name in ("query", "key", "value")]
        return self.storage == self.compute and all(g.strides[-1] == 1 or g.shape[-1] == 1 for g in rows)

    @property
    def has_whole_rows(self) -> bool:
        """Whether rows of the result can be written as whole vectors, as they are computed."""
        return self.storage == self.compute and self.padded(self.width) == self.width

    def padded(self, count: int) -> int:
        """Whole vectors of columns."""
        return -(-count // self.lanes) * self.lanes

    @property
    def blocks(self) -> int:
        return -(-self.queries // self.block)

    def sizes(self, chunks: int) -> tuple[int, ...]:
        """Arguments as ``SIZES`` names them."""
        return (self.lead[1], self.lead[2], self.lead[2] // self.group, self.group, self.queries, self.keys,
                self.depth, self.width, self.padded(self.depth), self.padded(self.width),
                _keys_of_block(self.keys, self.causal), int(self.causal), int("mask" in self.geometries),
                int("kept" in self.geometries), chunks)

    def strides(self, operands: Sequence[str]) -> list[int]:
        """As ``Names`` has them."""
        found: list[int] = []
        for name in operands:
            geometry = self.geometries.get(name)
            if geometry is None:
                found += [0] * (LEAD + 3)
                continue
            # A mask may have fewer dimensions, or extents of 1.
            found += [0] * (LEAD + 2 - geometry.ndim)
            found += geometry.steps
            found.append(int(self.is_copied(name)))
        return found

    def _result_strides(self) -> list[int]:
        found: list[int] = []
        for geometry in self.outputs:
            found += [0] * (LEAD + 2 - geometry.ndim)
            found += geometry.strides[:-1]
            found.append(geometry.offset)
        return found

    def is_copied(self, name: str) -> bool:
        """Whether an operand is read from a copy: to widen it, or as too many rows share cache lines."""
        geometry = self.geometries.get(name)
        if geometry is None or name in ("mask", "kept"):
            return False
        if self.storage != self.compute:
            return True
        row, of_keys = geometry.strides[-2] * self.storage.itemsize, name in ("key", "value")
        if name in self._rows:
            if geometry.strides[-1] != 1 or geometry.shape[-1] % self.lanes != 0:
                return True
            rows = least(self.keys, KEYS) if of_keys else least(self.queries, self.block)
            often = (self.queries if of_keys else self.keys) > _OFTEN
            if often and rows * _gcd(row, _FIRST) > _RIVALS[0] * _FIRST:
                return True
        if of_keys:
            return self.blocks > 1 and self.keys * _gcd(row, _SECOND) > _RIVALS[1] * _SECOND
        return geometry.strides[-1] != 1

    def words(self, names: Names, sizes: Sequence[int], scratch: Scratch) -> Words:
        """The arguments of a kernel."""
        words = Words()
        for i, name in enumerate(names.operands):
            geometry = self.geometries.get(name)
            if geometry is None:
                words.constant(0)
            else:
                words.input(i, geometry)
        for i in range(len(names.results)):
            words.output(0 if self.member else i, self.member)
        for _ in names.others:
            words.workspace()
        words.number(len(self.operands), self.compute)
        if "kept" in self.geometries:
            words.number(len(self.operands) + 1, self.compute)
        else:
            words.real(1.0, self.compute)
        names.integers(words, sizes, self.strides(names.operands) + self._result_strides(), scratch)
        return words

    def call(self, function: SupportsIndex, words: Words, tasks: int, flops: float, scratch: Scratch) -> Call:
        """A call whose tasks are shared only if there is enough to do."""
        return Call(function, words, tasks, _grain(flops, tasks, settings.threads), scratch.size)


@whole
def _grain(flops: float, tasks: int, threads: int) -> int:
    """How many tasks a thread takes at a time."""
    share = flops / tasks
    if flops < _SMALL:
        return tasks
    several = min(int(_PORTION / share), tasks // (_PORTIONS * threads))
    most = max(1, several, min(int(_SMALL / 4 / share), tasks // _TASKS))
    return next((n for n in range(most, 1, -1) if -(-tasks // n) % EVEN == 0), 1)


@whole
def _keys_of_block(keys: int, causal: bool) -> int:
    """How many keys a tile of scores has: without a mask, as many in each, up to whole tiles of rows."""
    if causal:
        return _CAUSAL_KEYS
    blocks = -(-keys // KEYS)
    return -(-keys // (blocks * ROWS)) * ROWS


def attention(signature: Signature) -> Plan | None:
    """The plan of scaled_dot_product_attention."""
    problem = _Problem(signature)
    if not problem.native:
        return None
    if problem.has_adjacent_columns and problem.queries <= _FEW and "kept" not in problem.geometries:
        return _row_plan(problem)
    chunks = least(problem.blocks, -(-_TASKS // problem.heads))
    scratch = _forward_scratch(problem)
    direct = problem.has_whole_rows and not problem.causal and problem.keys <= KEYS
    words = problem.words(FORWARD, (*problem.sizes(chunks), int(direct)), scratch)
    function = _forward_kernel(problem.storage, problem.compute)
    call = problem.call(function, words, problem.heads * chunks, problem.flops, scratch)
    return Plan([call], flops=problem.flops, traffic=problem.traffic)


def _row_plan(problem: _Problem) -> Plan:
    """A task is a query of a head."""
    scratch = Scratch(problem.compute.itemsize)
    scratch.add("scores", problem.padded(problem.keys))
    words = problem.words(ROW, problem.sizes(1), scratch)
    function = _row_kernel(problem.compute)
    # Bound by reading K and V, which is several times slower than what tiles do with them.
    call = problem.call(function, words, problem.heads * problem.queries, 4 * problem.flops, scratch)
    return Plan([call], flops=4 * problem.flops, traffic=problem.traffic)


def _forward_scratch(problem: _Problem) -> Scratch:
    scratch = Scratch(problem.compute.itemsize)
    block, depth, width = problem.block, problem.padded(problem.depth), problem.padded(problem.width)
    scratch.add("query_t", depth * block)
    scratch.add("scores", KEYS * block)
    scratch.add("output", width * block)
    scratch.add("statistics", 3 * block)
    _add_copies(scratch, problem)
    return scratch


def _add_copies(scratch: Scratch, problem: _Problem) -> None:
    block, keys, depth, width = problem.block, problem.keys, problem.depth, problem.width
    for name, rows, columns in (("query", block, depth), ("grad", block, width), ("key", keys, depth),
                                ("value", keys, width)):
        if problem.is_copied(name):
            scratch.add(name, rows * problem.padded(columns))
    if "mask" in problem.geometries or "kept" in problem.geometries:
        scratch.add("mask", problem.block * KEYS)
        scratch.add("mask_t", problem.block * problem.padded(KEYS))


def attention_backward(signature: Signature, places: Sequence[Place] = (), member: int = 0) -> Plan | None:
    """The plan of scaled_dot_product_attention_backward; ``places``, ``member``: see ``_Problem``."""
    problem = _Problem(signature, places, member)
    if not problem.native:
        return None
    # Each task of a head has sums of its own to keep, so there are fewer than in the forward pass.
    chunks = min(problem.blocks, -(-_TASKS // (2 * problem.shared)))
    depth, width = problem.padded(problem.depth), problem.padded(problem.width)
    share = problem.keys * (depth + width)
    alone = chunks == 1
    scratch = _backward_scratch(problem, depth, width)
    if alone:
        scratch.add("sums", share)
    whole_rows = problem.has_whole_rows and depth == problem.depth
    one_block = problem.blocks == 1 and problem.group == 1 and not problem.causal
    # The last block adds to all keys.
    last = alone and not one_block and (not problem.causal or problem.keys <= problem.queries)
    sizes = (*problem.sizes(chunks), int(alone), share, int(whole_rows and one_block),
             int(whole_rows and last),
             int(whole_rows and problem.keys <= (_CAUSAL_KEYS if problem.causal else KEYS)))
    words = problem.words(BACKWARD, sizes, scratch)
    functions = _backward_kernels(problem.storage, problem.compute)
    flops = 2.5 * problem.flops
    calls = [problem.call(functions["attention_backward"], words, problem.shared * chunks, flops, scratch)]
    if not alone:
        added = 1.0 * problem.shared * chunks * share
        calls.append(problem.call(functions["attention_gather"], words, problem.shared, 8 * added,
                                  Scratch(problem.compute.itemsize)))
    workspace = 0 if alone else problem.shared * chunks * share * problem.compute.itemsize
    return Plan(calls, workspace=workspace, flops=flops, traffic=2 * problem.traffic + 2 * workspace)


def _backward_scratch(problem: _Problem, depth: int, width: int) -> Scratch:
    scratch = Scratch(problem.compute.itemsize)
    block = problem.block
    scratch.add("query_t", block * depth)
    scratch.add("grad_t", block * width)
    scratch.add("grad_query", block * depth)
    for name in ("scores", "grads"):
        scratch.add(name, problem.keys * block)
    scratch.add("statistics", STATISTICS * block)
    _add_copies(scratch, problem)
    return scratch


TEMPLATES: dict[str, Any] = {
    "scaled_dot_product_attention": attention,
    "scaled_dot_product_attention_backward": attention_backward,
    "scaled_dot_product_attention_dropout": attention,
    "scaled_dot_product_attention_dropout_backward": attention_backward,
}
