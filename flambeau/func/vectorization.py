"""``vmap``: a function of one example as a function of a batch.

The function is called once for each example, and the results are stacked. So the results are those of a
batched computation and the time is that of a loop (though all of it is one recorded graph), control flow may
depend on values, and random numbers are drawn example by example: with ``randomness="different"`` they differ
from PyTorch's, which draws them for the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import operators, random
from ..tensor import Tensor
from ..utils import _pytree as pytree


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable[..., Any]:
    """``func`` on every example along ``in_dims`` (None: the argument is shared), stacked along ``out_dims``.

    See the module's docstring for how it is computed. ``randomness="same"`` gives every example the same
    random numbers; ``"error"`` is taken as ``"different"``. ``chunk_size`` makes no difference.

    >>> import flambeau as torch
    >>> torch.vmap(torch.dot)(torch.ones(3, 2), torch.tensor([[1., 2.], [3., 4.], [5., 6.]]))
    tensor([ 3.,  7., 11.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError("Only allowed values for randomness are 'error', 'different', or 'same'. Got "
                           f"{randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @wraps(func)
    def batched(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = pytree.tree_flatten(args)
        dims = _dims_of(leaves, spec, in_dims, args)
        size = _batch_size(leaves, dims)
        inputs = [_examples(leaf, dim, size) for leaf, dim in zip(leaves, dims)]
        named, names = pytree.tree_flatten(kwargs)
        columns = [_examples(leaf, 0 if isinstance(leaf, Tensor) else None, size) for leaf in named]
        state = random.get_rng_state() if randomness == "same" else None
        results = []
        for i in range(size):
            if state is not None:
                random.set_rng_state(state)
            results.append(func(*spec.unflatten([each[i] for each in inputs]),
                                **names.unflatten([each[i] for each in columns])))
        return _stacked(results, out_dims)
    return batched


def _dims_of(leaves: list[Any], spec: pytree.TreeSpec, in_dims: Any,
             args: tuple[Any, ...]) -> list[int | None]:
    """The batch dimension of each leaf, not negative."""
    if not args:
        raise ValueError("vmap: got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
                         "over a function with no inputs. The latter is unsupported.")
    tree = tuple(in_dims) if isinstance(in_dims, list) else in_dims
    dims = pytree._broadcast_to_and_flatten(tree, spec, is_leaf=lambda x: x is None)
    if dims is None:
        raise ValueError("vmap: in_dims is not compatible with the structure of inputs. in_dims has "
                         f"structure {pytree.tree_structure(tree)} but inputs has structure {spec}.")
    for i, (leaf, dim) in enumerate(zip(leaves, dims)):
        if dim is None:
            continue
        if not isinstance(leaf, Tensor):
            raise ValueError(f"vmap: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We "
                             "cannot vmap over non-Tensor arguments, please use None as the respective "
                             "in_dim")
        if not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(f"vmap: Got in_dim={dim} for some input, but that input is a Tensor of "
                             f"dimensionality {leaf.dim()} so expected in_dim to satisfy -{leaf.dim()} <= "
                             f"in_dim < {leaf.dim()}.")
        dims[i] = dim % leaf.dim()
    return dims


def _batch_size(leaves: list[Any], dims: list[int | None]) -> int:
    sizes = [leaf.size(dim) for leaf, dim in zip(leaves, dims) if dim is not None]
    if not sizes:
        raise ValueError("vmap: at least one input must have a non-None in_dim")
    if any(size != sizes[0] for size in sizes):
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got "
                         f"sizes {sizes} for the mapped dimension")
    return int(sizes[0])


def _examples(leaf: Any, dim: int | None, size: int) -> Any:
    return [leaf] * size if dim is None else leaf.unbind(dim)


def _stacked(results: list[Any], out_dims: Any) -> Any:
    first, spec = pytree.tree_flatten(results[0])
    columns = [spec.flatten_up_to(result) for result in results]
    dims = pytree._broadcast_to_and_flatten(out_dims, spec, is_leaf=lambda x: x is None)
    if dims is None:
        raise ValueError("vmap: out_dims is not compatible with the structure of outputs. out_dims has "
                         f"structure {pytree.tree_structure(out_dims)} but outputs has structure {spec}.")
    joined = []
    for i, dim in enumerate(dims):
        if not isinstance(first[i], Tensor):
            raise ValueError(f"vmap: `func` must only return Tensors, got type {type(first[i])}. Did you "
                             "mean to set out_dims= to None for output?")
        joined.append(first[i] if dim is None else operators.stack([column[i] for column in columns], dim))
    return spec.unflatten(joined)
