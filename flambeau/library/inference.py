"""``infer_schema``: the schema of a Python function, from its annotations."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from ..devices import device
from ..dtypes import dtype
from ..tensor import Tensor
from .schema import Argument, Type

_BASES: dict[Any, str] = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType",
    device: "Device",
}
_SEQUENCES = (list, collections.abc.Sequence)
_RETURNED = ("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar")


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str],
                 op_name: str | None = None, tags: Any = ()) -> str:
    """The schema of a function with annotations; ``mutates_args`` names the arguments that it writes.

    >>> import flambeau as torch
    >>> def scaled(x: torch.Tensor, k: float = 2.0) -> torch.Tensor: ...
    >>> torch.library.infer_schema(scaled, mutates_args=())
    '(Tensor x, float k=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def wrong(what: str) -> ValueError:
        shown = str(signature).replace(f"{Tensor.__module__}.", "torch.").replace("flambeau.", "torch.")
        return ValueError(f"infer_schema(func): {what} Got func with signature {shown})")

    written = _written_arguments(signature, mutates_args, wrong)
    hints = _hints(prototype_function, signature)
    parts: list[str] = []
    for number, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(_argument(name, parameter, hints.get(name, parameter.empty),
                               f"(a{number}!)" if written is None or name in written else "", written is None,
                               wrong))
    result = _result(hints["return"], wrong)
    return f"{op_name or ''}({', '.join(parts)}) -> {result}"


Wrong = Callable[[str], ValueError]


def _hints(function: Callable[..., Any], signature: inspect.Signature) -> dict[str, Any]:
    """The annotations; texts are looked up where the function was defined, and among torch's names."""
    found = {name: p.annotation for name, p in signature.parameters.items()}
    found["return"] = signature.return_annotation
    names = {**vars(typing), "Tensor": Tensor, **getattr(function, "__globals__", {})}
    return {name: eval(hint, names) if isinstance(hint, str) else hint for name, hint in found.items()}


def _written_arguments(signature: inspect.Signature, mutates_args: str | Iterable[str],
                       wrong: Wrong) -> set[str] | None:
    """The names of what is written; None if unknown."""
    if mutates_args == "unknown":
        return None
    if isinstance(mutates_args, str):
        raise ValueError("mutates_args must either be a sequence of the names of the arguments that are "
                         "mutated or the string 'unknown'. ")
    written = set(mutates_args)
    absent = written - set(signature.parameters)
    if absent:
        raise wrong(f"{absent} in mutates_args were not found in the custom op's signature. mutates_args "
                    "should contain the names of all args that the custom op mutates, or just the string "
                    "'unknown' if you don't know.")
    return written


def _argument(name: str, parameter: inspect.Parameter, hint: Any, alias: str, unknown: bool,
              wrong: Wrong) -> str:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise wrong("We do not support positional-only args, varargs, or varkwargs.")
    if hint is parameter.empty:
        raise wrong(f"Parameter {name} must have a type annotation.")
    kind = _type_of(hint)
    if kind is None:
        raise wrong(f"Parameter {name} has unsupported type {hint}. The valid types are: Tensor, int, float, "
                    "bool, str, int | float | bool, torch.dtype, torch.device, Optional and List of them.")
    if alias and kind.base != "Tensor":
        if not unknown:
            raise wrong(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can "
                        "be mutated")
        alias = ""
    text = str(Argument(name, kind, alias))
    if parameter.default is parameter.empty:
        return text
    return f"{text}={_default(name, parameter.default, wrong)}"


def _default(name: str, value: Any, wrong: Wrong) -> str:
    if value is None or isinstance(value, (int, float, bool)):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (dtype, device)):
        return f'"{value}"' if isinstance(value, device) else str(value).removeprefix("torch.")
    raise wrong(f"Parameter {name} has an unsupported default value type {type(value)}. Please file an issue "
                "on GitHub so we can prioritize this.")


def _type_of(hint: Any) -> Type | None:
    """The schema's type for an annotation, if it has one."""
    if hint in _BASES:
        return Type(_BASES[hint])
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if set(args) == {int, float, bool}:
            return Type("Scalar")
        rest = [a for a in args if a is not type(None)]
        kind = _type_of(typing.Union[tuple(rest)]) if len(rest) < len(args) else None
        return None if kind is None or kind.optional else Type(kind.base, kind.suffix + "?")
    if origin in _SEQUENCES and len(args) == 1:
        kind = _type_of(args[0])
        return None if kind is None or kind.is_list else Type(kind.base, kind.suffix + "[]")
    return None


def _result(hint: Any, wrong: Wrong) -> str:
    if hint is inspect.Signature.empty:
        raise wrong("No return type annotation was provided. Please add one.")
    if hint is None or hint is type(None):
        return "()"
    if typing.get_origin(hint) is tuple:
        return f"({', '.join(_one_result(each, wrong) for each in typing.get_args(hint))})"
    return _one_result(hint, wrong)


def _one_result(hint: Any, wrong: Wrong) -> str:
    kind = _type_of(hint)
    text = "" if kind is None else str(Argument("", kind))
    if text not in _RETURNED:
        raise wrong(f"Return has unsupported type {hint}. The valid types are: Tensor, List[Tensor], int, "
                    "float, bool, int | float | bool.")
    return text


