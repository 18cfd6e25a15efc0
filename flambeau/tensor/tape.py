"""The tape: what recording remembers so that gradients can be derived. Walking it is ``autograd.engine``'s work.

Note: edges. ``GradFn.edges`` has one entry per operand: None (no gradient wanted), a leaf tensor, the GradFn that made
the operand, or ``(GradFn, output number)`` where that number is not 0. A GradFn is always younger than what its edges
lead to, so descending ``sequence`` is an order in which to run backward.
"""

from __future__ import annotations

import threading
from itertools import count
from typing import Any


class GradState(threading.local):
    """Per-thread switches of recording."""

    enabled = True
    inference = False
    # (pack, unpack) of saved_tensors_hooks in force, innermost last.
    saved_hooks: tuple[Any, ...] = ()
    anomaly = False


state = GradState()
next_sequence = count().__next__


class GradFn:
    """One differentiable operation that was recorded (PyTorch's ``grad_fn``)."""

    __slots__ = ("signature", "numbers", "edges", "saved", "needs", "sequence", "hooks", "trace", "__weakref__",
                 "_metadata")

    def __init__(self) -> None:
        self.sequence = next_sequence()
        self.hooks: Any = None
        self.trace: Any = None

    def name(self) -> str:
        """The name that ``repr`` of a tensor shows, such as ``AddBackward0``."""
        return type(self).__name__

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

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary for users' notes on this node."""
        try:
            return self._metadata
        except AttributeError:
            self._metadata: dict[str, Any] = {}
            return self._metadata

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


def grad_class(name: str) -> type[GradFn]:
    """The class of one operator's GradFns: PyTorch's users read its name."""
    return type(name, (GradFn,), {"__slots__": (), "__module__": "torch.autograd"})


class Hooks:
    """Hooks of one GradFn: on the gradients of its outputs (``pre``) and on its results (``post``)."""

    __slots__ = ("tensor", "pre", "post", "retained")

    def __init__(self) -> None:
        self.tensor: dict[int, Any] = {}   # output number -> ordered dict of hooks on that tensor's gradient
        self.pre: dict[int, Any] = {}      # hook id -> hook(grad_outputs)
        self.post: dict[int, Any] = {}     # hook id -> hook(grad_inputs, grad_outputs)
        self.retained: dict[int, Any] = {}  # output number -> weak reference to a tensor that retains its gradient


class SavedTensor:
    """A tensor kept for backward, with the version it had (Note: values and versions)."""

    __slots__ = ("tensor", "version", "unpack", "is_output")

    def __init__(self, tensor: Any, version: int, unpack: Any = None, is_output: bool = False) -> None:
        self.tensor = tensor
        self.version = version
        self.unpack = unpack
        self.is_output = is_output
