"""Batched tensors: what ``vmap`` gives its function in place of one example.

Note: batching. A ``BatchedTensor`` is a handle on a tensor (``physical``) whose first dimension is the batch,
and says that it has the shape of one example. Its geometry is an object of its own that no table of
signatures knows, so that ``record`` finds out about it only where it looks up nothing, and programs without
vmap pay nothing. What operators do with it is said in ``flambeau.func``, which sets the slots of ``rules``.
Levels are the vmaps that run, outermost first; a physical tensor may be one of an outer level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

from ..graph.geometry import Geometry, intern
from ..size import Size
from .attributes import blank
from .tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])


class Level:
    """One vmap that runs: how many examples, and whether random numbers are the same for all."""

    __slots__ = ("size", "randomness")

    def __init__(self, size: int, randomness: str) -> None:
        self.size = size
        self.randomness = randomness


levels: list[Level] = []


class BatchedGeometry(Geometry):
    """The geometry of one example, not in any table."""

    __slots__ = ()


def plain(g: Geometry) -> Geometry:
    """The geometry that tables know, of one example."""
    return intern(g.shape, g.strides, g.offset, g.dtype, g.device)


class _Nowhere:
    """In the place of a batched tensor's storage: there is no value to look at."""

    __slots__ = ("geometry", "__weakref__")

    node = type("Unknown", (), {"value": None})()
    exposed = False
    version = 0

    def __init__(self) -> None:
        self.geometry: Any = _UNKNOWN


class _UNKNOWN:
    numel = -1
    dtype = None
    ndim = -1
    shape = strides = ()
    extent = 0


def _refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


class BatchedTensor(Tensor):
    """One example of a batch, all examples at once (Note: batching)."""

    physical: Tensor
    level: int          # the position of its vmap among those that run, from 1

    @property
    def _requires_grad(self) -> bool:  # type: ignore[override]
        return self.physical.requires_grad

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to or through this tensor."""
        return self.physical.requires_grad

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Refused, as in PyTorch."""
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using "
            "torch.autograd.functional.* APIs) inside of a function being transformed by a functorch "
            "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, "
            "vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being transformed "
            "instead.")

    @property
    def grad_fn(self) -> Any:
        """The recorded operation that made all examples."""
        return self.physical.grad_fn

    @property
    def _grad_fn(self) -> Any:
        return self.physical.grad_fn

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        return self.physical.is_leaf

    @property
    def _version(self) -> int:
        return self.physical._version

    def detach(self) -> Tensor:
        """The same values without history."""
        return batched(self.physical.detach(), self.level)

    @property  # type: ignore[misc]
    def data(self) -> Tensor:
        """Refused, as in PyTorch."""
        raise RuntimeError("accessing `data` under vmap transform is not allowed")

    numpy = tolist = data_ptr = const_data_ptr = untyped_storage = _refuse

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        value = repr(self.physical).replace("\n", "\n    ")
        return f"BatchedTensor(lvl={self.level}, bdim=0, value=\n    {value}\n)"


def batched(physical: Tensor, level: int) -> Any:
    """The handle of one example on a tensor of all."""
    g = physical._geometry
    out: Any = blank(BatchedTensor)
    out.physical = physical
    out.level = level
    out._storage = _Nowhere()
    example = intern(Size(g.shape[1:]), g.strides[1:], g.offset, g.dtype, g.device)
    out._geometry = BatchedGeometry(example.family, g.offset)
    return out


def any_batched(values: Iterable[Any]) -> bool:
    """Whether one of the values is a batched tensor."""
    return any(x.__class__ is BatchedTensor for x in values)


def by_example(function: F) -> F:
    """Let a public function that looks at values run once for each example inside of vmap."""
    @wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if levels and any_batched((*args, *kwargs.values())):
            return rules.each(function, args, kwargs)
        return function(*args, **kwargs)
    return mapped  # type: ignore[return-value]


class Rules:
    """What operators do with batched tensors; set by ``flambeau.func``."""

    record: Callable[..., Any]
    view: Callable[..., Any]
    write: Callable[..., Any]
    assign: Callable[..., Any]
    draw: Callable[..., Any]
    grad: Callable[..., Any]
    look: Callable[..., Any]
    like: Callable[..., Any]
    each: Callable[..., Any]


rules = Rules()
