"""``ShapeProp`` runs a graph and notes on each node what kind of tensor it gives."""

from __future__ import annotations

import traceback
from typing import Any, NamedTuple

from ...dtypes import dtype as DType
from ...layouts import channels_last, channels_last_3d, contiguous_format, memory_format
from ...size import Size
from ...tensor import Tensor
from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]

_FORMATS = {4: (contiguous_format, channels_last), 5: (contiguous_format, channels_last_3d)}


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its values."""

    shape: Size
    dtype: DType
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """The metadata of a tensor; its memory format is the first one that it has."""
    formats = _FORMATS.get(result.ndim, (contiguous_format,)) if include_contiguity else ()
    found = next((f for f in formats if result.is_contiguous(memory_format=f)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), found, False, {})


class ShapeProp(Interpreter):
    """Runs a graph; each node's ``meta`` then has the ``type`` of its result and the ``tensor_meta`` in it.

    >>> import flambeau as torch
    >>> from flambeau.fx.passes.shape_prop import ShapeProp
    >>> traced = torch.fx.symbolic_trace(torch.nn.Linear(3, 4))
    >>> ShapeProp(traced).propagate(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes][:1]
    [(2, 3)]
    """

    def __init__(self, gm: GraphModule) -> None:
        super().__init__(gm)

    def run_node(self, n: Node) -> Any:
        """The result of one node, which is noted on it."""
        try:
            result = super().run_node(n)
        except Exception as error:
            traceback.print_exc()
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = 0

        def described(x: Any) -> Any:
            nonlocal found
            if not isinstance(x, Tensor):
                return x
            found += 1
            return _extract_tensor_metadata(x)

        metadata = map_aggregate(result, described)
        if found:
            n.meta["tensor_meta"] = metadata
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph for some arguments; its result."""
        return super().run(*args)
