"""A kernel for the same operators on other shapes.

What decided that nodes become one kernel is looked at again, edge by edge, with the new shapes; that is much
less than to find it, and where it holds the kernel is right. (Another partition might be, too: which one is
taken depends on the shapes that came first, not on a clock.)
"""

from __future__ import annotations

from collections.abc import Sequence

from ....graph.node import Signature
from ....graph.recent import Recent
from ..plan import Plan
from .binding import Mold, bound, contents, keep
from .kinds import KINDS, Kind, kind_of, lie_alike
from .schedule import Unit
from .structure import ROW
from .traits import Dims, Space, contiguous_space, level_beside, space_of, traits_of


class Fit:
    """What must hold for a unit's members to be one kernel.

    ``anchor``: a member that walks the kernel's space; the one that reduces, if there is one. ``rows``:
    whether a member computes a value for each row from such values. ``edges``: (member, operand, the member
    that it is). ``molds``: of each kind of members what was found out, None where they are no kernel.
    """

    __slots__ = ("unit", "anchor", "rows", "edges", "molds")

    def __init__(self, unit: Unit, signatures: Sequence[Signature]) -> None:
        assert unit.references is not None
        self.unit = unit
        self.anchor = -1
        self.rows: list[bool] = []
        self.edges: list[tuple[int, int, int]] = []
        self.molds: Recent[Kind, Mold | None] = Recent(KINDS)
        for m, (signature, own) in enumerate(zip(signatures, unit.references.operands)):
            traits = traits_of(signature)
            by_row = unit.levels[m] == (ROW,) and traits.dims is None
            self.rows.append(by_row or traits.projects)
            if not self.rows[m] and (self.anchor < 0 or traits.dims is not None):
                self.anchor = m
            self.edges += [(m, j, r[1]) for j, r in enumerate(own) if r is not None and r[0] == "member"]

    def plan(self, signatures: Sequence[Signature]) -> Plan | None:
        """The kernel's plan for members with these signatures; None if they are none."""
        known = bound(self.unit, signatures)
        if known is not None:
            return known
        mold = self._mold_of(signatures)
        if mold is None:
            return None
        space = self._space_of(signatures[self.anchor], mold)
        return keep(self.unit, signatures, mold.plan(signatures, space))

    def record(self, known: Sequence[Signature], given: Sequence[Signature]) -> Plan | None:
        """The plan for members of a known kind, the numbers of which are quantities (Note: formulas)."""
        mold = self._mold_of(known)
        if mold is None or not lie_alike(known, given):
            return None
        return mold.plan(given, self._space_of(given[self.anchor], mold))

    def _mold_of(self, signatures: Sequence[Signature]) -> Mold | None:
        """The mold of the signatures' kind."""
        kind = kind_of(signatures)
        try:
            return self.molds[kind]
        except KeyError:
            return self.molds.keep(kind, self._mold(signatures))

    def _mold(self, signatures: Sequence[Signature]) -> Mold | None:
        found = self.space(signatures)
        if found is None:
            return None
        space, dims = found
        return Mold(self.unit, signatures, contents(self.unit, signatures, space, dims))

    @staticmethod
    def _space_of(anchor: Signature, mold: Mold) -> Space:
        """The space of a kernel of a known kind: that of the anchor's traits."""
        if mold.dims is None:
            return space_of(anchor.outputs[0])
        g, out = anchor.geometries[0], anchor.outputs[0]
        if mold.row_by_row:
            return space_of(g) if g.is_contiguous else contiguous_space(g.shape)
        return space_of(out if out.shape == g.shape else g)     # written element by element, or row by row

    def space(self, signatures: Sequence[Signature]) -> tuple[Space, Dims | None] | None:
        """The space in which members with these signatures are one kernel, and the dimensions they reduce."""
        if self.anchor < 0:
            return None
        anchor = traits_of(signatures[self.anchor])
        space, dims, levels = anchor.space, anchor.dims, self.unit.levels
        if space is None or (dims is None) != (self.unit.dims is None) \
                or not self._walk(signatures, space, dims):
            return None
        for m, j, k in self.edges:
            signature = signatures[m]
            found = level_beside(signature, traits_of(signature), j, levels[k], space, dims)
            if found is None or (found == ROW) != (levels[m] == (ROW,) and self.rows[m]):
                return None
        return space, dims

    def _walk(self, signatures: Sequence[Signature], space: Space, dims: Dims | None) -> bool:
        """Whether all members walk one space, and reduce the same dimensions of it if any."""
        for signature, by_row, levels in zip(signatures, self.rows, self.unit.levels):
            traits = traits_of(signature)
            if by_row:
                if traits.dims is not None:
                    return False
            elif traits.space != space or traits.levels != levels or traits.dims not in (None, dims):
                return False
        return True
