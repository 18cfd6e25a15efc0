"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import linalg
from .. import operators as ops
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mahalanobis(lower: Tensor, x: Tensor) -> Tensor:
    """xᵀ (L Lᵀ)⁻¹ x for L (..., N, N) and x (..., N), broadcast over batches.

    Vectors that share a matrix are columns of one system: neither it nor its gradient is repeated for each.
    """
    batch = x.ndim - 1
    extents = (*[1] * (batch + 2 - lower.ndim), *lower.shape[:-2])
    shared = [d for d, (a, b) in enumerate(zip(extents, x.shape[:-1])) if a == 1 != b]
    if not shared or len(extents) > batch:
        return linalg.solve_triangular(lower, x.unsqueeze(-1), upper=False).squeeze(-1).pow(2).sum(-1)
    own = [d for d in range(batch) if d not in shared]
    columns = x.permute(*own, batch, *shared)
    given = lower.reshape(*[extents[d] for d in own], *lower.shape[-2:])
    solved = linalg.solve_triangular(given, columns.flatten(len(own) + 1), upper=False)
    distances = solved.pow(2).sum(-2).unflatten(-1, columns.shape[len(own) + 1:])
    order = [*own, *shared]
    return distances.permute(*[order.index(d) for d in range(batch)])


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The lower Cholesky factor of the inverse: from that of the matrix read backwards."""
    backwards = linalg.cholesky(ops.flip(precision, (-2, -1)))
    inverse = ops.transpose(ops.flip(backwards, (-2, -1)), -2, -1)
    identity = ops.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return linalg.solve_triangular(inverse, identity, upper=False)


class MultivariateNormal(Distribution):
    """Normal vectors (..., N) of mean ``loc`` and one of covariance, its inverse, or its Cholesky factor.

    log p(x) = -(N log(2 pi) + (x - loc)ᵀ C⁻¹ (x - loc)) / 2 - log det L, C = L Lᵀ.

    >>> import flambeau as torch
    >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite,
                       "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None,
                 precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {name: matrix for name, matrix in (("covariance_matrix", covariance_matrix),
                                                   ("scale_tril", scale_tril),
                                                   ("precision_matrix", precision_matrix))
                 if matrix is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                             "specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            shown = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{shown} must be at least two-dimensional, with optional leading batch "
                             "dimensions")
        batch_shape = Size(ops.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1]))
        self.__dict__[name] = matrix.expand(batch_shape + (-1, -1))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MultivariateNormal, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return self._expanded(MultivariateNormal, batch_shape, new, loc=1, covariance_matrix=2, scale_tril=2,
                              precision_matrix=2)

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance (..., N, N).

        >>> import flambeau as torch
        >>> normal = torch.distributions.MultivariateNormal(torch.zeros(2), 4 * torch.eye(2))
        >>> normal.scale_tril
        tensor([[2., 0.],
                [0., 2.]])
        """
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance (..., N, N).

        >>> import flambeau as torch
        >>> scale = torch.tensor([[2.0, 0.0], [1.0, 3.0]])
        >>> torch.distributions.MultivariateNormal(torch.zeros(2), scale_tril=scale).covariance_matrix
        tensor([[ 4.,  2.],
                [ 2., 10.]])
        """
        return self._full(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance (..., N, N)."""
        return self._full(ops.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variances = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return variances.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        eps = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + ops.matmul(self._unbroadcasted_scale_tril, eps.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Tensor:
        result = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return result.expand(self._batch_shape)
