"""``torch.typename``: how error messages name the type of a value."""

from __future__ import annotations

from .tensor import Tensor


def typename(value: object) -> str:
    """The name of a value's type, or of a class or function itself: ``torch.FloatTensor``, ``int``.

    >>> import flambeau as torch
    >>> torch.typename(torch.ones(2)), torch.typename(1)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(value, Tensor):
        return str(value.type())
    cls = type(value)
    module = getattr(value, "__module__", None) or cls.__module__
    prefix = "" if module in ("builtins", "__builtin__") else f"{module}."
    return prefix + str(getattr(value, "__qualname__", cls.__name__))
