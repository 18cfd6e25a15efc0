"""``torch.autograd.graph``: hooks on saved tensors, and the classes of the tape."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..tensor import GradFn as Node
from ..tensor import Tensor, state
from ..tensor.handle import RemovableHandle
from ..tensor.leaves import leaf_hooks_of
from ..tensor.recording.history import edge
from ..tensor.tape import hooks_of, next_function
from .starting import GradientEdge


class saved_tensors_hooks:
    """Transform what is saved for backward: ``pack(tensor) -> anything``, ``unpack(anything) -> tensor``.

    >>> import flambeau as torch
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * 10):
    ...     x = torch.tensor(2., requires_grad=True); y = x * x
    >>> y.backward(); x.grad
    tensor(40.)
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if disabled_message:
            raise RuntimeError(disabled_message[-1])
        state.saved_hooks = (*state.saved_hooks, (self.pack_hook, self.unpack_hook))

    def __exit__(self, *exc: object) -> None:
        state.saved_hooks = state.saved_hooks[:-1]


disabled_message: list[str] = []


class disable_saved_tensors_hooks:
    """Refuse ``saved_tensors_hooks`` inside, with a message.

    >>> import flambeau as torch
    >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
    ...         pass
    Traceback (most recent call last):
        ...
    RuntimeError: not here
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        if state.saved_hooks:
            raise RuntimeError(self.error_message)
        disabled_message.append(self.error_message)

    def __exit__(self, *exc: object) -> None:
        disabled_message.pop()


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in the CPU's memory; on the CPU that is where they are.

    >>> import flambeau as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward(); x.grad
    tensor(6.)
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda x: (x.device, x.cpu()), lambda packed: packed[1].to(packed[0]))


class allow_mutation_on_saved_tensors:
    """Let saved tensors be written in place: backward sees the values at the time of saving.

    >>> import flambeau as torch
    >>> w = torch.tensor([2.0], requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = w.clone()
    ...     y = x * x
    ...     _ = x.zero_()
    ...     y.sum().backward()
    >>> w.grad
    tensor([4.])
    """

    def __enter__(self) -> Any:
        state.saved_hooks = (*state.saved_hooks, (lambda x: x.detach().clone(), lambda x: x))
        return self

    def __exit__(self, *exc: object) -> None:
        state.saved_hooks = state.saved_hooks[:-1]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge along which the gradient of a tensor arrives.

    >>> import flambeau as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> y = x * 2
    >>> edge = torch.autograd.graph.get_gradient_edge(y)
    >>> edge.node.name(), edge.output_nr
    ('MulBackward0', 0)
    >>> torch.autograd.grad(y.sum(), edge)
    (tensor([1., 1.]),)
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require "
                           "gradients")
    return GradientEdge(*next_function(edge(tensor)))


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., None], *,
                             mode: str = "all") -> RemovableHandle:
    """Call ``fn`` when the gradients of all tensors that a pass reaches (or of ``"any"`` one) are there.

    >>> import flambeau as torch
    >>> a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: print(grads))
    >>> (2 * a + 3 * b).sum().backward()
    [tensor([2.]), tensor([3.])]
    >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    hook = _MultiHook(tensors, fn, mode)
    tables = [_hook_table(x) for x in tensors]
    handle = RemovableHandle(OrderedDict(), extra_dict=tables)
    for i, table in enumerate(tables):
        table[handle.id] = functools.partial(hook, i)
    return handle


class _MultiHook:
    """Counts the gradients that arrive in one backward pass."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[..., None], mode: str) -> None:
        # A leaf by itself, another tensor by its node: what an edge leads to.
        self.places = [x.grad_fn or x for x in tensors]
        self.fn = fn
        self.mode = mode
        self.starts: Any = None     # of the pass that is counted

    def __call__(self, i: int, grad: Tensor) -> None:
        if self.starts is not state.starts:
            self.starts = state.starts
            self.grads: list[Any] = [None] * len(self.places)
            self.left = _count_reached(self.starts, self.places) if self.mode == "all" else 1
        self.grads[i] = grad
        self.left -= 1
        if self.left == 0:
            self.fn(self.grads if self.mode == "all" else grad)


def _count_reached(starts: Sequence[Any], places: Sequence[Any]) -> int:
    """How many of the nodes and leaves a backward pass from ``starts`` comes to."""
    found = {*map(id, reached(starts))}
    return sum(id(place) in found for place in places)


def reached(starts: Iterable[Any]) -> Iterator[Any]:
    """The nodes and leaves that a backward pass from some edges comes to, each once."""
    pending, found = [*starts], set[int]()
    while pending:
        target = pending.pop()
        target = target[0] if target.__class__ is tuple else target
        if target is None or id(target) in found:
            continue
        found.add(id(target))
        yield target
        if isinstance(target, Node):
            pending += target.edges


def _hook_table(x: Tensor) -> OrderedDict[int, Any]:
    """Where the hooks on the gradient of a tensor are."""
    function = x.grad_fn
    if function is None:
        return leaf_hooks_of(x).before
    table: OrderedDict[int, Any] = hooks_of(function).tensor.setdefault(x.output_nr, OrderedDict())
    return table


def increment_version(tensor: Any) -> None:
    """Count an in-place write that autograd did not see.

    >>> import flambeau as torch
    >>> x = torch.ones(2)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for x in [tensor] if isinstance(tensor, Tensor) else tensor:
        (x._counter or x._storage).version += 1


__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
           "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu",
           "saved_tensors_hooks"]
