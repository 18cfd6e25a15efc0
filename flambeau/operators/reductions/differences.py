"""Numerical derivatives: ``torch.gradient``."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...tensor import Tensor, check_dim
from ..declaration.registry import NAMESPACES, api


@api("torch", judge="first")
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Derivatives along each dimension by central differences, one-sided at the edges.

    ``spacing`` is one step for all dimensions, a step for each, or a tensor of coordinates for each. With
    steps a and b to the left and the right of a point the difference is, exact for parabolas (Fornberg 1988),

        f' = -b / (a (a + b)) f(x - a) + (b - a) / (a b) f(x) + a / (b (a + b)) f(x + b)

    >>> import flambeau as torch
    >>> torch.gradient(torch.tensor([1., 2., 4., 7.]))
    (tensor([1.0000, 1.5000, 2.5000, 3.0000]),)
    """
    if input.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    dims = _dimensions(input, dim)
    spacings = _spacings(input, spacing, dims, dim is not None)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for d in dims:
        if input.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(_along(input, d, step, edge_order) for d, step in zip(dims, spacings))


def _dimensions(input: Tensor, dim: Any) -> list[int]:
    given = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    dims: list[int] = []
    for d in given:
        found = check_dim(d, input.ndim)
        if found in dims:
            raise RuntimeError(f"dim {found} appears multiple times in the list of dims")
        dims.append(found)
    return dims


def _spacings(input: Tensor, spacing: Any, dims: list[int], dims_given: bool) -> list[Any]:
    """A step or coordinates for each dimension."""
    if not isinstance(spacing, (list, tuple, Tensor)):
        return [1 if spacing is None else spacing] * len(dims)
    listed = list(spacing) if not isinstance(spacing, Tensor) or spacing.ndim else [spacing]
    if len(listed) != len(dims):
        if dims_given:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
                f"arguments to have the same length, but got a spacing argument of length {len(listed)} and "
                f"a dim argument of length {len(dims)}."
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
            f"'self.dim() = {input.ndim}', since dim argument was not given, but got a list of length "
            f"{len(listed)}"
        )
    if isinstance(spacing, Tensor):
        raise RuntimeError(
            "torch.gradient expected each element of spacing to have one dimension, but got an element with "
            f"{listed[0].ndim} dimensions!"
        )
    for d, each in zip(dims, listed):
        if isinstance(each, Tensor):
            if each.ndim != 1:
                raise RuntimeError(
                    "torch.gradient expected each element of spacing to have one dimension, but got an "
                    f"element with {each.ndim} dimensions!"
                )
            if each.shape[0] != input.shape[d] and each.shape[0] != 1:
                raise RuntimeError(
                    "torch.gradient expected the number of coordinates to be the size of the dimension, but "
                    f"got {each.shape[0]} coordinates for a size of {input.shape[d]}"
                )
    return listed


def _along(x: Tensor, d: int, step: Any, edge_order: int) -> Tensor:
    cat: Any = NAMESPACES["torch"]["cat"]
    n = x.shape[d]

    def part(start: int, length: int) -> Tensor:
        return x.narrow(d, start, length)

    if isinstance(step, Tensor):
        shape = [1] * x.ndim
        shape[d] = -1
        steps = (step.narrow(0, 1, n - 1) - step.narrow(0, 0, n - 1)).reshape(shape)

        def at(place: int) -> Any:
            return steps.narrow(d, place, 1)

        a, b = steps.narrow(d, 0, n - 2), steps.narrow(d, 1, n - 2)
        left, middle, right = -b / (a * (a + b)), (b - a) / (a * b), a / (b * (a + b))
        inner = left * part(0, n - 2) + middle * part(1, n - 2) + right * part(2, n - 2)
    else:

        def at(place: int) -> Any:
            return step

        inner = (part(2, n - 2) - part(0, n - 2)) / (2 * step)
    if edge_order == 1:
        first = (part(1, 1) - part(0, 1)) / at(0)
        last = (part(n - 1, 1) - part(n - 2, 1)) / at(n - 2)
    else:
        first = _edge([part(i, 1) for i in (0, 1, 2)], at(0), at(1))
        last = -_edge([part(n - i, 1) for i in (1, 2, 3)], at(n - 2), at(n - 3))
    return cat([first, inner, last], d)


def _edge(values: list[Tensor], a: Any, b: Any) -> Tensor:
    """The derivative at the first of three points, exact for parabolas; steps a and then b."""
    f0, f1, f2 = values
    return -(2 * a + b) / (a * (a + b)) * f0 + (a + b) / (a * b) * f1 - a / (b * (a + b)) * f2
