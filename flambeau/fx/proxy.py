"""Proxies: values of a traced program, which record what is done with them."""

from __future__ import annotations

import dis
import inspect
import operator
import sys
from collections.abc import Iterator
from typing import Any

from ..devices import device
from ..dtypes import dtype
from ..tensor import Tensor
from ..tensor.overrides import activate
from .graph import Graph
from .names import public_path
from .node import Argument as Argument
from .node import Node, map_aggregate


class TraceError(ValueError):
    """Something that cannot be traced."""


_CONTROL_FLOW = "symbolically traced variables cannot be used as inputs to control flow"


class TracerBase:
    """Makes nodes for what proxies take part in."""

    graph: Graph

    def create_node(self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
                    name: str | None = None, type_expr: Any = None) -> Node:
        """A node of the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The value of a node."""
        return Proxy(node, self)

    def create_proxy(self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
                     name: str | None = None, type_expr: Any = None, proxy_factory_fn: Any = None) -> Proxy:
        """A node for values as a program has them, and its value."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a: Any) -> Any:
        """What stands for a value in a node's arguments."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(map(self.create_arg, a)), {})
        if isinstance(a, (tuple, list)):
            return (list if isinstance(a, list) else tuple)(map(self.create_arg, a))
        if isinstance(a, dict):
            return {key: self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(*map(self.create_arg, (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(a.start, a.stop, a.step)
        known = (int, float, complex, str, bool, dtype, device, Node, type(Ellipsis), type)
        if a is None or isinstance(a, known) or type(a).__name__ in ("memory_format", "layout", "finfo"):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """Called where a program branches on a value."""
        raise TraceError(_CONTROL_FLOW)

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Called where a program loops over a value."""
        names = _unpacked(sys._getframe(2))
        if names:
            return iter([_BY_INDEX(obj, i) for i in range(names)])
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a "
                         "loop or as a *args or **kwargs function argument. See the torch.fx docs on pytorch."
                         "org for a more detailed explanation of what types of control flow can be traced, "
                         "and check out the Proxy docstring for help troubleshooting Proxy iteration errors")

    def keys(self, obj: Proxy) -> Any:
        """Called where a program asks for a value's keys."""
        return Attribute(obj, "keys")()


class Proxy:
    """A value that is not known yet: every operation on it becomes a node.

    >>> import flambeau as torch
    >>> proxy = torch.fx.Proxy(torch.fx.Graph().placeholder("x"))
    >>> (proxy + 1).node.op, proxy.sum().node.target
    ('call_function', 'sum')
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        activate()
        self.tracer = tracer if tracer is not None else GraphAppendingTracer(node.graph)
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to "
                           "be recorded, please call torch.fx.wrap('len') at module scope")

    def keys(self) -> Any:
        """The keys of a value that is a dict."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, name, tracer = kwargs or {}, orig_method.__name__, _tracer_of((args, kwargs))
        if getattr(Tensor, name, None) is orig_method:
            return tracer.create_proxy("call_method", _METHODS.get(name, name), args, kwargs)
        return tracer.create_proxy("call_function", orig_method, *_as_written(orig_method, args, kwargs))


# Options that PyTorch's functions of the same name do not have, and tensors that they take by position.
_UNSEEN = frozenset({"cudnn_enable", "cudnn_enabled"})
_FIRST = frozenset({"running_mean", "running_var"})


def _as_written(function: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Functions of ``torch.nn.functional`` show all their options, by keyword, as PyTorch's do."""
    if len(args) == 2 and isinstance(args[1], (list, tuple)) and public_path(function).endswith(".einsum"):
        return (args[0], *args[1]), kwargs
    if not public_path(function).startswith("torch.nn.functional."):
        return args, kwargs
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return args, kwargs
    bound.apply_defaults()
    given: list[Any] = []
    named: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        value = bound.arguments[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            given += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= value
        elif name in _FIRST or parameter.default is parameter.empty:
            given.append(value)
        elif name not in _UNSEEN or value is not parameter.default:
            named[name] = value
    return tuple(given), named


def _unpacked(frame: Any) -> int:
    """How many names a caller's ``a, b = proxy`` assigns; 0 where it does something else."""
    code, at = frame.f_code, frame.f_lasti
    found = next((i for i in dis.get_instructions(code) if i.offset == at), None)
    return int(found.arg or 0) if found is not None and found.opname == "UNPACK_SEQUENCE" else 0


def _tracer_of(values: Any) -> TracerBase:
    found: list[TracerBase] = []
    map_aggregate(values, lambda leaf: found.append(leaf.tracer) if isinstance(leaf, Proxy) else None)
    return found[0]


class Attribute(Proxy):
    """An attribute of a value: a node only where it is used otherwise than called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr = root, attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class GraphAppendingTracer(TracerBase):
    """Adds what is done with proxies to a graph that exists."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


_BINARY = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
           "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "matmul": operator.matmul,
           "lshift": operator.lshift, "rshift": operator.rshift, "and": operator.and_, "or": operator.or_,
           "xor": operator.xor}
_OTHERS = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
           "ge": operator.ge, "getitem": operator.getitem, "neg": operator.neg, "invert": operator.invert,
           "pos": operator.pos, "abs": operator.abs}
# What a tensor's special methods are called where a proxy is the other operand.
_METHODS = {"__add__": "add", "__sub__": "sub", "__mul__": "mul", "__pow__": "pow", "__matmul__": "matmul",
            "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
            "__truediv__": "div", "__mod__": "remainder"}


def _recorder(function: Any, turned: bool) -> Any:
    def record(self: Proxy, *others: Any) -> Proxy:
        values = (self, *others)
        return self.tracer.create_proxy("call_function", function, values[::-1] if turned else values, {})
    return record


_BY_INDEX = _recorder(operator.getitem, False)
_function: Any
for _name, _function in _BINARY.items():
    setattr(Proxy, f"__{_name}__", _recorder(_function, False))
    setattr(Proxy, f"__r{_name}__", _recorder(_function, True))
for _name, _function in _OTHERS.items():
    setattr(Proxy, f"__{_name}__", _recorder(_function, False))
setattr(Proxy, "__hash__", object.__hash__)  # noqa: B010  (comparisons above took it away)

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]
