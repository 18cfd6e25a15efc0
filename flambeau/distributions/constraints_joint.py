"""Constraints that are made of others."""

from __future__ import annotations

from collections.abc import Sequence

from .. import operators as ops
from ..tensor import Tensor
from .constraints_base import Constraint


class _IndependentConstraint(Constraint):
    """A constraint whose rightmost batch dimensions are taken into the event.

    >>> import flambeau as torch
    >>> constraints = torch.distributions.constraints
    >>> constraints.independent(constraints.positive, 1).check(torch.tensor([[1.0, 2.0], [1.0, -2.0]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            expected = self.base_constraint.event_dim + self.reinterpreted_batch_ndims
            raise ValueError(f"Expected value.dim() >= {expected} but got {value.dim()}")
        kept = result.shape[: result.dim() - self.reinterpreted_batch_ndims]
        return result.reshape((*kept, -1)).all(-1)

    def holds(self, value: Tensor) -> bool:
        base = self.base_constraint
        if value.dim() - base.event_dim < self.reinterpreted_batch_ndims:
            return super().holds(value)     # which raises
        return base.holds(value)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: values of which every component is asked."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Whether every component takes the value; the mixture dimension lies left of the event."""
        position = value.dim() - self.event_dim
        if position < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        result = self.base_constraint.check(value.unsqueeze(position))
        return result.reshape((*value.shape[:position], -1)).all(-1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_constraint!r})"


class _Several(Constraint):
    """Constraints on parts of one dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int) -> None:
        assert all(isinstance(c, Constraint) for c in cseq)
        self.cseq = list(cseq)
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(c.event_dim for c in self.cseq)


class _Cat(_Several):
    """Constraints on consecutive pieces of one dimension.

    >>> import flambeau as torch
    >>> constraints = torch.distributions.constraints
    >>> both = constraints.cat([constraints.positive, constraints.real], lengths=[1, 2])
    >>> both.check(torch.tensor([-1.0, -1.0, 2.0]))
    tensor([False,  True,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0,
                 lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        assert len(self.lengths) == len(self.cseq)

    def check(self, value: Tensor) -> Tensor:
        assert -value.dim() <= self.dim < value.dim()
        pieces = value.split(self.lengths, self.dim)
        return ops.cat([c.check(piece) for c, piece in zip(self.cseq, pieces)], self.dim)


class _Stack(_Several):
    """Constraints on the slices along one dimension.

    >>> import flambeau as torch
    >>> constraints = torch.distributions.constraints
    >>> both = constraints.stack([constraints.positive, constraints.real])
    >>> both.check(torch.tensor([-1.0, -1.0]))
    tensor([False,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        widest = super().event_dim
        return widest + 1 if self.dim + widest < 0 else widest

    def check(self, value: Tensor) -> Tensor:
        assert -value.dim() <= self.dim < value.dim()
        slices = value.unbind(self.dim)
        return ops.stack([c.check(v) for c, v in zip(self.cseq, slices)], self.dim)
