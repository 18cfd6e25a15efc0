"""``GraphModule``: a module whose ``forward`` is made of a graph."""

from __future__ import annotations

import copy
import linecache
import sys
from typing import Any

from ..nn import Module, Parameter
from ..tensor import Tensor
from ..utils import _pytree as pytree
from . import _pytree as fx_pytree
from .codegen import TreeCodeGen
from .graph import Graph

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_sources = [0]
# What PyTorch writes where a tracer has kept no source lines: this one keeps none.
_NO_TRACE = "# No stacktrace found for following nodes"


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Put ``from_module.a.b`` at the same place of another module, with empty modules on the way."""
    *path, last = target.split(".")
    source: Any = from_module
    for part in path:
        source = getattr(source, part)
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    value = getattr(source, last)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        to_module.register_buffer(last, value)
    else:
        setattr(to_module, last, value)


def _assign_attr(value: Any, to_module: Module, target: str) -> None:
    *path, last = target.split(".")
    for part in path:
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    setattr(to_module, last, value)


def _compiled(source: str, names: dict[str, Any]) -> Any:
    """The function ``forward`` of a source; tracebacks show its lines."""
    _sources[0] += 1
    file = f"<eval_with_key>.{_sources[0]}"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope = dict(names)
    exec(compile(source, file, "exec", dont_inherit=True), scope)
    return scope["forward"]


class GraphModule(Module):
    """A module with the parts of ``root`` that ``graph`` uses, and the code of the graph as ``forward``.

    Change ``graph``, then call ``recompile``.

    >>> import flambeau as torch
    >>> traced = torch.fx.symbolic_trace(torch.nn.Linear(2, 1))
    >>> traced(torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # Each instance has a class of its own: forward belongs to the class.
        base = next(c for c in cls.__mro__ if "_of_one_instance" not in c.__dict__)
        kind = "GraphModuleImpl"  # libraries know a made class by this word in its qualified name
        made = type(kind, (base,), {"_of_one_instance": True, "__module__": base.__module__,
                                    "__qualname__": f"GraphModule.__new__.<locals>.{kind}"})
        return Module.__new__(made)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        if isinstance(root, Module):
            self.training = getattr(root, "training", self.training)
        elif not isinstance(root, dict):
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        referring = {str(n.target): n for n in graph.nodes if n.op in ("get_attr", "call_module")}
        # From a dict, prefixes first: a whole module comes before what is read inside it.
        ordered = sorted(referring, key=lambda t: t.count(".")) if isinstance(root, dict) else referring
        for target in ordered:
            if isinstance(root, Module):
                _copy_attr(root, self, target)
            elif target in root:
                _assign_attr(root[target], self, target)
            else:
                raise RuntimeError(f"Node {referring[target]} referenced target {target} but that target was "
                                   "not provided in ``root``!")
        self._tracer_cls = graph._tracer_cls
        self.meta: dict[str, Any] = dict(getattr(root, "meta", {}) or {})
        self.graph = graph

    __jit_unused_properties__ = ("graph",)

    @property
    def graph(self) -> Graph:
        """The graph; setting it makes the code anew."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of ``forward``."""
        return self._code

    def recompile(self) -> Any:
        """Make the code of the graph as it is now."""
        how = self._graph._codegen
        if isinstance(how, TreeCodeGen):    # which the code reads
            self._in_spec, self._out_spec = how.in_spec, how.out_spec
        written = self._graph.python_code("self")
        self._code = written.src
        self.__class__.forward = _compiled(written.src, written.globals)
        return written

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path, with empty modules on the way."""
        owner: Any = self
        *path, last = target.split(".")
        for part in path:
            following = getattr(owner, part, None)
            if following is None:
                following = Module()
                setattr(owner, part, following)
            if not isinstance(following, Module):
                return False
            owner = following
        owner.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module at a path away."""
        *path, last = target.split(".")
        owner: Any = self
        for part in path:
            owner = getattr(owner, part, None)
            if not isinstance(owner, Module):
                return False
        if not isinstance(getattr(owner, last, None), Module):
            return False
        delattr(owner, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take away the modules that the graph does not use."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used |= {".".join(parts[:i]) for i in range(1, len(parts) + 1)}
                if node.op == "call_module":
                    inner = self.get_submodule(str(node.target)).named_modules()
                    used |= {f"{node.target}.{name}" for name, _ in inner if name}
        for name, _ in list(self.named_modules()):
            if name and name not in used:
                self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, *args: Any, **kwargs: Any) -> str:
        """The module's class as source; printed as well."""
        head, *body = [f"    {line}" for line in self._code.strip().splitlines()]
        renamed = sum(str(n.target).lstrip("*") != n.name for n in self._graph.find_nodes(op="placeholder"))
        steps = [f"        {_NO_TRACE}"] if any(
            n.op not in ("placeholder", "output") for n in self._graph.nodes) else []
        gap = [""] if renamed and steps else []
        lines = [head, *body[:renamed], *gap, *steps, *body[renamed:], ""]
        text = "\n".join([f"class {self.__class__.__name__}(torch.nn.Module):", *lines])
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__repr__(), self._code, hint])

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        state = copy.deepcopy({k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code")}, memo)
        return self._restored(state, copy.deepcopy(self._graph))

    def __copy__(self) -> GraphModule:
        return self._restored({k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code")},
                              copy.deepcopy(self._graph))

    def _restored(self, state: dict[str, Any], graph: Graph) -> GraphModule:
        made = GraphModule.__new__(type(self))
        Module.__init__(made)
        made.__class__.__name__ = type(self).__name__
        made.__dict__.update(state)
        made.graph = graph
        return made

    def __reduce__(self) -> Any:
        # The code is enough: the graph is traced from it again.
        state = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code", "_tracer_cls")}
        written = self._graph.python_code("self")
        plain = {k: v for k, v in written.globals.items() if f" {k}" in written.src or f"{k}(" in written.src}
        for name in ("torch", *_TREES):
            plain.pop(name, None)
        return _from_code, (state, written.src, plain, type(self).__name__)


# What the code of graphs with nested arguments calls.
_TREES = {"fx_pytree": fx_pytree, "pytree": pytree}


class _CodeOnlyModule(Module):
    """A module with the attributes of another, for its code to be traced."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _from_code(state: dict[str, Any], source: str, names: dict[str, Any], class_name: str) -> GraphModule:
    """A ``GraphModule`` again, from its code and attributes."""
    from ._symbolic_trace import PH, Tracer  # which makes these modules

    class EveryModuleIsALeaf(Tracer):
        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True
    names = {"torch": sys.modules[__name__.partition(".")[0]], "inf": float("inf"), "nan": float("nan"),
             "NoneType": type(None), **_TREES, **names}
    holder = type(class_name, (_CodeOnlyModule,), {"forward": _compiled(source, names)})(dict(state))
    tracer = EveryModuleIsALeaf()
    nested = None
    if "_in_spec" in state:
        spec = state["_in_spec"]
        nested = tuple(pytree.tree_unflatten([PH] * spec.num_leaves, spec))
    made = GraphModule(holder, tracer.trace(holder, nested), class_name)
    made.__dict__.update({k: v for k, v in state.items() if k in ("training", "meta")})
    return made


__all__ = ["GraphModule"]
