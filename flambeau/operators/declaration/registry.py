"""Where public names are collected: ``torch.*`` functions, Tensor methods, ``nn.functional`` and others.

An operator registers itself where it is defined, with ``@api``; the namespaces only read these tables.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import unwrap
from types import FunctionType
from typing import Any, Literal, TypeVar

from ...graph.operator import Operator
from ...tensor import Tensor, assign, check_writable, methods
from ...tensor.aliasing.inplace import write_whole
from ...tensor.aliasing.overlap import require_apart
from ...tensor.overrides import begin_asking, dispatching, first_seen, on_first_override, unasked
from ...tensor.recording import casting
from ..calls.arguments import type_in_words
from ..calls.complaints import FAILURES, complaint
from ..calls.judging import in_front, strict
from ..calls.keywords import Judge, asking_first, with_keywords
from ..calls.out import CONVERTED, Out

F = TypeVar("F", bound=Callable[..., Any])

# Whether Tensor gets a method that writes the result to itself, and how its other operands may lie in memory:
# "pointwise": where it lies or somewhere else, but not over a part of it; "apart": somewhere else.
Inplace = bool | Literal["pointwise", "apart"]

# namespace -> name -> function; "torch" is the top level, "Tensor" the methods.
NAMESPACES: dict[str, dict[str, Callable[..., Any]]] = {
    name: {} for name in ("torch", "Tensor", "nn.functional", "linalg", "fft", "special")
}


def api(*namespaces: str, out: bool | Out = False, inplace: Inplace = False, aliases: tuple[str, ...] = (),
        name: str | None = None, judge: Judge = "late", as_is: tuple[str, ...] = (),
        quick: Callable[..., Any] | None = None,
        shorten: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
        writes: Operator | None = None) -> Callable[[F], F]:
    """Publish a function in ``namespaces``.

    ``out``: the functions (not the methods) take ``out=``, of any type or as ``Out`` asks. ``inplace``:
    Tensor gets the method ``name_`` as well (see ``Inplace``), and so does ``torch``. ``aliases`` are further
    names in the same namespaces.
    ``writes``: the operator that the method is, where it is given tensors and numbers without keywords.
    ``judge``: when wrong arguments are found (see ``Judge``); aliases of a function that is not judged are.
    ``as_is``: parameters that no other keyword stands for (see ``with_keywords``).
    ``quick``: what is asked first, given arguments without keywords; None where there is more to a call.
    ``shorten``: the same for calls that are so frequent that asking costs too much: it gives a function that
    does what most calls ask for itself, and leaves the others to the function that it is given.
    """
    def publish(function: F) -> F:
        public_name = name or function.__name__
        policy = casting.policy_of(namespaces, public_name)
        asks = out if isinstance(out, Out) else CONVERTED if out else None
        if asks is not None and isinstance(inplace, str) and not asks.apart:
            asks = asks._replace(apart="pointwise")
        cast: Callable[..., Any] = function if policy is None else casting.casting(function, policy)
        for each in (public_name, *aliases):
            for namespace in namespaces:
                offered = with_keywords(
                    cast, public_name, namespaces, asks if namespace != "Tensor" else None,
                    (namespace, each), _when(judge, namespace, each != public_name), as_is)
                offered = offered if quick is None else asking_first(quick, offered)
                offered = offered if shorten is None else in_front(shorten(offered), offered)
                NAMESPACES[namespace][each] = offered
                if namespace == "Tensor":
                    setattr(Tensor, each, offered)
            if inplace:
                inner = with_keywords(function, public_name, namespaces, out=None, as_is=as_is)
                for namespace in ("Tensor", "torch")[:1 + ("torch" in namespaces)]:
                    judged = strict(inner, namespace, each + "_", False) if judge == "first" else inner
                    written = in_place(judged, each + "_", namespace, inplace, writes)
                    if public_name in casting.OPERATORS:
                        written = casting.uncast(written)
                    NAMESPACES[namespace][each + "_"] = written
                    if namespace == "Tensor":
                        setattr(Tensor, each + "_", written)
        return function
    return publish


def called(name: str) -> Callable[[F], F]:
    """Let Python's errors for wrong numbers and names of arguments call a function as PyTorch's is called."""
    def rename(function: F) -> F:
        function.__qualname__ = name
        return function
    return rename


def failed(namespace: str, name: str, *args: Any, **kwargs: Any) -> Any:
    """For the ``except`` of a function that is not judged: what an argument that overrides makes of the call,
    or PyTorch's error.
    """
    function = NAMESPACES[namespace][name]
    if first_seen((*args, *kwargs.values())):
        return function(*args, **kwargs)
    if (error := complaint(function, namespace, name, args, kwargs)) is not None:
        raise error from None
    raise  # noqa: PLE0704  (called where one is handled)


def no_tensor(namespace: str, name: str, *args: Any) -> Any:
    """What a function that is not judged makes of a first argument that is not a tensor (see ``failed``)."""
    try:
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not "
                        f"{type_in_words(args[0])}")
    except TypeError:
        return failed(namespace, name, *args)


def _when(judge: Judge, namespace: str, alias: bool) -> Judge:
    """When a name of a function in a namespace is judged."""
    if judge == "function":
        return "never" if namespace == "Tensor" and not alias else "late"
    return "late" if alias and judge == "never" else judge


def publish_in(module: dict[str, Any], namespace: str) -> None:
    """Put a namespace into a public module."""
    module.update(NAMESPACES[namespace])
    place_all(namespace)


def place_all(namespace: str) -> None:
    """Let functions not found where they say they are name their public place, where pickle looks."""
    for name, function in NAMESPACES[namespace].items():
        if not isinstance(function, FunctionType):
            continue
        if function.__module__ != methods.__name__ and _found(function) is not function:
            _place(function, namespace, name)
        if function.__kwdefaults__ is None:     # programs look here for keywords that newer versions have
            function.__kwdefaults__ = getattr(unwrap(function), "__kwdefaults__", None)
        if function.__name__.startswith("_") and not name.startswith("_"):
            # A name that was free in the file of its definition, but is not what users call it. The qualified
            # name stays, by which pickle finds the function itself and no dispatcher around it.
            function.__name__ = name


def _found(function: Callable[..., Any]) -> Any:
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return found


def _place(function: Callable[..., Any], namespace: str, name: str) -> None:
    package = __name__.partition(".")[0]
    function.__module__ = package if namespace in ("torch", "Tensor") else f"{package}.{namespace}"
    function.__qualname__ = f"Tensor.{name}" if namespace == "Tensor" else name


def _dispatch_everything() -> None:
    """Let subclasses and modes see every public call (Note: overrides)."""
    for namespace, table in NAMESPACES.items():
        for key, function in table.items():
            if not isinstance(function, FunctionType) \
                    or not begin_asking(function, modes_alone=namespace == "torch" and key in _FROM_DATA):
                continue    # a type, or known by another name as well
            function.__name__ = key if namespace not in _PREFIXED else f"{namespace}_{key}"
            function._shown = _SHOWN.get(namespace, f"torch.{namespace}")  # type: ignore[attr-defined]
    for key in [k for k in vars(Tensor) if k in PYTHON_OPERATORS or k in _PLAIN_METHODS]:
        announced = getattr(Tensor, ANNOUNCED[key]) if key in ANNOUNCED else None
        wrapped = dispatching(vars(Tensor)[key], announced, key.strip("_") in _BINARY)
        if wrapped is not vars(Tensor)[key]:
            wrapped.__name__ = "__rdiv__" if key == "__rtruediv__" else key
            wrapped._shown = "torch.Tensor"  # type: ignore[attr-defined]
        setattr(Tensor, key, wrapped)


_BINARY = frozenset(
    f"{sign}{name}"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor",
                 "lshift", "rshift")
    for sign in ("", "r", "i")
) | {"eq", "ne", "lt", "le", "gt", "ge"}
PYTHON_OPERATORS = frozenset(f"__{name}__" for name in _BINARY) | {
    "__neg__", "__abs__", "__invert__", "__getitem__", "__setitem__", "__len__", "__repr__", "__bool__",
    "__pos__", "__float__", "__int__", "__contains__", "__format__"}
# Methods that are defined with the class of tensors, and seen like the others.
_PLAIN_METHODS = frozenset(("size", "dim", "detach", "backward", "requires_grad_"))
# Python's operators are announced as the methods that they call.
ANNOUNCED = {
    "__add__": "add", "__radd__": "add", "__iadd__": "add_", "__sub__": "sub", "__isub__": "sub_",
    "__mul__": "mul", "__rmul__": "mul", "__imul__": "mul_", "__truediv__": "div", "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_", "__mod__": "remainder", "__imod__": "remainder_", "__pow__": "pow",
    "__ipow__": "pow_", "__matmul__": "matmul", "__rmatmul__": "matmul", "__rand__": "bitwise_and",
    "__ror__": "bitwise_or", "__rxor__": "bitwise_xor", "__ne__": "ne", "__lt__": "lt", "__le__": "le",
    "__gt__": "gt", "__ge__": "ge", "__neg__": "neg", "__pos__": "positive", "__abs__": "abs",
}
# What makes a plain tensor of anything, of a subclass's instance too.
_FROM_DATA = frozenset(("as_tensor", "asarray", "from_numpy", "tensor"))
_PREFIXED = ("linalg", "fft", "special")    # in PyTorch a function's own name has the module's name in front
_SHOWN = {"torch": "torch", "Tensor": "torch.Tensor"}
on_first_override.append(_dispatch_everything)


def in_place(function: Callable[..., Any], name: str, namespace: str = "Tensor",
             kind: Inplace = True, operator: Operator | None = None) -> Callable[..., Any]:
    """The in-place method of a function: its result is written to ``self`` (see ``Inplace``).

    ``operator``: see ``writes`` of ``api``.
    """
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if operator is not None and not kwargs and write_whole(operator, self, (self, *args)):
            return self
        try:
            result = function(self, *args, **kwargs)
        except FAILURES as error:
            if unasked((self, *args, *kwargs.values())):
                return NAMESPACES[namespace][name](self, *args, **kwargs)
            if (wrong := complaint(function, namespace, name, (self, *args), kwargs)) is not None:
                raise wrong from None
            if isinstance(error, (IndexError, RuntimeError)):
                check_writable(self)  # what may not be written is refused whatever else is wrong
            raise
        if kind is not True:
            require_apart(self, (*args, *kwargs.values()) if kwargs else args, kind == "pointwise")
        try:
            return assign(self, result, name)
        except AttributeError:      # the result is not a tensor: an argument made it of the function
            if unasked((self, *args, *kwargs.values())):
                return NAMESPACES[namespace][name](self, *args, **kwargs)
            raise
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In-place version of ``{name[:-1]}``."
    return method
