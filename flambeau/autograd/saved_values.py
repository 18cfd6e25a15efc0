"""What a recorded operation keeps for backward, as ``grad_fn._saved_self``, ``_saved_result``, ... show it.

Tools that draw graphs read these. ``_raw_saved_...`` is the place itself, on which hooks can be set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import GradFn, Tensor, state
from ..tensor.recording.history import detached, edge
from ..tensor.tape import SavedTensor
from .engine import FREED, gradients, kept

_SAVED, _RAW = "_saved_", "_raw_saved_"
# PyTorch's rules of these operators call their first operand input, those of all others self.
_WITH_INPUT = ("Convolution", "NativeBatchNorm", "NativeLayerNorm", "NativeGroupNorm")


def _places(fn: GradFn) -> dict[str, int]:
    """The position of everything kept, by the name that PyTorch's rule has for it."""
    if fn.plan is None or fn.signature is None:
        return {}
    operator = fn.signature.operator
    found = {}
    for position in fn.plan.kept:
        if position < 0:
            name = "result" if fn.signature.single else f"result{~position}"
        else:
            name = operator.parameters[position]
            if name == "input" and not fn.name().startswith(_WITH_INPUT):
                name = "self"
        found[name] = position
    return found


class RawSaved:
    """The place of one saved tensor."""

    def __init__(self, fn: GradFn, position: int) -> None:
        self._fn = fn
        self._at = 2 * fn.plan.kept.index(position)
        self._position = position

    def register_hooks(self, pack_hook: Callable[[Tensor], Any],
                       unpack_hook: Callable[[Any], Tensor]) -> None:
        """Keep ``pack_hook(tensor)`` from now on, and give backward ``unpack_hook`` of it."""
        fn, at = self._fn, self._at
        if fn.saved is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values "
                "of the graph are freed when you call .backward() or autograd.grad(). Specify "
                "retain_graph=True if you need to backward through the graph a second time or if you need to "
                "access saved variables after calling backward.")
        have = fn.saved[at]
        if isinstance(have, SavedTensor) and have.unpack is not None:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set. "
                               "Hint: only one pair of hooks is allowed at a time.")
        before, state.enabled = state.enabled, False
        try:
            found, is_output = kept(fn, self._position), self._position < 0
            to = None if is_output or not found.requires_grad else edge(found)
            packed = SavedTensor(pack_hook(detached(found)), -1, unpack_hook, is_output, edge=to)
        finally:
            state.enabled = before
        fn.saved = (*fn.saved[:at], packed, *fn.saved[at + 1:])

    def __repr__(self) -> str:
        return f"<torch._C._autograd.SavedTensor object at {id(self):#x}>"


def _saved_value(fn: GradFn, name: str) -> Any:
    """``fn._saved_<operand>`` and ``fn._raw_saved_<operand>``."""
    prefix = _SAVED if name.startswith(_SAVED) else _RAW
    position = _places(fn).get(name.removeprefix(prefix)) if name.startswith(prefix) else None
    if position is None:
        raise AttributeError(f"'{type(fn).__name__}' object has no attribute '{name}'")
    if prefix is _RAW:
        return RawSaved(fn, position)
    if fn.saved is None:
        raise RuntimeError(FREED)
    return kept(fn, position)


def _names(fn: GradFn) -> list[str]:
    return [*object.__dir__(fn), *(prefix + name for name in _places(fn) for prefix in (_SAVED, _RAW))]


def _call(fn: GradFn, *grads: Any) -> Any:
    """The gradients of the operation's operands for those of its results; one alone without a tuple."""
    found = gradients(fn, list(grads))
    return found[0] if len(found) == 1 else tuple(found)


T: Any = GradFn
T.__getattr__ = _saved_value
T.__dir__ = _names
T.__call__ = _call
