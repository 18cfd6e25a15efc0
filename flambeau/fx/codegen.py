"""Graphs as Python code."""

from __future__ import annotations

import operator
import re
import sys
import types
import typing
from typing import TYPE_CHECKING, Any, NamedTuple

from .._C import _nn as _nn  # named in the code
from ..devices import device
from ..dtypes import dtype
from ..utils import _pytree as pytree
from . import _pytree as fx_pytree
from .names import PACKAGE, bare, public_path, type_text
from .node import Node
from .wrapping import is_wrapped

if TYPE_CHECKING:
    from ..utils._pytree import TreeSpec
    from .graph import Graph

_TypingAlias: Any = type(typing.List[int])  # noqa: UP006

# How operators are written.
SYMBOLS: dict[Any, str] = {
    operator.add: "{} + {}", operator.sub: "{} - {}", operator.mul: "{} * {}", operator.truediv: "{} / {}",
    operator.floordiv: "{} // {}", operator.mod: "{} % {}", operator.pow: "{} ** {}",
    operator.matmul: "{} @ {}", operator.lshift: "{} << {}", operator.rshift: "{} >> {}",
    operator.and_: "{} & {}", operator.or_: "{} | {}", operator.xor: "{} ^ {}", operator.eq: "{} == {}",
    operator.ne: "{} != {}", operator.lt: "{} < {}", operator.le: "{} <= {}", operator.gt: "{} > {}",
    operator.ge: "{} >= {}", operator.getitem: "{}[{}]", operator.neg: "-{}", operator.invert: "~{}",
    operator.pos: "+{}",
}


class PythonCode(NamedTuple):
    """The source of ``forward``, and the global names that it uses."""

    src: str
    globals: dict[str, Any]


class CodeGen:
    """Writes a graph as the source of a function ``forward``."""

    def python_code(self, graph: Graph, root_module: str) -> PythonCode:
        """The source."""
        return _Writer(root_module).write(graph)

    def process_inputs(self, *args: Any) -> Any:
        """Arguments of the function as those of the graph."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The graph's result as the function's."""
        return outputs


class TreeCodeGen(CodeGen):
    """Of a function whose arguments are nested: they are taken apart first, and its result is put together.

    ``names``: its parameters; ``in_spec``: how they are nested; ``out_spec``: how its result is.
    """

    def __init__(self, names: list[str], in_spec: TreeSpec, out_spec: TreeSpec) -> None:
        self.names, self.in_spec, self.out_spec = names, in_spec, out_spec

    def python_code(self, graph: Graph, root_module: str) -> PythonCode:
        """The source."""
        return _TreeWriter(root_module, self.names).write(graph)

    def process_inputs(self, *args: Any) -> Any:
        """The elements of nested arguments."""
        return fx_pytree.tree_flatten_spec(list(args), self.in_spec)

    def process_outputs(self, outputs: Any) -> Any:
        """The result, nested."""
        return pytree.tree_unflatten(outputs, self.out_spec)


class _Writer:
    def __init__(self, root: str) -> None:
        package = sys.modules[PACKAGE]
        self.root = root
        self.globals: dict[str, Any] = {"torch": package, "device": device, "inf": float("inf"),
                                        "nan": float("nan"), "NoneType": type(None)}
        self.wrapped: list[str] = []

    def write(self, graph: Graph) -> PythonCode:
        last_use = self._last_uses(graph)
        inputs: list[Node] = []
        body: list[str] = []
        returned = ""
        for node in graph.nodes:
            if node.op == "placeholder":
                inputs.append(node)
                bare = str(node.target).lstrip("*")
                if bare != node.name:
                    body.append(f"{node.name} = {bare}")
                continue
            done = last_use.get(node, [])
            if node.op == "output":
                returned = "" if node.type is None else f" -> {self.annotation(node.type)}"
                body.append(f"return {self._returned(node.args[0])}")
                continue
            unused = [] if node.users else [node]
            ended = " = ".join(n.name for n in [*done, *unused])
            body.append(f"{node.name} = {self._expression(node)}" + (f";  {ended} = None" if ended else ""))
        arguments, before = self._arguments_of(inputs)
        head = ", ".join([self.root, *arguments]) if self.root else ", ".join(arguments)
        lines = "".join(f"    {line}\n" if line else "\n" for line in before + body) or "    pass\n"
        noted = "".join(f'torch.fx._symbolic_trace.wrap("{name}")\n' for name in self.wrapped)
        return PythonCode(f"\n\n{noted}\ndef forward({head}){returned}:\n{lines}    ", self.globals)

    def _arguments_of(self, inputs: list[Node]) -> tuple[list[str], list[str]]:
        """The parameters of the function, and what it does first."""
        return [self._parameter(node) for node in inputs], []

    def _returned(self, result: Any) -> str:
        return self.text(result)

    def _last_uses(self, graph: Graph) -> dict[Node, list[Node]]:
        """By node: those that nobody uses after it."""
        seen: set[Node] = set()
        found: dict[Node, list[Node]] = {}
        for node in reversed(graph.nodes):
            for used in node.all_input_nodes:
                if used not in seen:
                    seen.add(used)
                    found.setdefault(node, []).append(used)
        return found

    def _parameter(self, node: Node) -> str:
        typed = str(node.target) if node.type is None else f"{node.target} : {self.annotation(node.type)}"
        return f"{typed} = {self.text(node.args[0])}" if node.args else typed

    def annotation(self, kind: Any) -> str:
        """A type as source."""
        origin = getattr(kind, "__origin__", None)
        if isinstance(kind, types.UnionType):
            return "|".join(map(self.annotation, kind.__args__))
        if origin is not None and typing.get_args(kind):
            name = getattr(kind, "_name", None) or ""
            name = "Union" if name in ("", "Optional") else name
            if isinstance(kind, _TypingAlias):
                root = self._global(getattr(typing, name), f"typing_{name}")
            else:
                root = self.annotation(origin)
            return f"{root}[{','.join(map(self.annotation, kind.__args__))}]"
        if kind is type(None):
            return "NoneType"
        if kind is Ellipsis:
            return self._global(kind, "_")
        if isinstance(kind, type) and kind.__module__ == "builtins":
            return kind.__qualname__
        if kind is device:
            return "device"
        path = type_text(origin or kind)
        if not isinstance(kind, type) or path.startswith("typing."):
            return self._global(kind, re.sub(r"\W+", "_", path))
        if _lookup(self.globals["torch"], path) is kind:
            return path
        return self._global(kind, re.sub(r"\W", "_", path))

    def _expression(self, node: Node) -> str:
        if node.op == "get_attr":
            return self._path(str(node.target))
        if node.op == "call_module":
            return f"{self._path(str(node.target))}({self._arguments(node.args, node.kwargs)})"
        if node.op == "call_method":
            owner = self.text(node.args[0])
            if not isinstance(node.args[0], Node):
                owner = f"({owner})"
            return f"{owner}.{node.target}({self._arguments(node.args[1:], node.kwargs)})"
        target = node.target
        if target in SYMBOLS and not node.kwargs:
            return SYMBOLS[target].format(*(self.text(a) for a in node.args))
        if target is getattr and len(node.args) == 2 and str(node.args[1]).isidentifier():
            return f"{self.text(node.args[0])}.{node.args[1]}"
        return f"{self.function(target)}({self._arguments(node.args, node.kwargs)})"

    def _path(self, target: str) -> str:
        text = self.root
        for part in target.split("."):
            text = f"{text}.{part}" if part.isidentifier() else f'getattr({text}, "{part}")'
        return text

    def _arguments(self, args: Any, kwargs: dict[str, Any]) -> str:
        return ", ".join([*map(self.text, args), *(f"{k} = {self.text(v)}" for k, v in kwargs.items())])

    def text(self, a: Any) -> str:
        """An argument as source."""
        if isinstance(a, Node):
            return a.name
        if isinstance(a, (tuple, list)):
            inner = ", ".join(map(self.text, a))
            if hasattr(a, "_fields"):
                return f"{self.function(type(a))}({inner})"
            if isinstance(a, list):
                return f"[{inner}]"
            return f"({inner},)" if len(a) == 1 else f"({inner})"
        if isinstance(a, dict):
            return "{" + ", ".join(f"{key!r}: {self.text(value)}" for key, value in a.items()) + "}"
        if isinstance(a, slice):
            return f"slice({self.text(a.start)}, {self.text(a.stop)}, {self.text(a.step)})"
        if a is None or isinstance(a, (int, float, complex, str, bool, type(Ellipsis), dtype, device)):
            return repr(a)
        return self._global(a, type(a).__name__.lower() + "_value")

    def function(self, target: Any) -> str:
        """A function as source: its public place, or a global name of its own."""
        path = public_path(target)
        if path.startswith("builtins."):
            return path.removeprefix("builtins.")
        if path.startswith("torch.") and bare(_lookup(self.globals["torch"], path)) is bare(target):
            return path
        if path.startswith("operator."):
            path = f"_{path}"
        name = self._global(target, re.sub(r"\W", "_", path))
        if is_wrapped(target):
            self.wrapped.append(name)
        return name

    def _global(self, value: Any, name: str) -> str:
        candidate, number = name, 0
        while candidate in self.globals and self.globals[candidate] is not value:
            number += 1
            candidate = f"{name}_{number}"
        self.globals[candidate] = value
        return candidate


class _TreeWriter(_Writer):
    def __init__(self, root: str, names: list[str]) -> None:
        super().__init__(root)
        self.names = names
        self.globals.update(fx_pytree=fx_pytree, pytree=pytree)

    def _arguments_of(self, inputs: list[Node]) -> tuple[list[str], list[str]]:
        typed = [f"{self._parameter(node)}; " for node in inputs if node.type is not None and not node.args]
        taken = "".join(f"{node.target}{' ' * (node.type is not None)}, " for node in inputs)
        flat = f"{taken}= fx_pytree.tree_flatten_spec([{', '.join(self.names)}], {self.root}._in_spec)"
        return self.names, ["".join(typed), "", flat] if typed else [flat]

    def _returned(self, result: Any) -> str:
        return f"pytree.tree_unflatten({self.text(result)}, {self.root}._out_spec)"


def _lookup(package: Any, path: str) -> Any:
    root, *parts = path.split(".")
    if root != "torch":
        return None
    value = package
    for part in parts:
        value = getattr(value, part, None)
    return value


__all__ = ["CodeGen", "PythonCode", "TreeCodeGen"]
