"""``Interpreter`` runs a graph node by node; ``Transformer`` makes a new graph of what it would run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate, map_arg
from .proxy import Proxy


class Interpreter:
    """Run a ``GraphModule`` node by node; override a method to change what a kind of node does.

    >>> import flambeau as torch
    >>> traced = torch.fx.symbolic_trace(lambda x: x.neg() + 1)
    >>> torch.fx.Interpreter(traced).run(torch.ones(2))
    tensor([0., 0.])
    """

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.graph = graph if graph is not None else module.graph
        self.submodules = dict(module.named_modules())
        self.garbage_collect_values = garbage_collect_values
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.extra_traceback = True
        self._ended: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            seen: set[Node] = set()
            for node in reversed(self.graph.nodes):
                for used in node.all_input_nodes:
                    if used not in seen:
                        seen.add(used)
                        self._ended.setdefault(node, []).append(used)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None,
            enable_io_processing: bool = True) -> Any:
        """The result of the graph for some arguments."""
        self.env = dict(initial_env or {})
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter: Iterator[Any] = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    error.add_note(f"While executing {node.format_node()}")
                raise
            for used in self._ended.get(node, ()):
                del self.env[used]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def run_node(self, n: Node) -> Any:
        """The result of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The next argument."""
        if isinstance(target, str) and target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed "
                               "in!") from None

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A parameter, buffer or attribute."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a method."""
        owner, *others = args
        return getattr(owner, target)(*others, **kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of the graph."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """What lies at a path of the module."""
        value = self.module
        for i, part in enumerate(target.split(".")):
            if not hasattr(value, part):
                raise RuntimeError("Node referenced nonexistent target "
                                   f"{'.'.join(target.split('.')[:i + 1])}")
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """A node's arguments with values for nodes."""
        args, kwargs = self.map_nodes_to_values((n.args, n.kwargs), n)
        return args, kwargs

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Nested arguments with values for nodes."""
        return map_arg(args, lambda used: self.env[used])


class Transformer(Interpreter):
    """An interpreter of proxies: what it runs becomes a new ``GraphModule``."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph._codegen = self.graph._codegen

        class Appending(Tracer):
            def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
                return True
        self.tracer = Appending()
        self.tracer.graph = self.new_graph
        self.tracer.root = module

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A parameter of the new graph."""
        default = args[0] if args else ...
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """An attribute of the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of a submodule in the new graph."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of a function in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of a method in the new graph."""
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            self.new_graph.output(map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a))
        return GraphModule(self.module, self.new_graph)


__all__ = ["Interpreter", "Transformer"]
