"""Copies of views under the names PyTorch gives them: ``expand_copy`` is ``expand`` and then a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...layouts import contiguous_format
from ...tensor import Tensor
from ..calls.out import EXACT
from ..declaration.registry import api
from ..interop import protocols
from ..pointwise import complex_numbers
from ..shapes import expanding, shape, slicing, splitting, strided_views, transposing


def _alias(input: Tensor) -> Tensor:
    return input


def _copying(function: Callable[..., Any]) -> Callable[..., Any]:
    def copies(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        if isinstance(found, tuple):
            return tuple([part.clone(memory_format=contiguous_format) for part in found])
        return found.clone(memory_format=contiguous_format)
    copies.__doc__ = f"A copy of what ``{function.__name__.removesuffix('_method').strip('_')}`` shows."
    return copies


def slice(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """``input[start:end:step]`` along a dimension.

    >>> import flambeau as torch
    >>> torch.slice_copy(torch.arange(5), 0, 1, 4)
    tensor([1, 2, 3])
    """
    return slicing.slice_of(input, dim, start, end, step)


_TABLE: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("alias_copy", _alias),
    ("as_strided_copy", strided_views.as_strided),
    ("detach_copy", protocols.detach),
    ("expand_copy", expanding.expand),
    ("permute_copy", transposing.permute),
    ("select_copy", slicing.select),
    ("slice_copy", slice),
    ("split_copy", splitting.split),
    ("split_with_sizes_copy", splitting.split_with_sizes),
    ("squeeze_copy", expanding.squeeze),
    ("t_copy", transposing.t),
    ("transpose_copy", transposing.transpose),
    ("unbind_copy", splitting.unbind),
    ("unfold_copy", strided_views.unfold),
    ("unsqueeze_copy", expanding.unsqueeze),
    ("view_copy", shape.view_method),
    ("view_as_real_copy", complex_numbers.view_as_real),
    ("view_as_complex_copy", complex_numbers.view_as_complex),
)

# What is written in another type.
_CONVERTED = frozenset(("detach_copy", "select_copy", "slice_copy", "split_copy", "view_as_real_copy",
                        "view_as_complex_copy"))

for _name, _function in _TABLE:
    _copies = _copying(_function)
    _copies.__name__ = _copies.__qualname__ = _name
    api("torch", out=_name in _CONVERTED or EXACT, name=_name, judge="first")(_copies)
