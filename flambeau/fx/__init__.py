"""``torch.fx``: programs as graphs, traced from modules, read, changed, and run again as modules."""

from typing import TYPE_CHECKING

from .._later import submodules
from ._symbolic_trace import PH, Tracer, symbolic_trace
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern
from .wrapping import wrap

__all__ = ["CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "PH", "Proxy", "Tracer", "Transformer",
           "has_side_effect", "map_arg", "replace_pattern", "symbolic_trace", "wrap"]

if not TYPE_CHECKING:
    __getattr__ = submodules(__name__, "experimental", "passes")
