"""The properties of a signature that decide with which others it can be one kernel."""

from __future__ import annotations

from typing import Any

from ....graph.geometry import Geometry
from ....graph.node import Signature
from ....graph.recent import Recent
from ....graph.strides import row_major_strides
from ...interpreter import half_complex
from ..llvm.emitter import BFLOAT16, FLOAT16, FLOAT32, Dtype, Unsupported
from .compile import passes
from .structure import ELEMENT, FLAT, ROW, Input, Member, Structure

_POINTWISE = frozenset(("pointwise", "conversion", "choice"))

# Extents, and strides of the elements' order in memory (0 where the extent is 1).
Space = tuple[tuple[int, ...], tuple[int, ...]]
Dims = tuple[int, ...]


class Traits:
    """What scheduling needs to know of a signature.

    ``space``: the elements that its loops walk; None where it has no native form. ``dims``: the dimensions
    that it reduces, None of a pointwise operator. ``levels``: of each result, ELEMENT or ROW.
    """

    __slots__ = ("space", "dims", "levels", "projects")

    def __init__(self, space: Space | None, dims: Dims | None = None, levels: tuple[int, ...] = (ELEMENT,),
                 projects: bool = False) -> None:
        self.space = space
        self.dims = dims
        self.levels = levels
        self.projects = projects

    @property
    def fusible(self) -> bool:
        return self.space is not None


_OTHER = Traits(None)
_PROJECTION = Traits(None, projects=True)
_traits: Recent[Signature, Traits] = Recent(1 << 12)
_native: Recent[Any, bool] = Recent(1 << 12)


def traits_of(signature: Signature) -> Traits:
    """The traits of a signature, found out once."""
    found = _traits.get(signature)
    if found is None:
        found = _traits.recall(signature) or _traits.keep(signature, _examine(signature))
    return found


def dims_of(signature: Signature) -> Dims | None:
    """The dimensions that a signature's operator reduces; None if it reduces none."""
    rows, g = signature.operator.rows, signature.geometries[0] if signature.geometries else None
    if rows is None or not isinstance(g, Geometry):
        return None
    ndim = g.ndim
    dims = rows.dims(signature)
    if dims is None:
        dims = range(ndim)
    return tuple(sorted(d % max(ndim, 1) for d in ((dims,) if isinstance(dims, int) else dims)))


# --- spaces -------------------------------------------------------------------------------------------------

def space_of(g: Geometry) -> Space:
    """The elements of a geometry in their order in memory."""
    return tuple(g.shape), g.steps


def contiguous_space(shape: tuple[int, ...]) -> Space:
    """The elements of a shape, row by row."""
    return tuple(shape), tuple([s if n > 1 else 0 for n, s in zip(shape, row_major_strides(shape))])


def _examine(signature: Signature) -> Traits:
    operator = signature.operator
    if operator.kind == "project":
        return _PROJECTION
    if signature.on_meta or operator.owns or not signature.outputs or half_complex.present(signature):
        return _OTHER
    if any(g.offset or not g.numel or not g.is_dense for g in signature.outputs):
        return _OTHER
    dims = dims_of(signature)
    if dims is not None:
        return _of_rows(signature, dims)
    if not signature.single or operator.kind not in _POINTWISE:
        return _OTHER
    if operator.name == "clone" and space_of(signature.geometries[0]) != space_of(signature.outputs[0]):
        return _OTHER   # the template goes through memory in tiles
    return Traits(space_of(signature.outputs[0])) if is_native(signature, None) else _OTHER


def _of_rows(signature: Signature, dims: Dims) -> Traits:
    g = signature.geometries[0]
    if not g.numel or not g.ndim or not is_native(signature, dims):
        return _OTHER
    levels = tuple([ELEMENT if out.numel == g.numel else ROW for out in signature.outputs])
    contiguous = contiguous_space(g.shape)
    written = {space_of(out) if out.shape == g.shape else contiguous
               for out, level in zip(signature.outputs, levels) if level == ELEMENT}
    rows = signature.operator.rows
    assert rows is not None
    if written and written != {contiguous}:     # channels last
        space = written.pop()
        return _OTHER if written or not _keeps_order(signature.outputs[0], dims) else \
            Traits(space, dims, levels)
    if written or rows.counts or not g.is_dense or not _keeps_order(g, dims):
        return Traits(contiguous, dims, levels)
    return Traits(space_of(g), dims, levels)


def _keeps_order(g: Geometry, dims: Dims) -> bool:
    """Whether the dimensions that are not reduced lie in memory in their order, as those of rows do."""
    kept = [d for d in g.order if d not in dims and g.shape[d] > 1]
    return kept == sorted(kept)


# --- how operands lie in a space ----------------------------------------------------------------------------

def strides_in(signature: Signature, operand: int, g: Geometry, ndim: int) -> tuple[int, ...]:
    """The strides along a space's dimensions with which an operand is read; 0 where it is broadcast."""
    rows = signature.operator.rows
    if rows is not None and operand in rows.per_channel:
        return tuple([g.strides[0] if d == 1 and g.shape[0] > 1 else 0 for d in range(ndim)])
    return aligned(g, ndim)


def aligned(g: Geometry, ndim: int) -> tuple[int, ...]:
    """The strides of an operand broadcast to ``ndim`` dimensions."""
    return g.steps if g.ndim == ndim else (*[0] * (ndim - g.ndim), *g.steps)


def row_strides(space: Space, dims: Dims) -> tuple[int, ...]:
    """Along a space's dimensions, the strides of an array with a value for each row, rows in their order."""
    shape, _ = space
    found, step = [0] * len(shape), 1
    for d in reversed(range(len(shape))):
        if d not in dims and shape[d] > 1:
            found[d] = step
            step *= shape[d]
    return tuple(found)


def kept_dims(space: Space, dims: Dims, shape: tuple[int, ...]) -> list[int] | None:
    """Which dimension of the space each dimension of an array of rows is; None if it is not such an array.

    Dimensions of extent 1 are none (-1).
    """
    kept = [d for d in range(len(space[0])) if d not in dims and space[0][d] > 1]
    if [n for n in shape if n > 1] != [space[0][d] for d in kept]:
        return None
    remaining = iter(kept)
    return [next(remaining) if n > 1 else -1 for n in shape]


def level_beside(signature: Signature, traits: Traits, j: int, levels: tuple[int, ...], space: Space | None,
                 dims: Dims | None) -> int | None:
    """The level at which a node can be in the kernel that makes its operand j; None if it can not.

    ``levels``: those of the operand's results there; ``space`` and ``dims``: the kernel's.
    """
    if traits.projects:
        return levels[signature.attributes[0]]
    if traits.space is None or len(levels) > 1:
        return None
    g = signature.geometries[j]
    if not isinstance(g, Geometry) or g.offset or space is None:
        return None
    if levels[0] == ELEMENT:
        return ELEMENT if traits.space == space and space_of(g) == space else None
    assert dims is not None
    if traits.space == space and g.ndim <= len(space[0]):
        return ELEMENT if strides_in(signature, j, g, len(space[0])) == row_strides(space, dims) else None
    output = signature.outputs[0]
    if traits.dims is None and g.is_contiguous and output.is_contiguous and g.shape == output.shape \
            and kept_dims(space, dims, output.shape) is not None:
        return ROW
    return None


# --- has it a native form -----------------------------------------------------------------------------------

def is_native(signature: Signature, dims: Dims | None) -> bool:
    """Whether the operator has a native form on these types: found by writing its code once."""
    references: list[Any] = []
    inputs: list[Input] = []
    numbers = 0
    for g in signature.geometries:
        if isinstance(g, Geometry):
            references.append(("input", len(inputs)))
            inputs.append(Input(g.dtype.numpy, FLAT))
        elif g is type(None):
            references.append(None)
        else:
            references.append(("number", numbers))
            numbers += 1
    ndim = signature.geometries[0].ndim if dims is not None else None
    try:
        member = member_of(signature, tuple(references))
    except Unsupported:
        return False
    structure = Structure((member,), tuple(inputs), numbers, (), ndim=ndim, dims=dims or ())
    found = _native.get(structure)
    if found is None:
        found = _native.recall(structure)
    if found is None:
        try:
            passes(structure)
            found = True
        except Unsupported:
            found = False
        _native.keep(structure, found)
    return found


def compute_of(signature: Signature) -> Dtype | None:
    """The type in which a member's operands come; None: in their own."""
    if signature.operator.kind == "choice":
        dtype = signature.outputs[0].dtype.numpy
        if dtype.kind != "f" and float in signature.geometries:
            raise Unsupported("a floating number among integers")
        return FLOAT32 if dtype in (FLOAT16, BFLOAT16) else dtype
    return signature.compute.numpy if signature.compute is not None else None


def member_of(signature: Signature, references: tuple[Any, ...]) -> Member:
    """A signature as a kernel's member."""
    return Member(signature.operator, signature.attributes, compute_of(signature),
                  tuple([g.dtype.numpy for g in signature.outputs]), references, signature.rounds)
