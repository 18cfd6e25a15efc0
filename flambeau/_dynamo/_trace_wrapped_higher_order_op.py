"""What code under ``vmap`` wraps around indexing with scalar tensors, which works here as it is."""

from __future__ import annotations


class TransformGetItemToIndex:
    """A context in which ``x[i]`` may have scalar tensors as indices under ``vmap``: always so here."""

    def __enter__(self) -> TransformGetItemToIndex:
        return self

    def __exit__(self, *exc: object) -> None:
        pass
