"""What parameters have to satisfy, and where events lie: on numbers and vectors here; all, by their names."""

from __future__ import annotations

from typing import Any

from ..dtypes import float32, float64
from ..tensor import Tensor
from .constraints_base import Constraint, OnArrays, _Bounded, _Dependent, _DependentProperty
from .constraints_joint import MixtureSameFamilyConstraint, _Cat, _IndependentConstraint, _Stack
from .constraints_matrices import (
    _CorrCholesky,
    _LowerCholesky,
    _LowerTriangular,
    _PositiveDefinite,
    _PositiveSemidefinite,
    _Square,
    _Symmetric,
)

__all__ = ["Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than",
           "greater_than_eq", "independent", "integer_interval", "interval", "half_open_interval",
           "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "MixtureSameFamilyConstraint",
           "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive",
           "positive_semidefinite", "positive_definite", "positive_integer", "real", "real_vector", "simplex",
           "square", "stack", "symmetric", "unit_interval"]


class _Boolean(OnArrays):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Vectors of zeros with a single one."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _IntegerInterval(_Bounded):
    """Integers of [lower_bound, upper_bound].

    >>> import flambeau as torch
    >>> torch.distributions.constraints.integer_interval(0, 2).check(torch.tensor([0.0, 1.5, 3.0]))
    tensor([ True, False, False])
    """

    is_discrete = True
    shown = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Bounded):
    """Integers of at least ``lower_bound``."""

    is_discrete = True
    shown = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(OnArrays):
    """All numbers but NaN."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _GreaterThan(_Bounded):
    """Numbers above ``lower_bound``.

    >>> import flambeau as torch
    >>> torch.distributions.constraints.greater_than(1.0).check(torch.tensor([1.0, 2.0]))
    tensor([False,  True])
    """

    shown = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_GreaterThan):
    """Numbers of at least ``lower_bound``.

    >>> import flambeau as torch
    >>> torch.distributions.constraints.greater_than_eq(1.0).check(torch.tensor([1.0, 2.0]))
    tensor([True, True])
    """

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_Bounded):
    """Numbers below ``upper_bound``.

    >>> import flambeau as torch
    >>> torch.distributions.constraints.less_than(1.0).check(torch.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    shown = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Bounded):
    """Numbers of [lower_bound, upper_bound].

    >>> import flambeau as torch
    >>> torch.distributions.constraints.interval(0.0, 1.0).check(torch.tensor([0.5, 1.0, 2.0]))
    tensor([ True,  True, False])
    """

    shown = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Interval):
    """Numbers of [lower_bound, upper_bound).

    >>> import flambeau as torch
    >>> torch.distributions.constraints.half_open_interval(0.0, 1.0).check(torch.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(OnArrays):
    """Nonnegative vectors whose sum is one, up to rounding."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (abs(value.sum(-1) - 1) < 1e-6)

    def _is_bare(self, value: Tensor) -> bool:
        return value.dtype in (float32, float64)


class _Multinomial(Constraint):
    """Counts whose sum is at most ``upper_bound``.

    >>> import flambeau as torch
    >>> torch.distributions.constraints.multinomial(3).check(torch.tensor([[1.0, 2.0], [2.0, 2.0]]))
    tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other variables, so that it cannot be checked.

    >>> import flambeau as torch
    >>> constraints = torch.distributions.constraints
    >>> constraints.is_dependent(constraints.positive), constraints.is_dependent(constraints.dependent)
    (False, True)
    """
    return isinstance(constraint, _Dependent)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
