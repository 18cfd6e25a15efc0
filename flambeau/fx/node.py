"""Nodes: the steps of a graph, and mapping over their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._assert import _assert
from .immutable_collections import immutable_dict, immutable_list
from .names import public_path, type_text

if TYPE_CHECKING:
    from .graph import Graph

KINDS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output", "root")
Target = Any
Argument = Any

# Functions that are called for what they do, so that they stay though nobody uses their result.
_effects: set[Any] = {_assert}


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Declare that a function is called for what it does; it gives the function back.

    >>> import flambeau as torch
    >>> @torch.fx.node.has_side_effect
    ... def log(x):
    ...     print(x)
    >>> log("called")
    called
    """
    _effects.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """``fn`` of every leaf of nested tuples, lists, dicts and slices."""
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(*(map_aggregate(part, fn) for part in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """``fn`` of every node in nested arguments; other leaves stay.

    >>> import flambeau as torch
    >>> graph = torch.fx.symbolic_trace(torch.nn.ReLU()).graph
    >>> torch.fx.map_arg([1, next(iter(graph.nodes))], lambda node: node.name)
    [1, 'input_1']
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda leaf: fn(leaf) if isinstance(leaf, Node) else leaf)


class Node:
    """One step: ``op`` says what kind, ``target`` what is called or read, ``args`` and ``kwargs`` with what.

    A graph's nodes are a ring through its root, so that they may be walked while they are changed.

    >>> import flambeau as torch
    >>> graph = torch.fx.symbolic_trace(torch.nn.ReLU()).graph
    >>> [(node.op, node.name) for node in graph.nodes]
    [('placeholder', 'input_1'), ('call_function', 'relu'), ('output', 'output')]
    """

    def __init__(self, graph: Graph, name: str, op: str, target: Target, args: tuple[Any, ...],
                 kwargs: dict[str, Any], return_type: Any = None) -> None:
        if op not in KINDS:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        wanted = "a Callable" if op == "call_function" else "str"
        if callable(target) != (op == "call_function"):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                             f"{type_text(type(target))} but {wanted} is expected")
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = immutable_dict()
        self.meta: dict[str, Any] = {}
        self._erased = False
        self._prev: Node = self
        self._next: Node = self
        self._set(args, kwargs)

    def _set(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for used in self._input_nodes:
            used.users.pop(self, None)
        self._input_nodes = {}

        def use(node: Node) -> Node:
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node
        self._args, self._kwargs = map_arg((tuple(args), dict(kwargs)), use)

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments: nodes, and values.

        >>> import flambeau as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> graph.call_function(torch.add, (x, 1)).args
        (x, 1)
        """
        return self._args

    @args.setter
    def args(self, value: tuple[Any, ...]) -> None:
        self._set(value, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: dict[str, Any]) -> None:
        self._set(self._args, value)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes whose results this one uses."""
        return list(self._input_nodes)

    @property
    def stack_trace(self) -> str | None:
        """Where the traced program made the node, if that was kept."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    # -- place

    @property
    def next(self) -> Node:
        """The node after this one (the root, after the last)."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one (the root, before the first)."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Put ``x``, which may be in the graph already, right before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._leave()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        self.graph._moved()

    def append(self, x: Node) -> None:
        """Put ``x``, which may be in the graph already, right after this node."""
        self._next.prepend(x)

    def _leave(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev
        self.graph._moved()

    def __lt__(self, other: Node) -> bool:
        return self.graph._place(self) < self.graph._place(other)

    def __le__(self, other: Node) -> bool:
        return self.graph._place(self) <= self.graph._place(other)

    def __gt__(self, other: Node) -> bool:
        return self.graph._place(self) > self.graph._place(other)

    def __ge__(self, other: Node) -> bool:
        return self.graph._place(self) >= self.graph._place(other)

    # -- arguments

    def update_arg(self, idx: int, arg: Any) -> None:
        """Set one positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Insert a positional argument."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Set one keyword argument."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use ``new_input`` wherever ``old_input`` was used."""
        self._set(*map_arg((self._args, self._kwargs), lambda n: new_input if n is old_input else n))

    def replace_all_uses_with(self, replace_with: Node,
                              delete_user_cb: Callable[[Node], bool] = lambda user: True, *,
                              propagate_meta: bool = False) -> list[Node]:
        """Let those who use this node use another; the users that it had come back."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        before = list(self.users)
        for user in before:
            if delete_user_cb(user):
                user.replace_input_with(self, replace_with)
        return before

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node matters though nobody uses it."""
        return self.op in ("placeholder", "output") or (
            self.op == "call_function" and self.target in _effects)

    # -- text

    def _pretty_print_target(self, target: Any) -> str:
        return target if isinstance(target, str) else public_path(target)

    def format_node(self, *args: Any, **kwargs: Any) -> str:
        """A line that describes the node."""
        if self.op == "output":
            return f"return {self.args[0]}"
        typed = "" if self.type is None else f": {type_text(self.type)} "
        head = f"%{self.name} : {typed.removeprefix(': ')}[num_users={len(self.users)}] = {self.op}"
        target = self._pretty_print_target(self.target)
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            return f"{head}[target={target}]{default}"
        if self.op == "get_attr":
            return f"{head}[target={target}]"
        given = f"args = {_with_signs(self.args)}, kwargs = {_with_signs(self.kwargs)}"
        return f"{head}[target={target}]({given})"

    def __repr__(self) -> str:
        return self.name


def _with_signs(a: Any) -> str:
    """Arguments as text, nodes with a percent sign."""
    if isinstance(a, (tuple, list)):
        inner = ", ".join(map(_with_signs, a))
        if isinstance(a, list):
            return f"[{inner}]"
        return f"({inner},)" if len(a) == 1 else f"({inner})"
    if isinstance(a, dict):
        return "{" + ", ".join(f"{key}: {_with_signs(value)}" for key, value in a.items()) + "}"
    return f"%{a.name}" if isinstance(a, Node) else str(a)
