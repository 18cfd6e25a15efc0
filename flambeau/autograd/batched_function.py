"""Custom functions inside of ``vmap``: forward and backward of one example, for all examples at once.

A `Function` that gets batched tensors (Note: batching, in ``tensor/batching.py``) becomes a function of the
tensors of all examples. Its forward lets the user's forward run on batched tensors, as the rest of a function
in vmap does; its backward, which comes when vmap may long have ended, enters a level again and lets the
user's backward run in it. A ``vmap`` staticmethod of the user's takes the place of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..naming import of_package
from ..tensor import Tensor
from ..tensor.batching import BatchedTensor, Level, batched, levels
from .function_context import FunctionCtx


class VmapInfo(NamedTuple):
    """What the ``vmap`` staticmethod of a Function is told."""

    batch_size: int
    randomness: str


def apply_batched(function: Any, args: Sequence[Any]) -> Any:
    """``function.apply`` for arguments of which some are batched."""
    _check_rule(function)
    level = max(x.level for x in args if x.__class__ is BatchedTensor)
    taken = [_taken(x, level) for x in args]
    values = [value for value, _ in taken]
    has = [found for _, found in taken]
    if hasattr(function, "vmap"):
        return _by_own_rule(function, level, values, has)
    lifted = _lift(function, level, has)
    several, result = _lifted_call(lifted, values)
    wrapped = [batched(x, level) if isinstance(x, Tensor) else x for x in result]
    return tuple(wrapped) if several else wrapped[0]


_GUIDE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


def _check_rule(function: Any) -> None:
    """Whether a user's Function says how it is batched; the package's own need not."""
    from .function import Function  # which calls this

    if of_package(function):
        return
    if function.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), "
            f"it must override the setup_context staticmethod. {_GUIDE}")
    own = hasattr(function, "vmap")
    if own and function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True and an "
            "overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap "
            f"staticmethod to avoid ambiguity. {_GUIDE}")
    if not own and not function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it does not have vmap support. Please override "
            f"and implement the vmap staticmethod or set generate_vmap_rule=True. {_GUIDE}")


def _taken(x: Any, level: int) -> tuple[Any, bool]:
    """The tensor of all examples of a level, the batch in front, and whether x is batched there."""
    if x.__class__ is not BatchedTensor or x.level < level:
        return x, False
    return x.physical, True


def _by_own_rule(function: Any, level: int, values: list[Any], has: list[bool]) -> Any:
    info = VmapInfo(levels[level - 1].size, levels[level - 1].randomness)
    inner = levels[level - 1:]
    del levels[level - 1:]
    try:
        returned = function.vmap(info, tuple(0 if found else None for found in has), *values)
    finally:
        levels.extend(inner)
    result, out_dims = _output_and_dims(returned)
    several = isinstance(result, (tuple, list))
    results = list(result) if several else [result]
    dims = list(out_dims) if isinstance(out_dims, (tuple, list)) else [out_dims] * len(results)
    wrapped = [x if dim is None or not isinstance(x, Tensor) else batched(x.movedim(dim, 0), level)
               for x, dim in zip(results, dims)]
    return tuple(wrapped) if several else wrapped[0]


def _output_and_dims(returned: Any) -> tuple[Any, Any]:
    """What a ``vmap`` staticmethod returns: the output, and a dimension for each tensor of it or for all."""
    if not isinstance(returned, tuple) or len(returned) != 2:
        given = f"{len(returned)} returns" if isinstance(returned, tuple) else f"a {type(returned)}"
        raise RuntimeError("Expected the vmap staticmethod to have two returns, an output and out_dims with "
                           f"pytree structure compatible with the output. Got {given} instead")
    output, out_dims = returned
    if isinstance(out_dims, (tuple, list)):
        if not isinstance(output, (tuple, list)) or len(output) != len(out_dims):
            raise RuntimeError(_incompatible(output, out_dims))
    return output, out_dims


def _incompatible(output: Any, out_dims: Any) -> str:
    from ..utils import _pytree as pytree  # which needs automatic differentiation

    return (
        "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. "
        f"Expected out_dims={out_dims} to be compatible with the structure of `output`. out_dims has "
        f"structure {pytree.tree_structure(out_dims)} but output has structure "
        f"{pytree.tree_structure(output)}. {_GUIDE}")


def _lifted_call(lifted: Any, values: list[Any]) -> tuple[bool, list[Any]]:
    result = lifted.apply(*values)
    several = isinstance(result, tuple)
    return several, list(result) if several else [result]


@contextmanager
def _entered(size: int, randomness: str) -> Iterator[int]:
    """A level for the time of a block; its number."""
    levels.append(Level(size, randomness))
    try:
        yield len(levels)
    finally:
        levels.pop()


def _spread(x: Any, level: int, size: int) -> Any:
    """A result as a tensor of all examples, repeated where it is the same for all."""
    if not isinstance(x, Tensor):
        return x
    value, found = _taken(x, level)
    return value if found else x.expand(size, *x.shape)


def _lift(function: Any, level: int, has: list[bool]) -> Any:
    """The function of all examples."""
    from .function import Function  # which calls this

    size, randomness = levels[level - 1].size, levels[level - 1].randomness

    class Lifted(Function):
        _suits_transforms = True

        @staticmethod
        def forward(ctx: Any, *values: Any) -> Any:
            inner = ctx.inner = FunctionCtx()
            inner._reset()
            inner.needs_input_grad = ctx.needs_input_grad  # type: ignore[attr-defined]
            given = tuple(batched(x, level) if found else x for x, found in zip(values, has))
            if function.setup_context is Function.setup_context:
                result = function.forward(inner, *given)
            else:
                result = function.forward(*given)
                function.setup_context(inner, given, result)
            several = isinstance(result, (tuple, list))
            results = list(result) if several else [result]
            spread = [_spread(x, level, size) for x in results]
            of_result = {id(x): y for x, y in zip(results, spread)}
            of_result.update({id(x): y for x, y in zip(given, values)})
            saved = [of_result[id(x)] if id(x) in of_result else _taken(x, level)[0] for x in inner._to_save]
            inner.batched_saved = [  # type: ignore[attr-defined]
                x.__class__ is BatchedTensor and x.level >= level for x in inner._to_save]
            ctx.save_for_backward(*saved)
            ctx.mark_non_differentiable(*[of_result[id(x)] for x in inner._non_differentiable])
            ctx.set_materialize_grads(inner._materialize)
            return tuple(spread) if several else spread[0]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            inner = ctx.inner
            rule = function.vjp if function.vjp is not Function.vjp else function.backward
            with _entered(size, randomness) as now:
                inner._saved_entries = None
                inner._to_save = tuple(batched(x, now) if found and x is not None else x
                                       for x, found in zip(ctx.saved_tensors, inner.batched_saved))
                result = rule(inner, *[None if g is None else batched(g, now) for g in grads])
                found = list(result) if isinstance(result, tuple) else [result]
                return tuple(_gradient(g, batch, now, size) for g, batch in zip(found, has))

    Lifted.__name__ = Lifted.__qualname__ = function.__name__
    return Lifted


def _gradient(grad: Any, has_batch: bool, level: int, size: int) -> Any:
    """The gradient of an argument; what is shared by the examples gets the sum of theirs."""
    if grad is None:
        return None
    whole = _spread(grad, level, size)
    return whole if has_batch else whole.sum(0)
