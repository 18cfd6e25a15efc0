"""The operators that users made, by name: ``torch.ops`` reads this table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Operator:
    """An operator ``namespace::name``."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname
        self.namespace, _, self.name = qualname.partition("::")
        self.default = Overload(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


class Overload:
    """One variant of an operator: ``torch.ops.namespace.name.default``."""

    def __init__(self, operator: Operator, overload: str = "default") -> None:
        self.operator = operator
        self.namespace = operator.namespace
        self._overloadname = overload
        self.__name__ = f"{operator.name}.{overload}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.operator(*args, **kwargs)

    def __deepcopy__(self, memo: Any) -> Overload:
        return self     # there is one of each

    @property
    def _schema(self) -> Any:
        """The schema of an operator that has one."""
        found = getattr(self.operator, "schema", None)
        if found is None:
            raise AttributeError(f"{self} has no schema here")
        return found

    @property
    def overloadpacket(self) -> Packet:
        """``torch.ops.namespace.name``.

        >>> import flambeau as torch
        >>> torch.ops.aten.add.Tensor.overloadpacket is torch.ops.aten.add
        True
        """
        return packet_of(self.operator)

    _overloadpacket = overloadpacket

    def name(self) -> str:
        """``namespace::name``, with the variant's name where it has one.

        >>> import flambeau as torch
        >>> torch.ops.aten.add.Tensor.name()
        'aten::add.Tensor'
        """
        return self.operator.qualname + ("" if self._overloadname == "default" else f".{self._overloadname}")

    def __str__(self) -> str:
        return f"{self.namespace}.{self.operator.name}.{self._overloadname}"

    def __repr__(self) -> str:
        return (f"<OpOverload(op='{self.namespace}.{self.operator.name}', "
                f"overload='{self._overloadname}')>")


class Packet:
    """``torch.ops.namespace.name``."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.default = operator.default
        self.__name__ = operator.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.operator(*args, **kwargs)

    def __deepcopy__(self, memo: Any) -> Packet:
        return self     # there is one of each

    def __getattr__(self, variant: str) -> Any:
        if variant.startswith("__"):
            raise AttributeError(variant)
        raise AttributeError(f"The underlying op of '{self}' has no overload name '{variant}'")

    def overloads(self) -> list[str]:
        """The names of the variants: one."""
        return ["default"]

    def __str__(self) -> str:
        return f"{self.operator.namespace}.{self.operator.name}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


_operators: dict[str, Operator] = {}
# Finds the one packet of an operator that has one.
packet_finders: list[Callable[[Operator], Packet | None]] = []


def packet_of(operator: Operator) -> Packet:
    """``torch.ops.namespace.name`` of an operator."""
    return next((found for find in packet_finders if (found := find(operator)) is not None), None) \
        or Packet(operator)


def put(operator: Operator) -> None:
    """Make an operator known by its name."""
    _operators[operator.qualname] = operator


def find(qualname: str) -> Operator | None:
    """The operator of a name."""
    return _operators.get(qualname)
