"""``torch.utils.checkpoint``: activations computed again in backward instead of kept (Chen et al. 2016)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ..amp import autocast
from ..amp.switches import get_autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled
from ..autograd import Function, backward, enable_grad, no_grad
from ..autograd.engine import modified_error
from ..autograd.graph import saved_tensors_hooks
from ..tensor import Tensor, state
from ..tensor.generator import default_generator
from ._selective_checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)


class _RestoredRandomness:
    """Random numbers as they were when this object was made; afterwards the stream goes on as before."""

    def __init__(self, preserve: bool) -> None:
        self.at_start = default_generator.get_state() if preserve else None

    def __enter__(self) -> None:
        if self.at_start is not None:
            self.before = default_generator._state
            default_generator._state = self.at_start

    def __exit__(self, *exc: object) -> None:
        if self.at_start is not None:
            default_generator._state = self.before


class _RestoredAutocast:
    """Autocast as it was when this object was made."""

    def __init__(self) -> None:
        self.dtype = get_autocast_dtype("cpu")
        self.enabled = is_autocast_enabled("cpu")
        self.cache = is_autocast_cache_enabled()

    def again(self) -> autocast:
        """A context with these switches."""
        return autocast("cpu", dtype=self.dtype, enabled=self.enabled, cache_enabled=self.cache)


class CheckpointError(RuntimeError):
    """The recomputation did not do what the first computation did."""


class CheckpointFunction(Function):
    """Run without history; in backward, run again with history and differentiate that."""

    @staticmethod
    def forward(ctx: Any, function: Any, preserve: bool, *args: Any) -> Any:
        ctx.function = function
        ctx.randomness = _RestoredRandomness(preserve)
        ctx.autocast = _RestoredAutocast()
        ctx.args = [None if isinstance(a, Tensor) else a for a in args]
        ctx.positions = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.positions])
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if state.selective:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
                "`inputs` parameter to .backward(). To resolve this error, you can either set "
                "use_reentrant=False, or call .backward() without passing the `inputs` argument.")
        args = list(ctx.args)
        for i, saved in zip(ctx.positions, ctx.saved_tensors):
            args[i] = saved.detach().requires_grad_(saved.requires_grad)
        with enable_grad(), ctx.randomness, ctx.autocast.again():
            outputs = ctx.function(*args)
        several = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        pairs = [(o, g) for o, g in zip(several, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(a._grad if isinstance(a, Tensor) else None for a in args))


class _AllIsThere(Exception):
    """A recomputation has saved what backward needs."""


def _metadata(x: Tensor) -> dict[str, Any]:
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


class _Frame:
    """What one non-reentrant checkpoint saved, and how to compute it again."""

    def __init__(self, run: Callable[[], Any], args: tuple[Any, ...], preserve: bool, early_stop: bool,
                 checked: bool) -> None:
        self.run = run
        self.inputs = [(x, x._version) for x in args if isinstance(x, Tensor) and not x.is_inference()]
        self.randomness = _RestoredRandomness(preserve)
        self.autocast = _RestoredAutocast()
        self.early_stop = early_stop
        self.checked = checked
        self.count = 0
        self.metadata: list[Any] = []
        self.again: dict[int, Any] | None = None

    def pack(self, x: Tensor) -> int:
        """A number in place of a tensor."""
        self.metadata.append(_metadata(x))
        self.count += 1
        return self.count - 1

    def unpack(self, number: int) -> Any:
        """The tensor that the recomputation saves at this number."""
        if self.again is None or number not in self.again:
            self._recompute()
        assert self.again is not None
        return self.again.pop(number)

    def _recompute(self) -> None:
        for x, version in self.inputs:
            if x._version != version:   # it would be computed from other values
                raise modified_error(x, version, x._grad_fn, x._output_nr)
        kept: list[Any] = []

        def keep(x: Tensor) -> Tensor:
            kept.append(x.detach())
            if self.early_stop and len(kept) == self.count:
                raise _AllIsThere
            return x
        hooks, state.saved_hooks = state.saved_hooks, ()
        try:
            with (enable_grad(), self.randomness, self.autocast.again(),
                  saved_tensors_hooks(keep, lambda x: x)):
                self.run()
        except _AllIsThere:
            pass
        finally:
            state.saved_hooks = hooks
        if len(kept) != self.count:
            raise CheckpointError("torch.utils.checkpoint: A different number of tensors was saved during "
                                  "the original forward and recomputation.\nNumber of tensors saved during "
                                  f"forward: {self.count}\nNumber of tensors saved during recomputation: "
                                  f"{len(kept)}.")
        for i, (x, before) in enumerate(zip(kept, self.metadata)):
            now = _metadata(x)
            if self.checked and now != before:
                raise CheckpointError("torch.utils.checkpoint: Recomputed values for the following tensors "
                                      "have different metadata than during the forward pass.\ntensor at "
                                      f"position {i}:\nsaved metadata: {before}\nrecomputed metadata: {now}")
        self.again = dict(enumerate(kept))


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
               context_fn: Any = None, determinism_check: str = "default", debug: bool = False,
               early_stop: bool = True, preserve_rng_state: bool = True, **kwargs: Any) -> Any:
    """Call ``function`` keeping only its inputs; what backward needs is computed again then.

    >>> import flambeau as torch
    >>> from flambeau.utils.checkpoint import checkpoint
    >>> x = torch.ones(2, requires_grad=True)
    >>> checkpoint(lambda x: (x * x).exp(), x, use_reentrant=False).sum().backward(); x.grad
    tensor([5.4366, 5.4366])
    """
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
                      "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
                      "exception. use_reentrant=False is recommended, but if you need to preserve the "
                      "current default behavior, you can pass use_reentrant=True. Refer to docs for more "
                      "details on the differences between the two variants.",
                      stacklevel=2)
        use_reentrant = True
    if determinism_check not in ("default", "none"):
        raise ValueError("determinism_check should be one of ['default', 'none'], but got "
                         f"{determinism_check}")
    if use_reentrant:
        if context_fn is not None or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if not any(isinstance(a, Tensor) and a.requires_grad for a in args) and state.enabled:
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if not state.enabled:
        return function(*args, **kwargs)
    first, again = context_fn() if context_fn is not None else noop_context_fn()

    def run() -> Any:
        with again:
            return function(*args, **kwargs)
    stops = early_stop if _early_stop[0] is None else _early_stop[0]
    frame = _Frame(run, args, preserve_rng_state, stops, determinism_check == "default")
    with first, saved_tensors_hooks(frame.pack, frame.unpack):
        return function(*args, **kwargs)


def noop_context_fn() -> tuple[Any, Any]:
    """The default of ``context_fn``.

    >>> import flambeau as torch
    >>> forward, recomputation = torch.utils.checkpoint.noop_context_fn()
    >>> with forward:
    ...     pass
    """
    return nullcontext(), nullcontext()


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None,
                          **kwargs: Any) -> Any:
    """Run a sequence of modules in ``segments`` checkpointed pieces; the last piece is not checkpointed.

    >>> import flambeau as torch
    >>> from flambeau.utils.checkpoint import checkpoint_sequential
    >>> layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    >>> x = torch.ones(2, 3, requires_grad=True)
    >>> checkpoint_sequential(layers, 2, x, use_reentrant=False).sum().backward(); x.grad.shape
    torch.Size([2, 3])
    """
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be "
                      "passed explicitly. In version 2.9 we will raise an exception if use_reentrant is not "
                      "passed. use_reentrant=False is recommended, but if you need to preserve the current "
                      "default behavior, you can pass use_reentrant=True. Refer to docs for more details on "
                      "the differences between the two variants.", stacklevel=2)
        use_reentrant = True
    steps: list[Any] = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments
    end = -1
    for start in range(0, size * (segments - 1), size):
        end = start + size - 1
        input = checkpoint(_chain(steps[start:end + 1]), input, use_reentrant=use_reentrant, **kwargs)
    return _chain(steps[end + 1:])(input)


def _chain(steps: Iterable[Any]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return x
    return run


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same values without history; those that required a gradient require one of their own.

    >>> import flambeau as torch
    >>> x = torch.ones(1, requires_grad=True)
    >>> y, = torch.utils.checkpoint.detach_variable((x * 2,))
    >>> y.is_leaf, y.requires_grad
    (True, True)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: "
                           f"{type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn where no input requires a gradient."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The random generators of the devices, other than the CPU, that the arguments lie on: none.

    >>> import flambeau as torch
    >>> from flambeau.utils.checkpoint import get_device_states
    >>> get_device_states(torch.ones(2))
    ([], [])
    """
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Set the generators of devices other than the CPU."""
    if list(devices):
        raise RuntimeError("flambeau has no devices with random generators of their own yet")


class DefaultDeviceType:
    """The type of device that checkpoints without tensors are for."""

    _type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set it."""
        DefaultDeviceType._type = device

    @staticmethod
    def get_device_type() -> str:
        """The type of device: the CPU, where nothing else was set and present.

        >>> import flambeau as torch
        >>> from flambeau.utils.checkpoint import DefaultDeviceType
        >>> DefaultDeviceType.get_device_type()
        'cpu'
        """
        return "cpu" if DefaultDeviceType._type == "cuda" else DefaultDeviceType._type


class GraphExecGroup:
    """Checkpoints under one of these belong together, so that several backwards may share a recomputation.

    ``checkpoint`` recomputes once for each graph anyway.
    """

    def __enter__(self) -> GraphExecGroup:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


_early_stop: list[bool | None] = [None]


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether a recomputation may end once all is there that backward needs.

    >>> import flambeau as torch
    >>> from flambeau.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> x = torch.ones(2, requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     checkpoint(torch.sin, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([0.5403, 0.5403])
    """
    before, _early_stop[0] = _early_stop[0], enable
    try:
        yield
    finally:
        _early_stop[0] = before


_debug: list[bool | None] = [None]


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Whether checkpoints explain mismatches: their errors always name the tensor and both shapes."""
    before, _debug[0] = _debug[0], enabled
    try:
        yield
    finally:
        _debug[0] = before


__all__ = [
    "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType", "GraphExecGroup",
    "SAC_IGNORED_OPS", "SelectiveCheckpointContext", "check_backward_validity", "checkpoint",
    "checkpoint_sequential", "create_selective_checkpoint_contexts", "detach_variable", "get_device_states",
    "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states",
]
