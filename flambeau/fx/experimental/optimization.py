"""Rewriting a traced module for inference: batch normalizations folded into layers, dropout taken out."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from ... import nn
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from .._symbolic_trace import symbolic_trace
from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Node

__all__ = ["fuse", "matches_module_pattern", "remove_dropout", "replace_node_module"]

_FOLDED: dict[tuple[type, type], Any] = {
    (nn.Conv1d, nn.BatchNorm1d): fuse_conv_bn_eval, (nn.Conv2d, nn.BatchNorm2d): fuse_conv_bn_eval,
    (nn.Conv3d, nn.BatchNorm3d): fuse_conv_bn_eval, (nn.Linear, nn.BatchNorm1d): fuse_linear_bn_eval,
}


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: dict[str, nn.Module]) -> bool:
    """Whether a node's first argument and the node call modules of just these two types."""
    if not node.args:
        return False
    for kind, caller in zip(pattern, (node.args[0], node)):
        if not isinstance(caller, Node) or caller.op != "call_module" or not isinstance(caller.target, str):
            return False
        if type(modules.get(caller.target)) is not kind:
            return False
    return True


def replace_node_module(node: Node, modules: dict[str, nn.Module], new_module: nn.Module) -> None:
    """Put another module where the one that a node calls was."""
    name = str(node.target)
    parent, _, own = name.rpartition(".")
    modules[name] = new_module
    setattr(modules[parent], own, new_module)


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> nn.Module:
    """The module in evaluation mode with its batch normalizations folded into the layers before them.

    A layer whose output others use too stays as it is. ``no_trace``: the model is a ``GraphModule`` already.

    >>> import flambeau as torch
    >>> from flambeau.fx.experimental.optimization import fuse
    >>> layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).eval()
    >>> [type(x).__name__ for x in fuse(layers).modules()][1:]
    ['Linear']
    """
    source = model if inplace else copy.deepcopy(model)
    traced = source if no_trace and isinstance(source, GraphModule) else symbolic_trace(source)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for pattern, folded in _FOLDED.items():
        for node in list(graph.nodes):
            if not matches_module_pattern(pattern, node, modules) or len(node.args[0].users) > 1:
                continue
            layer, norm = modules[node.args[0].target], modules[node.target]
            if not norm.track_running_stats:
                continue
            replace_node_module(node.args[0], modules, folded(layer, norm))
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return GraphModule(traced, graph)


class _WithoutDropout(Transformer):
    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(self.submodules[target], nn.Dropout):
            return args[0]
        return super().call_module(target, args, kwargs)


def remove_dropout(model: nn.Module) -> nn.Module:
    """The module without its ``Dropout`` layers."""
    return _WithoutDropout(symbolic_trace(model)).transform()
