"""``rearrange``: dimensions transposed, joined and split by a pattern of names (Rogozhnikov, ICLR 2022)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import prod

from .. import operators as ops
from ..tensor import Tensor

# One side of a pattern: for each dimension the names that make it up; "..." stands for any number of them.
Side = tuple[tuple[str, ...], ...]
_ELLIPSIS = "..."
_DOTS = "Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor "
_JOINED = "(...)"  # an ellipsis in parentheses: its dimensions become one


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """A tensor (or several, stacked) with its dimensions as the right side of ``pattern`` has them.

    Names in parentheses are one dimension; on the left the sizes of all but one of them are given by name.
    ``...`` is any number of dimensions, ``1`` one without a name.

    >>> import flambeau as torch
    >>> x = torch.zeros(2, 3, 8)
    >>> torch.func.rearrange(x, "b t (heads width) -> b heads t width", heads=4).shape
    torch.Size([2, 4, 3, 2])
    >>> torch.func.rearrange(x, "b ... -> (...) b").shape
    torch.Size([24, 2])
    """
    x = tensor if isinstance(tensor, Tensor) else ops.stack(tensor)
    left, right = _parsed(pattern, tuple(axes_lengths))
    left, right = _with_ellipsis(left, right, x.ndim)
    if len(left) != x.ndim:
        raise ValueError(
            f"Number of dimensions in pattern ({len(left)}) must be equal to the number of dimensions in the "
            f"tensor ({x.ndim})"
        )
    sizes = dict(axes_lengths)
    for names, extent in zip(left, x.shape):
        _measure(names, extent, sizes)
    given = [name for names in left for name in names]
    wanted = [name for names in right for name in names]
    single = x.reshape([sizes[name] for name in given])
    moved = single.permute([given.index(name) for name in wanted])
    return moved.reshape([prod(sizes[name] for name in names) for names in right])


def _measure(names: tuple[str, ...], extent: int, sizes: dict[str, int]) -> None:
    """Find the sizes of the names that make up one dimension."""
    unknown = [name for name in names if name not in sizes]
    if len(unknown) > 1:
        raise ValueError(f"cannot infer the sizes of two dimensions at once {' and '.join(unknown)}")
    known = prod(sizes[name] for name in names if name in sizes)
    if unknown:
        if not known or extent % known:
            raise ValueError("inferred dimension does not evenly fit into larger dimension: "
                             f"{extent} vs {known}")
        sizes[unknown[0]] = extent // known
    elif known != extent:
        raise ValueError(f"Dimension sizes to do not match ({extent} != {known}) when matching dimension "
                         f"{names}")


def _with_ellipsis(left: Side, right: Side, ndim: int) -> tuple[Side, Side]:
    """Both sides with names in the place of the ellipsis, in parentheses or not."""
    if (_ELLIPSIS,) not in left:
        return left, right
    hidden = tuple(f"...{i}" for i in range(ndim - len(left) + 1))
    return _expanded(left, hidden), _expanded(right, hidden)


def _expanded(side: Side, hidden: tuple[str, ...]) -> Side:
    found: list[tuple[str, ...]] = []
    for names in side:
        if names == (_ELLIPSIS,):
            found += [(name,) for name in hidden]
        else:
            found.append(tuple(n for name in names for n in (hidden if name == _JOINED else (name,))))
    return tuple(found)


@lru_cache(256)
def _parsed(pattern: str, lengths: tuple[str, ...]) -> tuple[Side, Side]:
    """Both sides of a pattern, checked against each other."""
    if pattern.count("->") != 1:
        raise ValueError("Pattern must contain a single '->' separator")
    texts = pattern.split("->")
    left, right = _side(texts[0]), _side(texts[1])
    if any(_JOINED in names for names in left):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    flat = [{_ELLIPSIS if name == _JOINED else name for names in side for name in names}
            for side in (left, right)]
    if _ELLIPSIS in flat[1] - flat[0]:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if flat[0] != flat[1]:
        raise ValueError(
            f"Identifiers only on one side of rearrange expression (should be on both): {flat[0] ^ flat[1]}"
        )
    unknown = set(lengths) - flat[0]
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")
    return left, right


def _side(text: str) -> Side:
    """The dimensions of one side; () for those of extent 1."""
    dimensions: list[tuple[str, ...]] = []
    group: list[str] | None = None
    tokens = re.findall(r"\.\.\.|[()]|[^\s().]+|\.+", text)
    for token in tokens:
        if token == "(":
            if group is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            group = []
        elif token == ")":
            if group is None:
                raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
            dimensions.append(tuple(group))
            group = None
        else:
            name = _checked(token)
            if group is not None:
                group += (_JOINED,) if name == (_ELLIPSIS,) else name
            else:
                dimensions.append(name)
    if group is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
    _check_unique([name for names in dimensions for name in names])
    return tuple(dimensions)


def _checked(token: str) -> tuple[str, ...]:
    """The name that a token is; none for a 1."""
    if token == _ELLIPSIS:
        return (token,)
    if token.startswith("."):
        raise ValueError(_DOTS)
    if token.isdecimal():
        if token != "1":
            raise ValueError("rearrange only supports unnamed axes of size 1")
        return ()
    if not token.isidentifier() or token.startswith("_") or token.endswith("_"):
        reason = "axis name should should not start or end with underscore"
        raise ValueError(f"Invalid axis identifier: {token}\n"
                         f"{reason if token.isidentifier() else 'not a name'}")
    return (token,)


def _check_unique(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            if name == _ELLIPSIS:
                raise ValueError(_DOTS)
            raise ValueError(f"Indexing expression contains duplicate dimension '{name}'")
