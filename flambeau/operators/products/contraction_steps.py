"""Steps of a contraction, noted once for operands of certain shapes and taken for each that comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...dtypes import float32, float64
from ...tensor import Tensor
from ...tensor.recording import casting
from .matmul import bmm, mm
from .operands import require_scalar_type

_TENSOR: Any = Tensor
_Step = tuple[Callable[..., Any], int, tuple[Any, ...]]     # what, of which value, further arguments


class Noted:
    """Stands for a tensor of a shape: what is done to it is noted, unless it changes nothing."""

    __slots__ = ("steps", "place", "shape")

    def __init__(self, steps: list[_Step | None], place: int, shape: tuple[int, ...]) -> None:
        self.steps, self.place, self.shape = steps, place, shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def note(self, what: Callable[..., Any], arguments: tuple[Any, ...], shape: Sequence[int]) -> Noted:
        """The result, of ``shape``, of what is done to this tensor."""
        self.steps.append((what, self.place, arguments))
        return Noted(self.steps, len(self.steps) - 1, tuple(shape))

    def permute(self, order: list[int]) -> Noted:
        if order == list(range(len(order))):
            return self
        return self.note(_TENSOR.permute, (order,), [self.shape[d] for d in order])

    def reshape(self, shape: Sequence[int]) -> Noted:
        return self if tuple(shape) == self.shape else self.note(_TENSOR.reshape, (shape,), shape)

    def view(self, shape: Sequence[int]) -> Noted:
        """A view, of the same shape too."""
        return self.note(_TENSOR.reshape, (shape,), shape)

    def expand(self, shape: Sequence[int]) -> Noted:
        return self if tuple(shape) == self.shape else self.note(_TENSOR.expand, (shape,), shape)

    def diagonal(self, offset: int, first: int, second: int) -> Noted:
        rest = [n for d, n in enumerate(self.shape) if d not in (first, second)]
        return self.note(_TENSOR.diagonal, (offset, first, second), [*rest, self.shape[first]])

    def sum(self, dims: list[int]) -> Noted:
        return self.note(_TENSOR.sum, (dims,), [n for d, n in enumerate(self.shape) if d not in dims])

    def times(self, other: Noted, shape: Sequence[int]) -> Noted:
        """The product of elements."""
        return self.note(_TENSOR.__mul__, (other,), shape)

    def product(self, other: Noted) -> Noted:
        """The matrix product, of matrices or of rows of them."""
        shape = (*self.shape[:-1], other.shape[-1])
        return self.note(_matrices if self.ndim == 2 else _rows_of_matrices, (other,), shape)


def noted(shapes: Sequence[Sequence[int]]) -> list[Noted]:
    """Stand-ins for operands of these shapes."""
    steps: list[_Step | None] = [None] * len(shapes)
    return [Noted(steps, place, tuple(shape)) for place, shape in enumerate(shapes)]


class Contraction:
    """The steps to a noted result."""

    __slots__ = ("_steps", "_place")

    def __init__(self, result: Noted) -> None:
        self._steps = [
            (what, place, tuple(x.place if isinstance(x, Noted) else x for x in arguments),
             isinstance(arguments[0], Noted))
            for what, place, arguments in filter(None, result.steps)
        ]
        self._place = result.place

    def take(self, operands: Sequence[Tensor]) -> Tensor:
        values = list(operands)
        for what, place, arguments, of_two in self._steps:
            values.append(what(values[place], values[arguments[0]]) if of_two
                          else what(values[place], *arguments))
        return values[self._place]


def _matrices(a: Tensor, b: Tensor) -> Tensor:
    require_scalar_type(a._geometry, b._geometry)
    return _row_by_column(a, b) if a.shape[0] == b.shape[1] == 1 and _sums_alike(a) else mm(a, b)


def _rows_of_matrices(a: Tensor, b: Tensor) -> Tensor:
    require_scalar_type(a._geometry, b._geometry)
    return _row_by_column(a, b) if a.shape[1] == b.shape[2] == 1 and _sums_alike(a) else bmm(a, b)


def _sums_alike(x: Tensor) -> bool:
    """Whether a sum of products has the product's type, which autocast does not lower, and rounding."""
    return x.dtype in (float32, float64) and not casting.active


def _row_by_column(a: Tensor, b: Tensor) -> Tensor:
    """Products of matrices of one row and of one column: a loop, which reads them as they lie."""
    return (a * b.transpose(-1, -2)).sum(-1, keepdim=True)
