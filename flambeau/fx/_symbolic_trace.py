"""``Tracer`` and ``symbolic_trace``: run a function with proxies and keep what it does as a graph."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from .._assert import _assert
from ..nn import Module, Parameter, Sequential
from ..tensor import Tensor, overrides
from ..utils import _pytree as pytree
from .codegen import TreeCodeGen
from .graph import Graph
from .graph_module import GraphModule
from .patching import traced_calls, whole_functions
from .proxy import Proxy, TracerBase
from .wrapping import wrap as wrap
from .wrapping import wrapped


class PHBase:
    """In ``concrete_args``: an argument that stays one."""


PH = PHBase()


class Tracer(TracerBase):
    """Traces modules; what it looks into can be chosen by overriding its methods.

    >>> import flambeau as torch
    >>> graph = torch.fx.Tracer().trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    >>> [node.op for node in graph.nodes]
    ['placeholder', 'call_module', 'call_module', 'output']
    """

    proxy_buffer_attributes = False

    def __init__(self, autowrap_modules: tuple[Any, ...] = (math,), autowrap_functions: tuple[Any, ...] = (),
                 param_shapes_constant: bool = False) -> None:
        self.autowrap_modules = tuple(autowrap_modules)
        self.autowrap_functions = whole_functions(autowrap_modules, autowrap_functions)
        self.root: Any = None
        self.submodule_paths: dict[Any, str] = {}
        self.tensor_attrs: dict[Any, str] = {}
        self._returns: Any = None
        self._given: dict[str, Any] = {}    # what is known of each parameter
        self._own = False

    # -- what users override

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module becomes one node: those of ``torch.nn`` do."""
        home = m.__module__.partition(".nn")
        return (home[0] in ("flambeau", "torch") and bool(home[1]) and not isinstance(m, Sequential)) \
            or (home[0] == "torch" and m.__module__.startswith("torch.ao.nn"))

    def path_of_module(self, mod: Module) -> str:
        """The name of a submodule of the root."""
        path = self.submodule_paths.get(mod)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...],
                    kwargs: dict[str, Any]) -> Any:
        """What a call of a submodule gives: a node for a leaf, what ``forward`` does for others."""
        name = self.path_of_module(m)
        if self.is_leaf_module(m, name):
            return self.create_proxy("call_module", name, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What reading a parameter gives: a node, one for each (buffers too, if the tracer says so)."""
        kinds: list[tuple[bool, Any]] = [(isinstance(attr_val, Parameter), self.root.named_parameters),
                                         (self.proxy_buffer_attributes and isinstance(attr_val, Tensor),
                                          self.root.named_buffers)]
        for wanted, members in kinds:
            name = next((name for name, own in members() if own is attr_val), None) if wanted else None
            if name is not None:
                if name not in parameter_proxy_cache:
                    parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {})
                return parameter_proxy_cache[name]
        return attr_val

    def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: Any = None) -> Any:
        """The function to call, and proxies for its parameters."""
        function = inspect.unwrap(root_fn)
        signature = inspect.signature(function)
        concrete = dict(concrete_args or {}) if not isinstance(concrete_args, (tuple, list)) else {}
        args: list[Any] = [self.root] if is_module else []
        keywords: dict[str, Any] = {}
        parameters = list(signature.parameters.values())[len(args):]
        if isinstance(concrete_args, (tuple, list)):
            concrete = {p.name: v for p, v in zip(parameters, concrete_args)}
        typed = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        returned = signature.return_annotation
        self._own = (function.__module__ or "").partition(".")[0] == __name__.partition(".")[0]
        self._returns = self._known(returned) if typed and returned is not signature.empty else None
        self._given = {}
        for p in parameters:
            if p.kind is p.VAR_POSITIONAL or p.kind is p.VAR_KEYWORD:
                sign = "*" if p.kind is p.VAR_POSITIONAL else "**"
                proxy = self.create_proxy("placeholder", sign + p.name, (), {})
                if p.kind is p.VAR_POSITIONAL:
                    args.append(_Spread(proxy))
                else:
                    keywords[sign] = proxy
                continue
            self._given[p.name] = concrete.get(p.name, PH)
            value = self._argument(p, concrete)
            if p.kind is p.KEYWORD_ONLY:
                keywords[p.name] = value
            else:
                args.append(value)
        return function, args, keywords

    def _known(self, annotation: Any) -> Any:
        # Modules that come with the package annotate in strings, and more than PyTorch's.
        return {"Tensor": Tensor}.get(annotation) if self._own else annotation

    def _argument(self, p: inspect.Parameter, concrete: dict[str, Any]) -> Any:
        default = () if p.default is p.empty else (p.default,)
        if p.name not in concrete or isinstance(concrete[p.name], PHBase):
            kind = None if p.annotation is p.empty else self._known(p.annotation)
            return self.create_proxy("placeholder", p.name, default, {}, type_expr=kind)
        value = concrete[p.name]
        if isinstance(value, (tuple, list, dict)):
            leaves, spec = pytree.tree_flatten(value)
            inner = [self._element(p, leaf, number) for number, leaf in enumerate(leaves, 1)]
            return pytree.tree_unflatten(inner, spec)
        return self._specialized(p, value, self.create_proxy("placeholder", f"{p.name}_1", default, {}))

    def _element(self, p: inspect.Parameter, value: Any, number: int) -> Any:
        given = self.create_proxy("placeholder", f"{p.name}_{number}", (), {})
        return given if isinstance(value, PHBase) else self._specialized(p, value, given)

    def _specialized(self, p: inspect.Parameter, value: Any, given: Proxy) -> Any:
        """The value of an argument, which what is given must have."""
        if isinstance(value, (bool, int, float, str)):
            _assert(operator.eq(given, value),
                    f"{p.name} has been specialized to have value {value} but got another value")
        elif value is None:
            message = f"{p.name} has been specialized to have value None but got another value"
            self.create_proxy("call_function", _assert_is_none, (given, message), {})
        return value

    def create_arg(self, a: Any) -> Any:
        """What stands for a value: parameters and buffers are read, other tensors become attributes."""
        if isinstance(a, Tensor):
            name = self.tensor_attrs.get(a)
            if name is None:
                number = 0
                while hasattr(self.root, f"_tensor_constant{number}"):
                    number += 1
                name = self.tensor_attrs[a] = f"_tensor_constant{number}"
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def _own_tensors(self) -> Iterator[tuple[str, Tensor]]:
        for path, module in self.root.named_modules():
            kept = [vars(module), module._parameters, module._buffers]
            for name, value in (pair for names in kept for pair in names.items()):
                if isinstance(value, Tensor):
                    yield f"{path}.{name}" if path else name, value

    # -- tracing

    def trace(self, root: Any, concrete_args: Any = None) -> Graph:
        """The graph of a module or function."""
        is_module = isinstance(root, Module)
        self.root = root if is_module else Module()
        self.graph = Graph(tracer_cls=type(self))
        self.submodule_paths = {module: name for name, module in self.root.named_modules()}
        self.tensor_attrs = {own: name for name, own in self._own_tensors()}
        overrides.activate()
        function = type(root).forward if is_module else root
        called, args, keywords = self.create_args_for_root(function, is_module, concrete_args)
        _running.append(self)
        try:
            with traced_calls(self, called, wrapped):
                result = _call(called, args, keywords)
        finally:
            _running.pop()
        if any(isinstance(value, (tuple, list, dict)) for value in self._given.values()):
            in_spec = pytree.tree_structure(list(self._given.values()))
            result, out_spec = pytree.tree_flatten(result)
            self.graph._codegen = TreeCodeGen(list(self._given), in_spec, out_spec)
            self._returns = None
        self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=self._returns)
        return self.graph


_running: list[Tracer] = []        # the tracers at work, outer ones first


class _Spread:
    """``*args`` of the traced function: a proxy that is passed on as it is."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy


def _assert_is_none(value: Any, message: str) -> None:
    assert value is None, message


def _call(function: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
    """Call it; where it takes ``*args`` or ``**kwargs``, these names are the proxies themselves."""
    spread = next((a for a in args if isinstance(a, _Spread)), None)
    if spread is None and "**" not in keywords:
        return function(*args, **keywords)
    code: CodeType = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    extra = (spread is not None) + ("**" in keywords)
    bare = code.replace(co_argcount=count + extra, co_kwonlyargcount=0, co_posonlyargcount=0, co_flags=flags)
    names = code.co_varnames[code.co_argcount:count]
    values = [a for a in args if not isinstance(a, _Spread)] + [keywords[name] for name in names]
    values += [spread.proxy] if spread is not None else []
    values += [keywords["**"]] if "**" in keywords else []
    made = FunctionType(bare, function.__globals__, function.__name__, None, function.__closure__)
    return made(*values)


def is_fx_tracing() -> bool:
    """Whether a function is being traced.

    >>> is_fx_tracing()
    False
    """
    return bool(_running)


def symbolic_trace(root: Any, concrete_args: Any = None) -> GraphModule:
    """A module that does what a module or function does, as a graph that can be read and changed.

    >>> import flambeau as torch
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> print(traced.code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        add = relu + 1;  relu = None
        return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root.__class__.__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


__all__ = ["PH", "PHBase", "Parameter", "Tracer", "symbolic_trace", "wrap"]
