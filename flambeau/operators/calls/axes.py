"""Arguments of reductions: which dimensions, under which names."""

from __future__ import annotations

from typing import Any

from ...tensor import check_dim

EVERY = [tuple(range(ndim)) for ndim in range(65)]     # the dimensions of a tensor that has so many


def normalize_dims(dim: Any, ndim: int, keepdim: bool = False) -> tuple[int, ...]:
    """Dimensions to reduce, sorted and counted from 0; all of them for None and ()."""
    if keepdim.__class__ is not bool:   # 0.0 would be taken for the False of a result that was found before
        raise TypeError("keepdim must be bool")
    if dim is None:
        return EVERY[ndim]
    if dim.__class__ is int:
        found = check_dim(dim, ndim)
        return (found,) if ndim else ()
    dims = list(dim) if isinstance(dim, (tuple, list)) else [dim]
    if not dims:
        return tuple(range(ndim))
    counted = [check_dim(d, ndim) for d in dims]
    if len(set(counted)) != len(counted):
        repeated = next(d for d in counted if counted.count(d) > 1)
        raise RuntimeError(f"dim {repeated} appears multiple times in the list of dims")
    return tuple(sorted(counted)) if ndim else ()


def reduced_shape(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """The shape after reducing ``dims``."""
    if keepdim.__class__ is not bool:
        raise TypeError("keepdim must be bool")
    if keepdim:
        return tuple([1 if d in dims else n for d, n in enumerate(shape)])
    return tuple([n for d, n in enumerate(shape) if d not in dims])


def require_dims(function: str, dim: Any, dtype: str = "") -> None:
    """Refuse what is neither a dimension nor a sequence of them."""
    if dim is None or isinstance(dim, int):
        return
    if isinstance(dim, (tuple, list)) and all(hasattr(d, "__index__") for d in dim):
        return
    if hasattr(dim, "__index__"):
        return
    raise TypeError(
        f"{function}() received an invalid combination of arguments - got (Tensor, {type(dim).__name__}), "
        "but "
        f"expected one of:\n * (Tensor input, *{dtype})\n * (Tensor input, tuple of ints dim, bool keepdim = "
        f"False, *{dtype}, Tensor out = None)\n"
    )
