"""What is replaced while a tracer runs: calls of modules, reads of parameters, functions to be one node.

A function becomes one node where its name is found: in the namespace of ``wrap``'s caller, of the code that
is traced and of its modules' ``forward``. For the time of the trace these names mean a function that makes
a node of a call with proxies; afterwards they mean what they meant.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from ..nn import Module
from ..nn.modules._attributes import ModuleAttributes
from ..nn.modules._member_access import MemberAccess
from .node import map_aggregate
from .proxy import Proxy


def whole_functions(modules: Iterable[Any], functions: Iterable[Any]) -> dict[int, Any]:
    """What a tracer makes one node of, by identity: the modules' public functions, and the functions."""
    public = (value for module in modules for name, value in vars(module).items()
              if not name.startswith("_") and callable(value))
    return {id(function): function for function in (*public, *functions)}


class Names:
    """Names of namespaces that mean something else until ``restore``."""

    def __init__(self, whole: dict[int, Any]) -> None:
        self._whole = whole
        self._changes: list[tuple[dict[str, Any], str, Any]] = []
        self._seen: set[int] = set()

    def wrap(self, scope: dict[str, Any], name: str) -> None:
        """Have calls of what a name means become nodes (of a builtin too)."""
        original = scope.get(name, getattr(builtins, name, None))
        if original is not None:
            self._changes.append((scope, name, scope.get(name)))
            scope[name] = _recording(original)

    def look_through(self, scope: Any) -> None:
        """Wrap the functions of a namespace that are to be one node."""
        if id(scope) in self._seen:
            return
        self._seen.add(id(scope))
        for name in [name for name, value in scope.items()
                     if id(value) in self._whole and not name.startswith("_")]:
            self.wrap(scope, name)

    def restore(self) -> None:
        """Give each name its meaning back, the last change first."""
        for scope, name, before in reversed(self._changes):
            if before is None:
                del scope[name]
            else:
                scope[name] = before


@contextmanager
def traced_calls(tracer: Any, root: Any, wrapped: Sequence[tuple[dict[str, Any], str]]) -> Iterator[None]:
    """Calls of modules, reads of parameters and functions to be one node go through the tracer."""
    call, read, lookup = Module.__call__, MemberAccess.__get__, ModuleAttributes.__getattr__
    cache: dict[str, Any] = {}
    names = Names(tracer.autowrap_functions)

    @wraps(call)
    def traced_call(self: Module, *args: Any, **kwargs: Any) -> Any:
        names.look_through(getattr(self.forward, "__globals__", {}))
        return tracer.call_module(self, lambda *a, **k: call(self, *a, **k), args, kwargs)

    def traced_read(self: MemberAccess, instance: Any, owner: Any = None) -> Any:
        return tracer.getattr(self.name, read(self, instance, owner), cache)

    def traced_lookup(self: Any, name: str) -> Any:
        return tracer.getattr(name, lookup(self, name), cache)
    try:
        Module.__call__ = traced_call  # type: ignore[method-assign]
        MemberAccess.__get__ = traced_read  # type: ignore[method-assign]
        ModuleAttributes.__getattr__ = traced_lookup  # type: ignore[method-assign]
        for scope, name in wrapped:
            names.wrap(scope, name)
        names.look_through(getattr(root, "__globals__", {}))
        for module in tracer.autowrap_modules:
            names.look_through(vars(module))
        yield
    finally:
        Module.__call__ = call  # type: ignore[method-assign]
        MemberAccess.__get__ = read  # type: ignore[method-assign]
        ModuleAttributes.__getattr__ = lookup  # type: ignore[method-assign]
        names.restore()


def _recording(function: Any) -> Any:
    """``function``, as a node where a proxy is among its arguments."""
    @wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda leaf: found.append(leaf) if isinstance(leaf, Proxy) else None)
        if found:
            return found[0].tracer.create_proxy("call_function", function, args, kwargs)
        return function(*args, **kwargs)
    return recorded
