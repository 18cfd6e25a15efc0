"""``vmap``: a function of one example as a function of a batch.

The function runs once, on tensors that stand for all examples (Note: batching, in ``tensor/batching.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import operators
from ..tensor import Tensor
from ..tensor.batching import BatchedTensor, Level, batched, levels
from ..utils import _pytree as pytree
from . import batching_indices as _rules  # noqa: F401  (fills the table of rules, with what it imports)
from .batching import innermost, strip

RANDOMNESS = ("error", "different", "same")
# Asked for steps that are to be used in place of this module's (see Note: replaced steps).
replaced_steps: list[Callable[[], tuple[Any, ...] | None]] = []


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable[..., Any]:
    """``func`` on every example along ``in_dims`` (None: the argument is shared, as those given by
    keyword are), stacked along ``out_dims``.

    ``randomness`` says what random operators do inside: "error", or "different" or the "same" numbers for
    every example. At most ``chunk_size`` examples are computed at a time.

    >>> import flambeau as torch
    >>> torch.vmap(torch.dot)(torch.ones(3, 2), torch.tensor([[1., 2.], [3., 4.], [5., 6.]]))
    tensor([ 3.,  7., 11.])
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError("Only allowed values for randomness are 'error', 'different', or 'same'. Got "
                           f"{randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        for ask in replaced_steps:
            if chunk_size is None and (steps := ask()) is not None:
                return _by_steps(steps, func, in_dims, out_dims, randomness, args, kwargs)
        leaves, spec = pytree.tree_flatten(args)
        dims = dims_of(leaves, spec, in_dims, args, name)
        size = batch_size(leaves, dims)
        columns = [leaf if dim is None else leaf.movedim(dim, 0) for leaf, dim in zip(leaves, dims)]

        def part(start: int, stop: int) -> tuple[list[Any], list[Any], pytree.TreeSpec]:
            whole = start == 0 and stop == size
            chunk = [x if dim is None or whole else x[start:stop] for x, dim in zip(columns, dims)]
            levels.append(Level(stop - start, randomness))
            try:
                level = len(levels)
                chunk = [x if dim is None else batched(x, level) for x, dim in zip(chunk, dims)]
                result = func(*spec.unflatten(chunk), **kwargs)
                return unwrapped(result, out_dims, level, name)
            finally:
                levels.pop()

        step = size if chunk_size is None else chunk_size
        starts = range(0, size, step) if size else (0,)
        return _joined([part(start, min(start + step, size)) for start in starts])
    return mapped


def _by_steps(steps: tuple[Any, ...], func: Callable[..., Any], in_dims: Any, out_dims: Any, randomness: str,
              args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``func`` of all examples, with steps that somebody else wrote."""
    process, create, unwrap = steps
    size, dims, leaves, spec = process(in_dims, args, func)
    levels.append(Level(size, randomness))
    try:
        level = len(levels)
        result = func(*create(dims, leaves, level, spec), **kwargs)
        return unwrap(result, out_dims, level, size, func)
    finally:
        levels.pop()


def for_each(function: Callable[..., list[Any]], *batches: Tensor,
             chunk_size: int | None = None) -> list[Any]:
    """``function`` of each example, stacked: through vmap, or by a loop where something looks at values.

    A result may be None.
    """
    present: list[bool] = []

    def tensors(*examples: Tensor) -> list[Any]:
        found = function(*examples)
        present[:] = [isinstance(x, Tensor) for x in found]
        return [x for x in found if isinstance(x, Tensor)]
    try:
        stacked = iter(vmap(tensors, chunk_size=chunk_size)(*batches))
        return [next(stacked) if there else None for there in present]
    except RuntimeError as error:
        if not str(error).startswith("vmap:"):
            raise
    rows = [function(*[batch[i] for batch in batches]) for i in range(batches[0].shape[0])]
    return [operators.stack(column) if isinstance(column[0], Tensor) else column[0] for column in zip(*rows)]


def dims_of(leaves: list[Any], spec: pytree.TreeSpec, in_dims: Any, args: tuple[Any, ...],
             name: str) -> list[int | None]:
    """The batch dimension of each leaf, not negative."""
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a "
                         "(potentially nested) tuple matching the structure of inputs, got: "
                         f"{type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
                         "trying to vmap over a function with no inputs. The latter is unsupported.")
    dims = pytree._broadcast_to_and_flatten(in_dims, spec, is_leaf=lambda x: x is None)
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if dims is None:
        raise ValueError(f"{where}in_dims is not compatible with the structure of `inputs`. in_dims has "
                         f"structure {pytree.tree_structure(in_dims)} but inputs has structure {spec}.")
    for i, (leaf, dim) in enumerate(zip(leaves, dims)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(f"{where}Got in_dim={dim} for an input but in_dim must be either an integer "
                             "dimension or None.")
        if not isinstance(leaf, Tensor):
            raise ValueError(f"{where}Got in_dim={dim} for an input but the input is of type {type(leaf)}. "
                             "We cannot vmap over non-Tensor arguments, please use None as the respective "
                             "in_dim")
        if not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(f"{where}Got in_dim={dim} for some input, but that input is a Tensor of "
                             f"dimensionality {leaf.dim()} so expected in_dim to satisfy -{leaf.dim()} <= "
                             f"in_dim < {leaf.dim()}.")
        dims[i] = dim % leaf.dim()
    return dims


def batch_size(leaves: list[Any], dims: list[int | None]) -> int:
    """How many examples there are."""
    sizes = [leaf.size(dim) for leaf, dim in zip(leaves, dims) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got "
                         f"sizes {sizes} for the mapped dimension")
    return int(sizes[0])


Part = tuple[list[Any], list[Any], pytree.TreeSpec]


def unwrapped(result: Any, out_dims: Any, level: int, name: str) -> Part:
    """The results with the batch where ``out_dims`` wants it, these dimensions, and the structure."""
    found, spec = pytree.tree_flatten(result)
    if not all(dim is None or isinstance(dim, int) for dim in pytree.tree_leaves(out_dims)):
        raise ValueError(f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
                         "python collection of ints representing where in the outputs the vmapped dimension "
                         "should appear.")
    if isinstance(result, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    dims = pytree._broadcast_to_and_flatten(out_dims, spec, is_leaf=lambda x: x is None)
    if dims is None:
        raise ValueError(f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with "
                         "the structure of `outputs`. out_dims has structure "
                         f"{pytree.tree_structure(out_dims)} but outputs has structure {spec}.")
    results = []
    for x, dim in zip(found, dims):
        if dim is None:
            if x.__class__ is BatchedTensor and innermost((x,)) >= level:
                raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim "
                                 "is None")
            results.append(x)
            continue
        if not isinstance(x, Tensor):
            raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did "
                             "you mean to set out_dims= to None for output?")
        inner, has = strip(x, level)
        inner = inner if has else x.expand(levels[level - 1].size, *x.shape)
        results.append(inner.movedim(0, dim) if dim else inner)
    return results, dims, spec


def _joined(parts: list[Part]) -> Any:
    results, dims, spec = parts[0]
    if len(parts) > 1:
        columns = zip(*[each[0] for each in parts])
        results = [column[0] if dim is None else operators.cat(column, dim)
                   for column, dim in zip(columns, dims)]
    return spec.unflatten(results)
