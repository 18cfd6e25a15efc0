"""Fitting the arguments of a call to an operator's schema."""

from __future__ import annotations

from typing import Any

from ..devices import device
from ..dtypes import dtype
from ..tensor import Tensor
from .schema import Argument, FunctionSchema, Type


class _Mismatch(Exception):
    """A value is not of its argument's type; the text is PyTorch's detail of it."""


def bind(schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """A value for each argument of the schema, of its type; PyTorch's errors where that cannot be."""
    name = schema.name
    positional = [a for a in schema.arguments if not a.kwarg_only]
    if len(args) > len(positional):
        raise RuntimeError(f"{name}() expected at most {len(positional)} argument(s) but received "
                           f"{len(args)} argument(s). Declaration: {schema}")
    given = dict(zip([a.name for a in positional], args))
    for key, value in kwargs.items():
        if key in given:
            raise RuntimeError(f"Argument '{key}' specified both as positional and keyword argument. Schema: "
                               f"{schema}")
        if not any(a.name == key for a in schema.arguments):
            raise RuntimeError(f"Unknown keyword argument '{key}' for operator '{name}'. Schema: {schema}")
        given[key] = value
    return [_value_of(schema, position, argument, given) for position,
            argument in enumerate(schema.arguments)]


def _value_of(schema: FunctionSchema, position: int, argument: Argument, given: dict[str, Any]) -> Any:
    if argument.name not in given:
        if not argument.has_default_value():
            raise RuntimeError(f"{schema.name}() is missing value for argument '{argument.name}'. "
                               f"Declaration: {schema}")
        return argument.default_value
    value = given[argument.name]
    try:
        return cast(value, argument.type)
    except _Mismatch as mismatch:
        raise RuntimeError(
            f"{schema.name}() Expected a value of type '{argument.type}' for argument '{argument.name}' but "
            f"instead found type '{type(value).__name__}'.\nPosition: {position}\nValue: "
            f"{value!r}\nDeclaration: {schema}\n{mismatch}") from None


def cast(value: Any, kind: Type) -> Any:
    """The value as an operator gets it for an argument of a type."""
    if kind.optional:
        return None if value is None else cast(value, kind.inner)
    if kind.is_list:
        return _cast_list(value, kind)
    if kind.base == "Tensor":
        if value is not None and not isinstance(value, Tensor):     # None is an undefined tensor
            raise _Mismatch(f"Cast error details: Unable to cast {value} to Tensor")
        return value
    return _cast_plain(value, kind.base)


def _cast_plain(value: Any, base: str) -> Any:
    if isinstance(value, Tensor) and value.numel() == 1 and not value.requires_grad:
        value = value.item()
    if base in ("int", "SymInt") and isinstance(value, int):
        return int(value)
    if base == "float" and isinstance(value, (int, float)):
        return float(value)
    if base == "bool" and isinstance(value, (int, bool)):
        return bool(value)
    if (base == "str" and isinstance(value, str)) or (base == "ScalarType" and isinstance(value, dtype)):
        return value
    if base == "Scalar" and isinstance(value, (int, float, complex)):
        return value
    if base == "Device" and isinstance(value, (device, str)):
        return device(value)
    if base not in ("int", "SymInt", "float", "bool", "str", "ScalarType", "Scalar", "Device"):
        return value
    raise _not_cast(value)


def _not_cast(value: Any) -> _Mismatch:
    name = "torch.Tensor" if type(value) is Tensor else type(value).__name__
    return _Mismatch(f"Cast error details: Unable to cast Python instance of type <class '{name}'> to C++ "
                     "type '?' (#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for "
                     "details)")


def _cast_list(value: Any, kind: Type) -> list[Any]:
    tensors = kind.base == "Tensor"
    if not isinstance(value, (list, tuple)):
        if tensors or isinstance(value, Tensor):
            raise _not_cast(value)
        if kind.suffix[1:-1].isdigit() and isinstance(value, (int, float)):     # int[2]: one number for both
            return [cast(value, kind.inner)] * int(kind.suffix[1:-1])
        raise _Mismatch(f" Python error details: TypeError: '{type(value).__name__}' object is not iterable")
    try:
        return [cast(each, kind.inner) for each in value]
    except _Mismatch:
        raise (_not_cast(value) if tensors else _not_cast(next(
            each for each in value if not isinstance(each, int)))) from None
