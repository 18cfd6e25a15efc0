"""What a constraint is, and one that depends on other variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..executors.interpreter.quiet import hush, speak
from ..operators.interop.looking import look
from ..tensor import Tensor
from ..tensor.recording.record import interceptors

_FEW = 1 << 12  # elements that are checked as arrays


class Constraint:
    """A region in which variables are valid; the last ``event_dim`` dimensions are valid together.

    >>> import flambeau as torch
    >>> class Even(torch.distributions.constraints.Constraint):
    ...     def check(self, value):
    ...         return value % 2 == 0
    >>> Even().check(torch.tensor([1, 2]))
    tensor([False,  True])
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """For each event whether it lies inside."""
        raise NotImplementedError

    def holds(self, value: Tensor) -> bool:
        """Whether all events lie inside, which is a look."""
        return bool(look(self.check(value).all(), "bool", only_checks=True).all())

    def __repr__(self) -> str:
        return self.__class__.__name__[1:] + "()"


class OnArrays(Constraint):
    """A constraint whose ``check`` computes with arrays as with tensors.

    What is few values is looked at itself: to record half a dozen comparisons costs more than to make them.
    """

    def holds(self, value: Tensor) -> bool:
        if value.__class__ is not Tensor or value.numel() > _FEW or interceptors or not self._is_bare(value):
            return super().holds(value)
        array: Any = look(value, "bool", only_checks=True)
        before = hush()
        try:
            return bool(np.all(self.check(array)))
        finally:
            speak(before)

    def _is_bare(self, value: Tensor) -> bool:
        """Whether nothing but the value has to be an array."""
        return True


class _Bounded(OnArrays):
    """A constraint shown with its bounds."""

    shown: tuple[str, ...] = ()

    def _is_bare(self, value: Tensor) -> bool:
        return all(getattr(self, name).__class__ in (int, float) for name in self.shown)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)}" for name in self.shown)
        return f"{self.__class__.__name__[1:]}({inside})"


class _Dependent(Constraint):
    """A region that depends on other variables, so that values cannot be checked."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return bool(self._is_discrete)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return int(self._event_dim)

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """The same with some of the facts known."""
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, x: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property of instances that is a dependent constraint on the class.

    Used with or without facts: ``@dependent_property`` and ``@dependent_property(event_dim=1)``.
    """

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented,
                 event_dim: Any = NotImplemented) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[[Any], Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)
