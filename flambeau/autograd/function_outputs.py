"""The history that the outputs of a user's ``Function`` get."""

from __future__ import annotations

from typing import Any

from ..dtypes import FLOATING
from ..tensor import Tensor, state
from ..tensor.aliasing.inplace import check_writable
from ..tensor.aliasing.rewritten import rebase
from ..tensor.aliasing.views import OF_FUNCTION
from ..tensor.recording.history import call_stack, detached, edge, save
from ..tensor.tape import next_sequence


def with_history(ctx: Any, args: tuple[Any, ...], output: Any, wants_grad: bool) -> Any:
    """What forward returned, each output with its history if a gradient is wanted of any argument."""
    several = isinstance(output, tuple)
    outputs = list(output) if several else [output]
    if any(all(x is not d for x in outputs) for d in ctx._dirty):
        raise RuntimeError("Some elements marked as dirty during the forward method were not returned as "
                           "output. The inputs that are modified inplace must all be outputs of the "
                           "Function.")
    for x in ctx._dirty:    # written, maybe where nobody saw it
        (x._counter or x._storage).version += 1
    if state.anomaly:
        ctx.trace = call_stack()
    if not wants_grad:
        for i, x in enumerate(outputs):  # an input returned as it is becomes a new tensor
            if isinstance(x, Tensor) and any(x is a for a in args) and not any(x is d for d in ctx._dirty):
                outputs[i] = x.detach()
        return tuple(outputs) if several else outputs[0]
    ctx._argument_geometries = [x._geometry if isinstance(x, Tensor) else None for x in args]
    ctx.edges = tuple([edge(x) if wanted else None for x, wanted in zip(args, ctx._needs_input_grad)])
    ctx.sequence = next_sequence()      # after its edges, which may be made anew just now
    ctx._output_geometries = [x._geometry if isinstance(x, Tensor) else None for x in outputs]
    originals = list(outputs)
    for i, x in enumerate(outputs):
        outputs[i] = _output(ctx, x, i, args)
    _save(ctx, originals, outputs)
    return tuple(outputs) if several else outputs[0]


def _output(ctx: Any, x: Any, i: int, args: tuple[Any, ...]) -> Any:
    if not isinstance(x, Tensor) or any(x is n for n in ctx._non_differentiable) \
            or x.dtype.category < FLOATING:
        return x
    base = None
    dirty = any(x is d for d in ctx._dirty)
    if dirty:
        if x.is_leaf and x.requires_grad:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if x._base is not None:
            return _written_view(ctx, x, i)
    else:
        base = _viewed(x, args)
        if x is base or x.requires_grad or any(x is a for a in args):
            x = detached(x)
    x._grad_fn, x._output_nr, x._requires_grad = ctx, i, True
    if base is not None:    # a view whose history is the function's own
        x._base, x._view, x._base_version = base, None, (base._counter or base._storage).version
        x._multiple = len(ctx._output_geometries) > 1 or OF_FUNCTION
    return x


def _viewed(x: Tensor, args: tuple[Any, ...]) -> Tensor | None:
    """The base that an output shares with an argument, if it does."""
    base = x if x._base is None else x._base
    return base if any(isinstance(a, Tensor) and (a is base or a._base is base) for a in args) else None


def _written_view(ctx: Any, x: Tensor, i: int) -> Tensor:
    """Give the base of a view that forward wrote to the history of that."""
    check_writable(x)
    base = x._base
    before = edge(base) if base._requires_grad else None
    result = detached(x)
    result._grad_fn, result._output_nr, result._requires_grad = ctx, i, True
    rebase(x, result, before, "copy_")
    return x


def _save(ctx: Any, originals: list[Any], outputs: list[Any]) -> None:
    entries: list[Any] = []
    for position, x in enumerate(ctx._to_save):
        if x is None:
            entries.append(None)
            continue
        number = next((i for i, original in enumerate(originals) if original is x), None)
        if number is None or not outputs[number]._requires_grad:
            entries.append(save(x))
        else:
            ctx._is_output[position] = number
            entries.append(save(detached(outputs[number]), is_output=True))
    ctx._saved_entries = entries
    ctx._to_save = ()
