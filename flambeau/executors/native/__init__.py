"""The native executor: fused loops compiled with LLVM, the interpreter's kernels in between."""

from __future__ import annotations

from ...graph.node import Node


def run(nodes: list[Node]) -> list[Node]:
    """Compute nodes, last one first; llvmlite is imported by the first call."""
    from .run import run as execute

    return execute(nodes)


__all__ = ["run"]
