"""Schemas of operators, such as ``ns::name(Tensor x, float k=2.) -> Tensor``: reading and writing them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

NO_DEFAULT: Any = object()
_ARGUMENT = re.compile(r"""
    (?P<base>[A-Za-z_][\w.]*) (?P<alias>\([^)]*\)|\s*!)? (?P<suffix>(?:\[\d*\]|\?)*)
    (?:\s+ (?P<name>\w+) (?:\s*=\s*(?P<default>.+))? )? $""", re.VERBOSE)
_NAME = re.compile(r"^(?:(?P<ns>\w+)::)?(?P<name>[A-Za-z_]\w*)?(?:\.(?P<overload>\w+))?\s*$")
# What PyTorch calls a schema's types in messages.
_REAL_NAMES = {"SymInt": "int", "ScalarType": "int", "Scalar": "number", "Layout": "int",
               "MemoryFormat": "int"}


class Type:
    """The type of an argument: a base, and whether it is a list and may be absent."""

    def __init__(self, base: str, suffix: str = "") -> None:
        self.base = base
        self.suffix = suffix

    @property
    def optional(self) -> bool:
        """Whether None is allowed."""
        return self.suffix.endswith("?")

    @property
    def inner(self) -> Type:
        """The type without its last suffix."""
        return Type(self.base, re.sub(r"(\[\d*\]|\?)$", "", self.suffix))

    @property
    def is_list(self) -> bool:
        """Whether it is a list."""
        return self.suffix.endswith("]")

    def __str__(self) -> str:
        if self.optional:
            return f"Optional[{self.inner}]"
        if self.is_list:
            return f"List[{self.inner}]"
        return _REAL_NAMES.get(self.base, self.base)


class AliasInfo:
    """Whose memory an argument may share, before and after the call, and whether it is written."""

    def __init__(self, alias: str, of_list: bool) -> None:
        before, _, after = alias.strip("()").partition("->")
        self.is_write = "!" in alias
        self.before_set = set() if of_list else _names(before)
        self.after_set = self.before_set if of_list or "->" not in alias else _names(after)


def _names(text: str) -> set[str]:
    """The names in ``a|b!``."""
    return {name for name in (part.strip(" !") for part in text.split("|")) if name}


class Argument:
    """One argument or result of a schema."""

    def __init__(self, name: str, type: Type, alias: str = "", default: Any = NO_DEFAULT,
                 kwarg_only: bool = False) -> None:
        self.name = name
        self.type = self.real_type = type
        self.alias = alias
        self.kwarg_only = kwarg_only
        self._default = default

    @property
    def default_value(self) -> Any:
        """The default, None where there is none."""
        return None if self._default is NO_DEFAULT else self._default

    @property
    def is_write(self) -> bool:
        """Whether the operator writes it."""
        return "!" in self.alias

    @property
    def alias_info(self) -> AliasInfo | None:
        """Whose memory it shares, None where it shares none."""
        return AliasInfo(self.alias, self.type.is_list) if self.alias else None

    @property
    def N(self) -> int | None:
        """The length of a list that has a fixed one."""
        length = re.search(r"\[(\d+)\]", self.type.suffix)
        return None if length is None else int(length[1])

    def has_default_value(self) -> bool:
        """Whether there is a default."""
        return self._default is not NO_DEFAULT

    def __str__(self) -> str:
        parts = f"{self.type.base}{self.alias}{self.type.suffix}"
        if self.name:
            parts += f" {self.name}"
        return parts if self._default is NO_DEFAULT else f"{parts}={_written(self._default)}"


def _written(value: Any) -> str:
    if isinstance(value, float):
        return f"{int(value)}." if value.is_integer() else format(value, ".17g")
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_written, value))}]"
    return str(value)


class FunctionSchema:
    """A schema, read."""

    def __init__(self, name: str, overload_name: str, arguments: list[Argument],
                 returns: list[Argument]) -> None:
        self.name = name
        self.overload_name = overload_name
        self.arguments = arguments
        self.returns = returns

    @property
    def is_mutable(self) -> bool:
        """Whether the operator writes one of its arguments."""
        return any(argument.is_write for argument in self.arguments)

    def __str__(self) -> str:
        name = self.name + (f".{self.overload_name}" if self.overload_name else "")
        return name + signature_text(self.arguments, self.returns)

    __repr__ = __str__


def signature_text(arguments: list[Argument], returns: list[Argument]) -> str:
    """``(Tensor x, *, int n) -> Tensor``."""
    parts: list[str] = []
    for argument in arguments:
        if argument.kwarg_only and "*" not in parts:
            parts.append("*")
        parts.append(str(argument))
    results = [str(result) for result in returns]
    result = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({', '.join(parts)}) -> {result}"


def parse_schema(text: str) -> FunctionSchema:
    """Read a schema, with or without ``namespace::name``."""
    head, opened, rest = text.partition("(")
    named = _NAME.match(head.strip())
    inside, closed, results = _until_closed(rest) if opened else ("", "", "")
    arrow, returns = results.strip()[:2], results.strip()[2:].strip()
    if named is None or not closed or arrow != "->":
        at = len(text) - len(text.split(maxsplit=1)[-1]) if " " in text.strip() else 0
        word = text[at:].split()[0] if text[at:].split() else ""
        raise RuntimeError(f"expected eof but found 'ident' here:\n{text}\n{' ' * at}{'~' * len(word)} <--- "
                           "HERE\n")
    name = f"{named['ns']}::{named['name']}" if named["ns"] else named["name"] or ""
    if returns.startswith("("):
        returns = _until_closed(returns[1:])[0]
    arguments, outcomes = list(_arguments(inside)), list(_arguments(returns))
    _name_writes(arguments + outcomes)
    return FunctionSchema(name, named["overload"] or "", arguments, outcomes)


def _name_writes(arguments: list[Argument]) -> None:
    """``Tensor! x`` is written and shares memory with nothing: it gets a name that none has, as ``$0``."""
    unnamed = [argument for argument in arguments if argument.alias.strip() == "!"]
    for i, argument in enumerate(unnamed):
        argument.alias = f"(${i}! -> )"


def _until_closed(text: str) -> tuple[str, str, str]:
    """What stands before the bracket that closes, the bracket, and the rest."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if depth < 0:
            return text[:i], c, text[i + 1:]
    return text, "", ""


def _arguments(text: str) -> Iterator[Argument]:
    kwarg_only = False
    for part in _split(text):
        if part == "*":
            kwarg_only = True
            continue
        found = _ARGUMENT.match(part)
        if found is None:
            raise RuntimeError(f"expected an argument, got '{part}' in a schema")
        default = NO_DEFAULT if found["default"] is None else _value(found["default"].strip())
        yield Argument(found["name"] or "", Type(found["base"], found["suffix"]), found["alias"] or "",
                       default, kwarg_only)


def _split(text: str) -> Iterator[str]:
    """The parts between commas that are in no brackets."""
    depth, start = 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            yield text[start:i].strip()
            start = i + 1
    if text[start:].strip():
        yield text[start:].strip()


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False}.get(text, text)
