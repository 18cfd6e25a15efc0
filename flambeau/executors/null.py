"""The null executor: computes nothing (results are uninitialised), to measure the cost of recording."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.node import Node, Signature
from ..graph.recent import Recent

# Not the signature's plan: other executors have theirs there.
_made: Recent[Signature, Any] = Recent(1 << 12)


def run(nodes: list[Node]) -> list[Node]:
    """Give every node some value of the right size."""
    while nodes:
        node = nodes.pop()
        signature = node.signature
        assert signature is not None
        value = _made.get(signature)
        if value is None:
            value = _made.recall(signature)
            if value is None:
                value = _made.keep(signature, _values(signature))
        node.value = value
        node.operands = ()
    return []


def _values(signature: Signature) -> Any:
    values = tuple(np.zeros(g.numel, g.dtype.numpy) for g in signature.outputs)
    return values[0] if signature.single else values
