"""Ways to lie on a mesh: whole everywhere, in parts along a dimension, or as parts of a sum."""

from __future__ import annotations

from dataclasses import dataclass


class Placement:
    """One of them."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is in parts (along ``dim``)."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether it is whole everywhere."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether it is to be reduced (in that way)."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Replicate(Placement):
    """Whole everywhere."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Shard(Placement):
    """In parts along a dimension."""

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class Partial(Placement):
    """Everywhere a part of what is to be reduced."""

    reduce_op: str = "sum"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


__all__ = ["Partial", "Placement", "Replicate", "Shard"]
