"""``torch.utils._python_dispatch``: modes that see every operator, and classes that can be taken apart.

Note: dispatch modes. A mode hears of public calls by the operators that PyTorch's dispatcher knows (Note:
composed functions), and computes each by calling it, or gives something else in its place. What the library
records by itself, in backward, in an optimizer's update and inside functions composed of others, comes to it
as it is recorded: under PyTorch's name where there is one operator for it, else as ``flambeau::name``, with
the operands and then the attributes of this library's operator. Where a mode gives something else, gradients
follow how that was computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from ..library.aten import packet
from ..library.table import Operator, Overload
from ..tensor import Tensor, overrides
from ..tensor.recording.record import intercept, interceptors, record
from ._dispatch_calls import REWRITTEN, aten_operator, has_operator


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class of tensors tells its parts (``__tensor_flatten__``) and how to put them together."""
    return issubclass(t, Tensor) and t is not Tensor and hasattr(t, "__tensor_flatten__") \
        and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether something is an instance of such a class.

    >>> import flambeau as torch
    >>> from flambeau.utils._python_dispatch import is_traceable_wrapper_subclass
    >>> is_traceable_wrapper_subclass(torch.ones(2))
    False
    """
    return is_traceable_wrapper_subclass_type(type(t))


class Recorded(Overload):
    """An operator of this library as it is recorded; in tables it stands for the dispatcher's of its name."""

    def __init__(self, own: Any, attributes: int, enough: int | None) -> None:
        found = packet(own.name)
        super().__init__(Operator(f"flambeau::{own.name}") if found is None else found.operator)
        self._own, self._attributes, self._enough = own, attributes, enough

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        split = len(args) - self._attributes
        return record(self._own, args[:split], tuple(args[split:]), self._enough)

    @property
    def _known(self) -> Any:
        found = packet(self.operator.name) if self.namespace == "aten" else None
        return self.operator.qualname if found is None else found.default

    def __eq__(self, other: object) -> bool:
        return self._known is other or (isinstance(other, Recorded) and self._known == other._known)

    def __hash__(self) -> int:
        return hash(self._known)


@contextmanager
def _only(recording: list[Any]) -> Iterator[None]:
    """A block in which these see what is recorded."""
    before = list(interceptors)
    intercept(recording)
    try:
        yield
    finally:
        intercept(before)


class TorchDispatchMode:
    """Sees every operator inside its ``with`` block: override ``__torch_dispatch__`` (Note: dispatch modes).

    The mode is off while its method runs; modes around it see what it calls.

    >>> import flambeau as torch
    >>> from flambeau.utils._python_dispatch import TorchDispatchMode
    >>> class Names(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x, w = torch.ones(1, 2), torch.ones(3, 2)
    >>> with Names():
    ...     y = torch.nn.functional.linear(x, w).relu()
    aten.t.default
    aten.mm.default
    aten.relu.default
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        self._watchers: list[_Watcher] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        overrides.activate()
        watcher = _Watcher(self)
        self.__dict__.setdefault("_watchers", []).append(watcher)
        # Modes that see public functions come before all modes that see operators.
        place = sum(isinstance(mode, _Watcher) for mode in overrides.modes)
        overrides.modes.insert(place, watcher)
        intercept([*interceptors, watcher.recorded])
        return self

    def __exit__(self, *exc: object) -> None:
        watcher = self._watchers.pop()
        overrides.modes.remove(watcher)
        intercept([each for each in interceptors if each != watcher.recorded])

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """The same as making one."""
        return cls(*args, **kwargs)


class _Watcher:
    """Turns public calls, and what is recorded outside of them, into a mode's operators."""

    def __init__(self, mode: TorchDispatchMode) -> None:
        self.mode = mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in REWRITTEN:
            result = REWRITTEN[name](self._call, *args, **kwargs)
            if result is not NotImplemented:
                return result
        operator = aten_operator(func, args, kwargs) if has_operator(name) else None
        if operator is None:
            return func(*args, **kwargs)    # what it records is seen
        call = func if isinstance(func, Overload) else _Call(operator, func)
        return self._dispatched(call, types, args, kwargs)

    def recorded(self, operator: Any, operands: Any, attributes: Any, enough: int | None) -> Any:
        """What comes of an operator that is about to be recorded."""
        args = (*operands, *attributes)
        types = tuple({type(x) for x in args if isinstance(x, Tensor) and type(x) is not Tensor})
        with self._off():
            return self._dispatched(Recorded(operator, len(attributes), enough), types, args, {})

    def _dispatched(self, operator: Overload, types: Any, args: Any, kwargs: Any) -> Any:
        with _only([each for each in interceptors if each != self.recorded]):
            return self.mode.__torch_dispatch__(operator, types, args, kwargs)

    def _call(self, name: str, *args: Any, variant: str = "default", **kwargs: Any) -> Any:
        """An operator by the dispatcher's name."""
        found = packet(name)
        assert found is not None, name
        return self._dispatched(getattr(found, variant), (), args, kwargs)

    @contextmanager
    def _off(self) -> Iterator[None]:
        """Public calls are not seen."""
        held = self in overrides.modes
        place = overrides.modes.index(self) if held else 0
        if held:
            overrides.modes.remove(self)
        try:
            yield
        finally:
            if held:
                overrides.modes.insert(place, self)


class _Call(Overload):
    """The dispatcher's operator of a public call, which computes by that very call."""

    def __init__(self, operator: Overload, function: Any) -> None:
        super().__init__(operator.operator, operator._overloadname)
        self._same, self._function = operator, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return self._same is other or (isinstance(other, _Call) and self._same is other._same)

    def __hash__(self) -> int:
        return hash(self._same)


__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type"]
