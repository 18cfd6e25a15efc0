"""``torch._tensor_str``: the parts of a tensor's ``repr``, for classes that print themselves likewise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .tensor import Tensor
from .tensor.printing import format_array, options, set_printoptions, with_suffixes

PRINT_OPTS = options


def get_printoptions() -> dict[str, Any]:
    """The options in force."""
    return {name: getattr(options, name) for name in ("precision", "threshold", "edgeitems", "linewidth",
                                                      "sci_mode")}


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Other options inside."""
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)


def _tensor_str(self: Tensor, indent: int) -> str:
    """The numbers of a tensor."""
    return "[]" if self.numel() == 0 else format_array(self.detach().numpy(), indent)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """``tensor_str`` with what follows it, and the closing bracket."""
    return with_suffixes(tensor_str, suffixes, indent, force_newline)


__all__ = ["PRINT_OPTS", "get_printoptions", "printoptions", "set_printoptions"]
