"""Views: another geometry on the same storage. Nothing is computed.

Note: views and autograd. A view knows its base and how to be made from it again (``_view``: view operators
and their arguments; of a row of a table its number, of some rows their slice; of a view of a view a list of
how that is made and what is done to it). When base or view is written in place, the base gets new history
(``inplace.py``), and a view whose ``_base_version`` is not the base's version makes its grad_fn anew from the
base.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from ...graph.geometry import Geometry
from ...graph.node import Signature, plain
from ...graph.operator import Operator
from ...graph.recent import Recent
from ..batching import BatchedTensor, rules
from ..recording.history import attach_one
from ..recording.record import aliasing
from ..tape import INFERENCE, hooks_of, state
from ..tensor import Tensor

OF_FUNCTION = "function"     # ``_multiple`` of what a custom function returns of its arguments' memory

_new = object.__new__
signatures: Recent[Any, Signature] = Recent(1 << 13)


_moving: set[Operator] = set()


def view_operator(name: str, rule: Callable[..., Geometry], grad_name: str | None = None,
                  moves: bool = False) -> Operator:
    """An operator that is only a geometry: ``rule(geometry, *attributes)`` gives the view's, or raises.

    ``moves``: where the tensor begins later by so many elements, so does the view, and nothing else differs.
    """
    made = Operator(name, rule, lambda geometries, attributes: rule(geometries[0], *attributes), ("input",),
                    kind="view", grad_name=grad_name)
    if moves:
        _moving.add(made)
    return made


def _sign(operator: Operator, geometry: Geometry, attributes: tuple[Any, ...]) -> Signature:
    attributes = plain(attributes)
    output = operator.infer((geometry,), attributes)
    assert isinstance(output, Geometry)
    return signatures.keep((operator, attributes, geometry),
                            Signature(operator, attributes, (geometry,), (output,), True, None))


def view(operator: Operator, x: Tensor, attributes: tuple[Any, ...] = ()) -> Tensor:
    """The view of x that ``operator`` describes, sharing its storage, version counter and history."""
    key = (operator, attributes, x._geometry)
    signature = signatures.get(key)
    if signature is None:
        if x.__class__ is BatchedTensor:
            return rules.view(operator, x, attributes)
        if state.at_once and operator in _moving and (found := moved(operator, x, attributes)) is not None:
            return found
        signature = signatures.recall(key) or _sign(operator, x._geometry, attributes)
    out = _new(Tensor)
    out._storage = storage = x._storage
    out._geometry = signature.outputs[0]
    base = x._base
    counter = x._counter
    if base is None:
        out._base = x
    else:
        out._base = base
        if x._multiple:
            out._multiple = x._multiple
    out._requires_grad = False
    out._grad_fn = out._counter = out._view = None
    if counter is None:
        out._base_version = storage.version
    elif counter is INFERENCE:
        out._counter = counter
        out._base_version = 0       # its writes are not counted
    else:
        out._counter = INFERENCE if counter.inference else counter
        out._base_version = counter.version
    if state.enabled:
        if base is None:
            out._view = ((operator, attributes),)
        elif x._view is not None:
            out._view = [x._view, ((operator, attributes),)]
        if x._requires_grad or (base is not None and base._requires_grad and counter is not INFERENCE):
            attach_one(signature, x, out)
    return out


aliasing.update(view=view, signatures=signatures)


def is_plain(x: Tensor) -> bool:
    """Whether a view of x has no history, and versions are its storage's."""
    return x._counter is None and has_no_history(x)


def has_no_history(x: Tensor) -> bool:
    """Whether a view of x has no history, and versions are its storage's or not counted."""
    base, counter = x._base, x._counter
    return x.__class__ is Tensor and (counter is None or counter is INFERENCE) \
        and not (x._multiple or x._requires_grad or (base is not None and base._requires_grad))


def moved(operator: Operator, x: Tensor, attributes: tuple[Any, ...]) -> Tensor | None:
    """The view of a sample, of which there are others elsewhere: theirs are found as one. None where x has a
    history. (Note: hot functions, in ``recording/record.py``)
    """
    base, g = x._base, x._geometry
    if x._counter is not None or x._requires_grad or x.__class__ is not Tensor \
            or (base is not None and (base._requires_grad or x._multiple)):
        return None
    key = operator, attributes, g.family
    signature = signatures.get(key)
    if signature is None:
        first = g.family[0]
        signature = signatures.recall((operator, attributes, first)) or _sign(operator, first, attributes)
        signatures.keep(key, signature)
        if g.family.passes:
            signature.outputs[0].family.pass_by()
    found = signature.outputs[0]
    out = _new(Tensor)
    out._storage = storage = x._storage
    out._geometry = found.family[found.offset + g.offset]
    out._base = x if base is None else base
    out._requires_grad = False
    out._grad_fn = out._counter = out._view = None
    out._base_version = storage.version
    if state.enabled:
        if base is None:
            out._view = ((operator, attributes),)
        elif x._view is not None:
            out._view = [x._view, ((operator, attributes),)]
    return out


def stretch(x: Tensor, key: slice) -> Tensor | None:
    """Some positions of the first dimension, as ``view`` makes them; nothing is remembered. None where x has
    a history.
    """
    if not has_no_history(x):
        return None
    base, g, start = x._base, x._geometry, key.start
    out = _new(Tensor)
    out._storage = storage = x._storage
    out._geometry = g.family.stretch(key.stop - start)[g.offset + start * g.strides[0]]
    out._base = x if base is None else base
    out._requires_grad = False
    out._grad_fn = out._view = None
    out._counter = x._counter
    out._base_version = storage.version
    if state.enabled:
        if base is None:
            out._view = key
        elif x._view is not None:
            out._view = [x._view, (_of_slice(key),)]
    return out


def _of_slice(key: slice) -> tuple[Operator, tuple[Any, ...]]:
    return _makes_rows[1], (0, key.start, key.stop, 1)


def part(x: Tensor, geometry: Geometry, how: Any) -> Tensor:
    """A view of a plain tensor; ``how``: the operators that make it, and their arguments, or who gives it."""
    base = x._base
    out = _new(Tensor)
    out._storage = storage = x._storage
    out._geometry = geometry
    out._base = x if base is None else base
    out._requires_grad = False
    out._grad_fn = out._view = None
    out._counter = x._counter
    out._base_version = storage.version
    if state.enabled:
        if base is None:
            out._view = how
        elif x._view is not None:
            out._view = [x._view, how]
    return out


def seen(x: Tensor, geometry: Geometry) -> Tensor:
    """x's storage read in another way, for a derivative that nobody records: a view that knows of no base."""
    out = _new(Tensor)
    out._storage = x._storage
    out._geometry = geometry
    out._requires_grad = False
    out._grad_fn = out._counter = out._base = None
    return out


def makes_rows(operator: Operator) -> Operator:
    """Let this be the operator that makes rows: ``operator(x, dim, position)``; the next one, that which
    makes a stretch of them: ``operator(x, dim, start, stop, step)``.
    """
    _makes_rows.append(operator)
    return operator


_makes_rows: list[Operator] = []


def row(x: Tensor, position: int) -> Tensor:
    """One position of the first dimension, as ``view`` makes it; mostly bare, and nothing is remembered."""
    base = x._base
    counter = x._counter
    if x._requires_grad or (counter is not None and counter is not INFERENCE) or x.__class__ is not Tensor \
            or (base is not None and (base._requires_grad or x._multiple)):
        return view(_makes_rows[0], x, (0, position))
    g = x._geometry
    family, offset, found = g.family, g.offset, None
    if not offset and family.line is not None:
        found = family.line[position]
    elif (rows := family.rows) is not None and (offset or rows.passes):
        found = rows[offset + position * g.strides[0]]
    if found is None:
        found = family.row(offset, position)
    out = _new(Tensor)
    out._storage = storage = x._storage
    out._geometry = found
    out._base = x if base is None else base
    out._requires_grad = False
    out._grad_fn = out._view = None
    out._counter = counter
    out._base_version = storage.version
    if state.enabled:
        if base is None:
            out._view = position
        elif x._view is not None:
            out._view = [x._view, ((_makes_rows[0], (0, position)),)]
    return out


def chain_of(x: Tensor) -> Any:
    """How x is made from its base again: view operators and their arguments. None where that is not known."""
    found = x._view
    parts: list[Any] = []       # last one first
    while found.__class__ is list:
        found, how = found
        parts.append(how() if how.__class__ is partial else how)
    if found.__class__ is int:
        found = ((_makes_rows[0], (0, found)),)
    elif found.__class__ is slice:
        found = (_of_slice(found),)
    elif found.__class__ is partial:
        found = found()
    return found if not parts else tuple([one for how in (found, *reversed(parts)) for one in how])


def makes_any(operator: Operator) -> Operator:
    """Let this be the operator that makes any view of a storage: ``operator(x, shape, strides, offset)``."""
    _makes_any.append(operator)
    return operator


_makes_any: list[Operator] = []


def making_of(x: Tensor) -> Any:
    """How x is made from what its base is now, which may have got other dimensions in place since."""
    chain = chain_of(x)
    found = x._base._geometry
    try:
        for operator, attributes in chain:
            if operator is _makes_any[0]:       # whatever was read before: the storage
                found = None
                break
            signature = signatures.get((operator, attributes, found)) or _sign(operator, found, attributes)
            found = signature.outputs[0]
    except (IndexError, RuntimeError):
        found = None
    g = x._geometry
    if found is not None and (found.shape, found.strides, found.offset) == (g.shape, g.strides, g.offset):
        return chain
    return ((_makes_any[0], (g.shape, g.strides, g.offset)),)


def replay(base: Tensor, chain: tuple[tuple[Operator, tuple[Any, ...]], ...]) -> Tensor:
    """Apply a view's operators to another tensor of the base's shape."""
    for operator, attributes in chain:
        turning = turned_views.get(operator)
        base = view(operator, base, attributes) if turning is None else turning(base)
    return base


turned_views: dict[Operator, Callable[[Tensor], Tensor]] = {}   # set in ``turned.py``


def ambiguous_write(x: Tensor, what: str) -> RuntimeError:
    """PyTorch's error for a view whose history cannot be made anew: made unrecorded, or with others."""
    if x._grad_fn is None:
        origin, what = "A view was created in no_grad mode and ", f"{what} with grad mode enabled"
    else:
        maker = re.sub(r"Backward[0-9]*$", "", x._grad_fn.name())
        origin = f"Output {x._output_nr} of {maker} is a view and "
    if x._multiple is OF_FUNCTION:
        return RuntimeError(
            f"{origin}{what}. This view was created inside a custom Function (or because an input was "
            "returned as-is) and the autograd logic to handle view+inplace would override the custom "
            "backward associated with the custom Function, leading to incorrect gradients. This behavior is "
            "forbidden. You can fix this by cloning the output of the custom Function.")
    if x._multiple:
        return RuntimeError(
            f"{origin}{what}. This view is the output of a function that returns multiple views. Such "
            "functions do not allow the output views to be modified inplace. You should replace the inplace "
            "operation by an out-of-place one.")
    return RuntimeError(
        f"{origin}{what}. Given that this use case is ambiguous and error-prone, it is forbidden. You can "
        "clarify your code by moving both the view and the inplace either both inside the no_grad block (if "
        "you don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked).")


def refresh_grad_fn(x: Tensor) -> None:
    """Make the history of a view anew after its base was written (Note: views and autograd)."""
    base = x._base
    if not base._requires_grad and x._grad_fn is None:
        x._base_version = (base._counter or base._storage).version
        return
    if x._view is None or x._multiple:
        if x._counter is INFERENCE:
            return
        raise ambiguous_write(x, "its base or another view of its base has been modified inplace")
    x._base_version = (base._counter or base._storage).version
    if not base._requires_grad:     # it was detached in place: the view's history ends at it
        base = seen(base, base._geometry)
        base._requires_grad = True
    before, state.enabled = state.enabled, True
    try:
        again = replay(base, making_of(x))
    finally:
        state.enabled = before
    if x._retains_grad and x._grad_fn is not None and x._grad_fn.hooks is not None:
        retained = x._grad_fn.hooks.retained.pop(x._output_nr, None)
        if retained is not None:
            hooks_of(again._grad_fn).retained[again._output_nr] = retained
    x._grad_fn, x._output_nr, x._requires_grad = again._grad_fn, again._output_nr, True
