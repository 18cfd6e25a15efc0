"""``linearize``, ``functionalize`` and ``debug_unwrap``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import operators
from ..tensor import Tensor
from ..tensor.batching import BatchedTensor
from ..utils import _pytree as pytree
from .batching import bottom
from .jacobians import check_directions, pushforward

_TENSOR = object()


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """``func(*primals)``, and the linear function that takes tangents to forward derivatives there.

    ``func`` runs once, however often the linear function is called.

    >>> import flambeau as torch
    >>> value, along = torch.func.linearize(torch.square, torch.tensor([1., 2.]))
    >>> along(torch.tensor([1., 1.]))
    tensor([2., 4.])
    """
    leaves, spec = pytree.tree_flatten(primals)
    check_directions([x for x in leaves if isinstance(x, Tensor)], "primal")
    constants: list[Any] = []       # what func returns, with a mark in the place of each tensor
    structures: list[pytree.TreeSpec] = []

    def tensors_of(*xs: Any) -> list[Tensor]:
        found, structure = pytree.tree_flatten(func(*spec.unflatten(xs)))
        structures.append(structure)
        constants[:] = [_TENSOR if isinstance(x, Tensor) else x for x in found]
        return [x for x in found if isinstance(x, Tensor)]

    def joined(tensors: list[Tensor]) -> Any:
        each = iter(tensors)
        return structures[0].unflatten([next(each) if x is _TENSOR else x for x in constants])

    def of(*xs: Any) -> Any:
        return tensors_of(*xs) or [operators.zeros(())]

    value, push, _ = pushforward(of, tuple(leaves), False)

    def along(*tangents: Any) -> Any:
        given, structure = pytree.tree_flatten(tangents)
        if structure != spec:
            raise RuntimeError(f"Expected the tangents {structure} to have the same argspec as the "
                               f"primals {spec}")
        for i, (tangent, x) in enumerate(zip(given, leaves)):
            for what in ("shape", "dtype"):
                ours, theirs = getattr(x, what), getattr(tangent, what)
                if ours != theirs:
                    raise RuntimeError(f"tangent:{i} with {what} {theirs} in flattened pytree doesn't match "
                                       f"the {what} {ours} of the corresponding primal.")
        return joined(push(given))
    return joined(value), along


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """``func``: in-place writes are recorded as new versions of a storage, which nothing has to remove.

    >>> import flambeau as torch
    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.ones(2))
    tensor([2., 2.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError("functionalize(f, remove='mutations'): received invalid argument for remove="
                           f"{remove}. Valid options are:\n     remove='mutations': all inplace and out= "
                           "operators will be removed from the program, and replaced with their out-of-place "
                           "equivalents.\n     remove='mutations_and_views': In addition to the above, all "
                           "aliasing operators {view} will be replaced with their non-aliasing counterparts, "
                           "{view}_copy.\n")

    @wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)
    return wrapped


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor of all examples behind a batched one, of one vmap or (``recurse``) of all; for debugging.

    >>> import flambeau as torch
    >>> def shown(x):
    ...     print(torch.func.debug_unwrap(x).shape)
    ...     return x
    >>> _ = torch.vmap(shown)(torch.zeros(2, 3))
    torch.Size([2, 3])
    """
    if tensor.__class__ is not BatchedTensor:
        return tensor
    return bottom(tensor) if recurse else tensor.physical
