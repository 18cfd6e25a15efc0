"""``Graph``: nodes in order, and what one does with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .codegen import CodeGen, PythonCode
from .names import candidate, legal_name
from .node import Node, map_arg


class _node_list:
    """A graph's nodes in order; they may be walked while the graph is changed."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self._graph, self._direction = graph, direction

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        node: Node = getattr(root, self._direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self._direction)

    def __reversed__(self) -> _node_list:
        return _node_list(self._graph, "_prev" if self._direction == "_next" else "_next")

    def __len__(self) -> int:
        return self._graph._count


class _Insertion:
    """New nodes go to a place, inside a ``with`` block or from now on."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self.graph._insert = self.before


class Graph:
    """The steps of a computation, which can be inspected, changed and turned into code.

    >>> import flambeau as torch
    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> out = graph.output(graph.call_function(torch.relu, (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._count = 0
        self._places: dict[Node, int] = {}
        self._insert: Callable[[Node], None] = self._root.prepend
        self._taken: dict[str, int] = {}
        self._codegen: CodeGen = CodeGen()
        self.owning_module = owning_module
        self._tracer_cls = tracer_cls

    @property
    def nodes(self) -> _node_list:
        """The nodes in order.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> _ = graph.output(x)
        >>> [node.op for node in graph.nodes]
        ['placeholder', 'output']
        """
        return _node_list(self)

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, and with a target.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> _ = graph.call_function(torch.relu, (graph.call_function(torch.exp, (x,)),))
        >>> [node.name for node in graph.find_nodes(op="call_function", target=torch.relu)]
        ['relu']
        """
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def output_node(self) -> Node:
        """The node that returns.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> _ = graph.output(graph.placeholder("x"))
        >>> graph.output_node().args
        (x,)
        """
        return self.find_nodes(op="output")[-1]

    # -- making nodes

    def create_node(self, op: str, target: Any, args: tuple[Any, ...] | None = None,
                    kwargs: dict[str, Any] | None = None, name: str | None = None,
                    type_expr: Any = None) -> Node:
        """A node at the place of insertion, by default the end.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.create_node("placeholder", "x")
        >>> graph.create_node("call_function", torch.relu, (x,))
        relu
        """
        wanted = legal_name(candidate(target) if name is None else name, self._taken)
        node = Node(self, wanted, op, target, tuple(args or ()), dict(kwargs or {}), type_expr)
        self._insert(node)
        self._count += 1
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """A parameter of the function.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> node = graph.placeholder("x")
        >>> node.op, node.name
        ('placeholder', 'x')
        """
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or attribute of the module.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph(torch.nn.Linear(2, 1))
        >>> graph.get_attr("weight").op
        'get_attr'
        """
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: tuple[Any, ...] | None = None,
                    kwargs: dict[str, Any] | None = None, type_expr: Any = None) -> Node:
        """A call of a submodule.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph(torch.nn.Sequential(torch.nn.ReLU()))
        >>> graph.call_module("0", (graph.placeholder("x"),)).target
        '0'
        """
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: tuple[Any, ...] | None = None,
                    kwargs: dict[str, Any] | None = None, type_expr: Any = None) -> Node:
        """A call of a method of the first argument.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> _ = graph.output(graph.call_method("sum", (x,), {"dim": 0}))
        >>> torch.fx.GraphModule(torch.nn.Module(), graph)(torch.ones(3, 2))
        tensor([3., 3.])
        """
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function: Callable[..., Any], args: tuple[Any, ...] | None = None,
                      kwargs: dict[str, Any] | None = None, type_expr: Any = None,
                      name: str | None = None) -> Node:
        """A call of a function.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> _ = graph.output(graph.call_function(torch.add, (x, 1)))
        >>> torch.fx.GraphModule(torch.nn.Module(), graph)(torch.ones(2))
        tensor([2., 2.])
        """
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """The return value.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> _ = graph.output((x, x))
        >>> torch.fx.GraphModule(torch.nn.Module(), graph)(3)
        (3, 3)
        """
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A node like one of another graph; ``arg_transform`` finds this graph's nodes for its arguments.

        >>> import flambeau as torch
        >>> first, second = torch.fx.Graph(), torch.fx.Graph()
        >>> x = first.placeholder("x")
        >>> second.node_copy(x).graph is second
        True
        """
        args, kwargs = map_arg((node.args, node.kwargs), arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = dict(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copy another graph's nodes here; the result is what it returns.

        >>> import flambeau as torch
        >>> first, second = torch.fx.Graph(), torch.fx.Graph()
        >>> _ = first.output(first.call_function(torch.relu, (first.placeholder("x"),)))
        >>> second.graph_copy(first, {})
        relu
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        made._codegen = self._codegen
        mapping: dict[Node, Node] = {}
        result = made.graph_copy(self, mapping)
        outputs = self.find_nodes(op="output")
        if outputs:
            made.output(result, outputs[0].type).meta = dict(outputs[0].meta)
        return made

    # -- changing

    def inserting_before(self, n: Node | None = None) -> Any:
        """New nodes come before ``n`` inside; without a node, at the start.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> y = graph.call_function(torch.relu, (x,))
        >>> with graph.inserting_before(y):
        ...     _ = graph.call_function(torch.exp, (x,))
        >>> [node.name for node in graph.nodes]
        ['x', 'exp', 'relu']
        """
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _Insertion(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """Each new node comes right after ``n`` inside; without a node, at the end.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> y = graph.call_function(torch.relu, (x,))
        >>> with graph.inserting_after(x):
        ...     _ = graph.call_function(torch.exp, (x,))
        >>> [node.name for node in graph.nodes]
        ['x', 'exp', 'relu']
        """
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _Insertion(self, n.append)

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out that nobody uses.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> y = graph.call_function(torch.relu, (x,))
        >>> graph.erase_node(x)
        Traceback (most recent call last):
            ...
        RuntimeError: Tried to erase Node x but it still had 1 users in the graph: {relu: None}!
        >>> graph.erase_node(y); len(graph.nodes)
        1
        """
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users "
                               f"in the graph: {to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._leave()
        to_erase._set((), {})
        to_erase._erased = True
        self._count -= 1

    def _moved(self) -> None:
        self._places = {}

    def _place(self, node: Node) -> int:
        if not self._places:
            self._places = {each: i for i, each in enumerate(self.nodes)}
        return self._places[node]

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take out all nodes that nobody uses and that have no effect; whether there were any.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> _ = graph.call_function(torch.relu, (x,)), graph.output(x)
        >>> graph.eliminate_dead_code(), [node.name for node in graph.nodes]
        (True, ['x', 'output'])
        """
        impure = is_impure_node or Node.is_impure
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    # -- reading

    def lint(self) -> None:
        """Check that nodes belong to the graph, have names of their own and use only earlier ones.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> _ = graph.output(graph.placeholder("x"))
        >>> graph.lint()
        """
        names: set[str] = set()
        earlier: set[Node] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node.all_input_nodes:
                if used not in earlier:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been "
                                       "defined! Please check that Nodes in the graph are topologically "
                                       f"ordered\n{self}")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
            earlier.add(node)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                self._check_attribute(node)

    def _check_attribute(self, node: Node) -> None:
        value, path = self.owning_module, str(node.target).split(".")
        for i, part in enumerate(path):
            if not hasattr(value, part):
                raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute "
                                   f"{part} of {'.'.join(path[:i])}")
            value = getattr(value, part)

    def process_inputs(self, *args: Any) -> Any:
        """Arguments of the module as those of the graph: nested ones taken apart."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The graph's result as the module's."""
        return self._codegen.process_outputs(out)

    def python_code(self, root_module: str, *args: Any, **kwargs: Any) -> PythonCode:
        """The source of a function ``forward`` that does what the graph says.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> _ = graph.output(graph.call_function(torch.relu, (graph.placeholder("x"),)))
        >>> print(graph.python_code("self").src.strip())
        def forward(self, x):
            relu = torch.relu(x);  x = None
            return relu
        """
        return self._codegen.python_code(self, root_module)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        heads = ("opcode", "name", "target", "args", "kwargs")
        rows = [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self.nodes]
        widths = [max([len(heads[i]) + 2, *(len(row[i]) for row in rows)]) for i in range(5)]
        lines = [heads, tuple("-" * width for width in widths), *rows]
        print("\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines))

    def __str__(self) -> str:
        return "\n".join(["graph():", *(f"    {node.format_node()}" for node in self.nodes)])


__all__ = ["CodeGen", "Graph", "PythonCode"]
