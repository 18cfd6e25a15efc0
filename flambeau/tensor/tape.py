"""The tape: what recording remembers for deriving gradients. Walking it is ``autograd.engine``'s work.

Note: edges. ``GradFn.edges`` has one entry per operand: None (no gradient wanted), a leaf tensor, the GradFn
that made the operand, or ``(GradFn, output number)`` where that number is not 0. A GradFn is always younger
than what its edges lead to, so descending ``sequence`` is an order in which to run backward.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import count
from typing import Any

from ..graph.storage import VersionCounter
from .handle import RemovableHandle, hooked
from .leaves import AccumulateGrad


class GradState(threading.local):
    """Per-thread switches of recording."""

    enabled = True
    inference = False
    check_nan = True
    at_once: Any = None     # the block in which it makes samples (Note: computing at once)
    # While a level of forward differentiation is open everything is recorded (Note: forward mode): whether it
    # is, and whether the program has switched gradients off meanwhile.
    forward = False
    quiet = False
    # Where backward was called: the line of everything it records.
    site: Any = None
    # How many of torch.func's derivatives are being computed, one inside the other.
    transforms = 0
    # Whether gradients are asked for to be differentiated by the outputs' own, for forward derivatives.
    pushing = False
    # Where the backward pass that runs has started (Note: edges): one tuple of its own for each pass.
    starts: Any = None
    # Whether it was asked for certain gradients only, as ``autograd.grad`` asks.
    selective = False
    # Whether there are saved_hooks or anomaly mode is on: one question for the hot path.
    watched = False
    _saved_hooks: tuple[Any, ...] = ()
    _anomaly = False

    @property
    def saved_hooks(self) -> tuple[Any, ...]:
        """(pack, unpack) of saved_tensors_hooks in force, innermost last."""
        return self._saved_hooks

    @saved_hooks.setter
    def saved_hooks(self, hooks: tuple[Any, ...]) -> None:
        self._saved_hooks = hooks
        self.watched = bool(hooks) or self._anomaly

    @property
    def anomaly(self) -> bool:
        """Whether anomaly mode is on."""
        return self._anomaly

    @anomaly.setter
    def anomaly(self, wanted: bool) -> None:
        self._anomaly = wanted
        self.watched = wanted or bool(self._saved_hooks)


state = GradState()
# The blocks of inference mode that are open, in any thread: while there are none, no thread need ask itself.
inferring: list[Any] = []


class InferenceCounter:
    """The version counter of tensors made in inference mode: none.

    Recording asks for the version of what it saves for backward, so this is where it learns that an operand
    may not be saved; it costs nothing where there are no such tensors.
    """

    __slots__ = ()

    inference = True

    @property
    def version(self) -> int:
        """0."""
        return 0

    @version.setter
    def version(self, value: int) -> None:
        pass

    @property
    def to_save(self) -> int:
        """0; raises where a tensor is saved for backward."""
        return _unsaved()


class DetachedInferenceCounter(VersionCounter):
    """That of what is detached from such a tensor outside of the mode: it may be written, and not saved."""

    __slots__ = ()

    inference = True

    @property
    def to_save(self) -> int:
        return _unsaved()


def adopt_inference(handle: Any) -> None:
    """Let a new handle on an inference tensor's storage be one, which may be written outside the mode."""
    handle._counter = INFERENCE if state.inference else DetachedInferenceCounter()


def _unsaved() -> int:
    if state.enabled:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference "
            "mode in computation tracked by autograd. To work around this, you can make a clone to get a "
            "normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
            "`torch.inference_mode()`.")
    return 0


INFERENCE = InferenceCounter()
next_sequence = count().__next__


PATIENCE = 4            # times that rules are run in the first pass before a template pays
PATIENCE_WITH_VIEWS = 16    # whose rules record nothing, or little


class TapeKind:
    """What the plans of signatures have in common that differ in their shapes alone.

    ``kept``, ``frees``: as in ``TapePlan``. ``patience``: how often rules run in the first backward pass that
    comes by before a template is made, which belongs to ``autograd.templates``.
    """

    __slots__ = ("kept", "frees", "patience")

    def __init__(self, kept: tuple[int, ...], frees: bool, patience: int) -> None:
        self.kept = kept
        self.frees = frees
        self.patience = patience


class TapePlan:
    """What the GradFns of one signature have in common that want gradients of the same operands.

    ``kept`` is what their rules keep: positions of operands, and of results as ``~i``. ``single``: there is
    one result. ``results``: those that have a history, of several. ``frees``: backward lets go of what was
    kept, and goes through once. ``kind``: what it has in common with those of other shapes. ``met`` (the
    number of the first backward pass that came by), ``times`` (that rules ran in it), ``templates``, ``room``
    (for so many more) and ``turn`` belong to ``autograd.templates``.
    """

    __slots__ = ("needs", "kept", "single", "grad_class", "results", "frees", "kind", "met", "times",
                 "templates", "room", "turn")

    def __init__(self, needs: tuple[bool, ...], kind: TapeKind, single: bool, grad_class: type[GradFn],
                 results: tuple[int, ...] = (0,)) -> None:
        self.needs = needs
        self.kind = kind
        self.kept = kind.kept
        self.single = single
        self.grad_class = grad_class
        self.results = results
        self.frees = kind.frees
        self.met = self.times = self.turn = 0
        self.templates = _NONE_YET
        self.room = _ROOM

    def keep_template(self, key: Any, template: Any) -> None:
        """Remember a template."""
        if not self.templates:      # one of its own, which plans of shapes that come once do without
            self.templates = {}
        self.templates[key] = template

    def forget_templates(self, turn: int) -> None:
        """Make room for others."""
        self.templates = _NONE_YET
        self.room = _ROOM
        self.turn = turn


_NONE_YET: dict[Any, Any] = {}
_ROOM = 80      # templates of a plan


class GradFn:
    """One differentiable operation that was recorded (PyTorch's ``grad_fn``)."""

    __slots__ = ("signature", "plan", "numbers", "edges", "saved", "sequence", "hooks", "trace", "_metadata",
                 "__weakref__")

    signature: Any  # the operator's Signature; None for a node that computes gradients in ``run``
    plan: Any       # its TapePlan; None for a node without a signature
    numbers: Any    # Python numbers among the operands, by position
    edges: tuple[Any, ...]
    # What the plan keeps, each with its version, in one flat tuple: an operand's tensor (None for a number),
    # an output's storage, or a SavedTensor where there is more to say. Empty where no tensor is kept, None
    # once freed.
    saved: Any
    sequence: int

    def __init__(self) -> None:
        self.sequence = next_sequence()
        self.hooks: Any = None
        self.trace: Any = None

    def name(self) -> str:
        """The name that ``repr`` of a tensor shows, such as ``AddBackward0``.

        >>> import flambeau as torch
        >>> (torch.ones(1, requires_grad=True) * 2).grad_fn.name()
        'MulBackward0'
        """
        return type(self).__name__

    @property
    def needs(self) -> tuple[bool, ...]:
        """Which operands want a gradient."""
        return () if self.plan is None else self.plan.needs

    @property
    def attributes(self) -> tuple[Any, ...]:
        """The structural arguments of the operator."""
        return self.signature.attributes

    def operand_geometry(self, i: int) -> Any:
        """Geometry of operand i (the type, for a Python number)."""
        return self.signature.geometries[i]

    @property
    def output_geometries(self) -> tuple[Any, ...]:
        return self.signature.outputs

    output_count = 1  # of nodes that have no signature

    def run(self, grads: tuple[Any, ...]) -> Sequence[Any]:
        """The operands' gradients; nodes that have no signature say how."""
        raise RuntimeError(f"{self.name()} is differentiated by the rules of its operator")

    def release(self) -> None:
        """Forget what a node without a signature saved."""

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary for users' notes on this node.

        >>> import flambeau as torch
        >>> fn = (torch.ones(1, requires_grad=True) * 2).grad_fn
        >>> fn.metadata["layer"] = 3; fn.metadata
        {'layer': 3}
        """
        try:
            return self._metadata
        except AttributeError:
            self._metadata: dict[str, Any] = {}
            return self._metadata

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """What the edges lead to: pairs of a function (``AccumulateGrad`` for leaves) and output number.

        >>> import flambeau as torch
        >>> x = torch.ones(1, requires_grad=True)
        >>> [fn.name() for fn, _ in (x.exp() * x).grad_fn.next_functions]
        ['ExpBackward0', 'torch::autograd::AccumulateGrad']
        """
        return tuple([next_function(self.edges[i]) for i in self.shown])

    @property
    def shown(self) -> Sequence[int]:
        """The operands that users see, in their order: those that the operator has gradient rules for."""
        count = len(self.edges)
        if self.signature is None:
            return range(count)
        return self.signature.operator.differentiable_operands(count)

    def register_hook(self, fn: Any) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after this node ran; it may return other gradients.

        >>> import flambeau as torch
        >>> x = torch.ones(1, requires_grad=True)
        >>> y = x * 2
        >>> handle = y.grad_fn.register_hook(lambda inputs, outputs: print(inputs[0], outputs[0]))
        >>> y.backward()
        tensor([2.]) tensor([1.])
        """
        return hooked(hooks_of(self).post, fn)

    def register_prehook(self, fn: Any) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before this node runs; it may return other gradients.

        >>> import flambeau as torch
        >>> x = torch.ones(1, requires_grad=True)
        >>> y = x * 2
        >>> handle = y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
        >>> y.backward(); x.grad
        tensor([20.])
        """
        return hooked(hooks_of(self).pre, fn)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


def next_function(target: Any) -> tuple[Any, int]:
    """The node, and which of its outputs, that an edge leads to, as ``grad_fn.next_functions`` has them."""
    if target is None:
        return None, 0
    if target.__class__ is tuple:
        return target
    if isinstance(target, GradFn):
        return target, 0
    if target._accumulate is None:
        target._accumulate = AccumulateGrad(target)
    return target._accumulate, 0


def hooks_of(fn: GradFn) -> Hooks:
    """The hooks of a node, made on first use."""
    if fn.hooks is None:
        fn.hooks = Hooks()
    found: Hooks = fn.hooks
    return found


def grad_class(name: str) -> type[GradFn]:
    """The class of one operator's GradFns: PyTorch's users read its name."""
    return type(name, (GradFn,), {"__slots__": (), "__module__": "torch.autograd"})


class Hooks:
    """Hooks of one GradFn: on the gradients of its outputs (``pre``) and on its results (``post``)."""

    __slots__ = ("tensor", "pre", "post", "retained")

    def __init__(self) -> None:
        self.tensor: dict[int, Any] = {}   # output number -> ordered dict of hooks on that tensor's gradient
        self.pre: OrderedDict[int, Any] = OrderedDict()   # hook id -> hook(grad_outputs)
        self.post: OrderedDict[int, Any] = OrderedDict()  # hook id -> hook(grad_inputs, grad_outputs)
        # output number -> weak reference to a tensor that retains its gradient
        self.retained: dict[int, Any] = {}


class SavedTensor:
    """A tensor kept for backward, with the version it had (Note: values and versions).

    Where hooks made something else of it, ``source`` is a weak reference to it, and ``edge`` where its
    gradient goes.
    """

    __slots__ = ("tensor", "version", "unpack", "is_output", "source", "edge")

    def __init__(self, tensor: Any, version: int, unpack: Any = None, is_output: bool = False,
                 source: Any = None, edge: Any = None) -> None:
        self.tensor = tensor
        self.edge = edge
        self.source = source
        self.version = version
        self.unpack = unpack
        self.is_output = is_output
