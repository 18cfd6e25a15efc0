"""``torch._foreach_*``: one function for each tensor of a list; optimizers outside of the package use them.

They record what the single functions record: the graph fuses operators over many tensors by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...tensor import Tensor
from ...tensor.aliasing.inplace import assign
from ..declaration.registry import NAMESPACES

_UNARY = (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac",
    "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign",
    "sin", "sinh", "sqrt", "tan", "tanh", "trunc")
_BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max", "pow")
# Of these torch's own functions take numbers only where the tensors are of one shape: numbers go this way.
_OF_NUMBERS = {"maximum": "clamp_min", "minimum": "clamp_max"}


def _checked(tensors: Any, name: str, position: int = 1) -> list[Tensor]:
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"_foreach_{name}(): argument 'self' (position {position}) must be tuple of Tensors, "
                        f"not {type(tensors).__name__}")
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return list(tensors)


def _spread(other: Any, count: int) -> Sequence[Any]:
    """One operand for each tensor: of a list each in turn, of one number or tensor always that one."""
    if isinstance(other, (list, tuple)):
        if len(other) != count and other and isinstance(other[0], Tensor):
            raise RuntimeError("Tensor lists must have the same number of tensors, got "
                               f"{count} and {len(other)}")
        if len(other) != count:
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        return other
    if isinstance(other, Tensor) and other.dim() != 0:
        raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {other.dim()} dimensions and "
                           f"{other.numel()} elements.")
    return [other] * count


def _of(name: str, other: Any = None) -> Callable[..., Any]:
    if not isinstance(other, Tensor):
        name = _OF_NUMBERS.get(name, name) if other is not None else name
    found: Callable[..., Any] = NAMESPACES["torch"][name]
    return found


def _store(tensors: list[Tensor], results: Iterable[Any], given: Any, name: str) -> Any:
    """Write each result before the next one is computed: a tensor may be there twice, or be an operand."""
    for x, y in zip(tensors, results, strict=True):
        assign(x, y, name)
    return given


def _unary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def results(self: Any) -> Iterator[Tensor]:
        return map(_of(name), _checked(self, name))

    def each(self: Any) -> tuple[Tensor, ...]:
        return tuple(results(self))

    def each_(self: Any) -> Any:
        return _store(_checked(self, name), results(self), self, name)
    return each, each_


def _operand(name: str, others: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The second operand, which has a name for each kind: a number, a number for each tensor, tensors."""
    names = ("exponent",) if name == "pow" else ("other", "scalar", "scalars")
    if len(others) + len(named) != 1 or not set(named) <= set(names):
        raise TypeError(f"_foreach_{name}() takes one operand beside the tensors, positional or by one of "
                        f"the names {', '.join(names)}; got {len(others)} and {', '.join(named) or 'none'}")
    return others[0] if others else next(iter(named.values()))


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def results(tensors: list[Tensor], other: Any, alpha: Any) -> Iterator[Tensor]:
        options = {} if isinstance(alpha, int) and alpha == 1 else {"alpha": alpha}
        return (_of(name, y)(x, y, **options)
                for x, y in zip(tensors, _spread(other, len(tensors)), strict=True))

    def each(self: Any, *others: Any, alpha: Any = 1, **named: Any) -> tuple[Tensor, ...]:
        other = _operand(name, others, named)
        if name == "pow" and not isinstance(self, (list, tuple)):
            return tuple(_of("pow")(self, x) for x in _checked(other, name, 2))
        return tuple(results(_checked(self, name), other, alpha))

    def each_(self: Any, *others: Any, alpha: Any = 1, **named: Any) -> Any:
        tensors = _checked(self, name)
        return _store(tensors, results(tensors, _operand(name, others, named), alpha), self, name)
    return each, each_


def _pointed(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """``addcmul`` and ``addcdiv``: the factor is one number, or one for each tensor."""
    def results(tensors: list[Tensor], tensor1: Any, tensor2: Any, scalars: Any,
                value: Any) -> Iterator[Tensor]:
        count, factors = len(tensors), value if scalars is None else scalars
        factors = factors.tolist() if isinstance(factors, Tensor) else factors
        rows = zip(tensors, _spread(tensor1, count), _spread(tensor2, count), _spread(factors, count),
                   strict=True)
        return (_of(name)(x, a, b, value=factor) for x, a, b, factor in rows)

    def each(self: Any, tensor1: Any, tensor2: Any, scalars: Any = None, *,
             value: Any = 1) -> tuple[Tensor, ...]:
        return tuple(results(_checked(self, name), tensor1, tensor2, scalars, value))

    def each_(self: Any, tensor1: Any, tensor2: Any, scalars: Any = None, *, value: Any = 1) -> Any:
        tensors = _checked(self, name)
        return _store(tensors, results(tensors, tensor1, tensor2, scalars, value), self, name)
    return each, each_


def _lerps(tensors: list[Tensor], tensors1: Any, weight: Any) -> Iterator[Tensor]:
    rows = zip(tensors, _spread(tensors1, len(tensors)), _spread(weight, len(tensors)), strict=True)
    return (_of("lerp")(x, y, w) for x, y, w in rows)


def _foreach_lerp(self: Any, tensors1: Any, weight: Any = None, *,
                  weights: Any = None) -> tuple[Tensor, ...]:
    return tuple(_lerps(_checked(self, "lerp"), tensors1, weights if weight is None else weight))


def _foreach_lerp_(self: Any, tensors1: Any, weight: Any = None, *, weights: Any = None) -> Any:
    tensors = _checked(self, "lerp")
    return _store(tensors, _lerps(tensors, tensors1, weights if weight is None else weight), self, "lerp")


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    norm = NAMESPACES["linalg"]["vector_norm"]
    return tuple(norm(x, ord, dtype=dtype) for x in _checked(self, "norm"))


def _foreach_powsum(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    return tuple(x.abs().pow(ord).sum(dtype=dtype) for x in _checked(self, "powsum"))


def _foreach_max(self: Any) -> tuple[Tensor, ...]:
    return tuple(x.max() for x in _checked(self, "max"))


def _foreach_clone(self: Any, *, memory_format: Any = None) -> tuple[Tensor, ...]:
    return tuple(x.clone() for x in _checked(self, "clone"))


def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    tensors = _checked(self, "copy_")
    for x, y in zip(tensors, _spread(src, len(tensors)), strict=True):
        x.copy_(y)
    return self


def _foreach_zero_(self: Any) -> Any:
    for x in _checked(self, "zero_"):
        x.zero_()
    return self


def _family() -> dict[str, Callable[..., Any]]:
    """By public name: ``_foreach_add`` and, in place, ``_foreach_add_``."""
    makers = [(_unary, _UNARY), (_binary, _BINARY), (_pointed, ("addcmul", "addcdiv"))]
    found: dict[str, Callable[..., Any]] = {
        "_foreach_lerp": _foreach_lerp, "_foreach_lerp_": _foreach_lerp_, "_foreach_norm": _foreach_norm,
        "_foreach_powsum": _foreach_powsum, "_foreach_max": _foreach_max, "_foreach_clone": _foreach_clone,
        "_foreach_copy_": _foreach_copy_, "_foreach_zero_": _foreach_zero_}
    for make, names in makers:
        for name in names:
            found[f"_foreach_{name}"], found[f"_foreach_{name}_"] = make(name)
    for name, function in found.items():
        function.__name__ = function.__qualname__ = name
        function.__module__ = __name__.partition(".")[0]
    return found


FUNCTIONS = tuple(_family().values())
