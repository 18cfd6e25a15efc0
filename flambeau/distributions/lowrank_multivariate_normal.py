"""The multivariate normal distribution with a covariance of low rank plus a diagonal."""

from __future__ import annotations

import math
from typing import Any

from .. import linalg
from .. import operators as ops
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _capacitance_tril(w: Tensor, d: Tensor) -> Tensor:
    """The Cholesky factor of I + Wᵀ D⁻¹ W (..., M, M)."""
    k = ops.matmul(w.mT / d.unsqueeze(-2), w)
    return linalg.cholesky(k + ops.eye(k.shape[-1], dtype=k.dtype, device=k.device))


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of covariance W Wᵀ + D, W (..., N, M) ``cov_factor``, D ``cov_diag`` (..., N).

    By Woodbury's identity and the matrix determinant lemma only M x M matrices are factored.

    >>> import flambeau as torch
    >>> W = torch.tensor([[1.0], [0.0]])
    >>> torch.distributions.LowRankMultivariateNormal(torch.zeros(2), W, torch.ones(2)).variance
    tensor([2., 1.])
    """

    arg_constraints = {"loc": constraints.real_vector,
                       "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor,
                 validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch "
                             "dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch = Size(ops.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]))
        except RuntimeError as error:
            raise ValueError(f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                             f"cov_diag {cov_diag.shape}") from error
        self.loc = loc.expand(batch + event_shape)
        self.cov_diag = cov_diag.expand(batch + event_shape)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        super().__init__(batch, event_shape, validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _capacitance_tril(cov_factor, cov_diag)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LowRankMultivariateNormal, _instance)
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        return self._expanded(LowRankMultivariateNormal, batch_shape, new, loc=1, cov_diag=1, cov_factor=2)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The diagonal of the covariance.

        >>> import flambeau as torch
        >>> factor, diagonal = torch.tensor([[1.0], [2.0]]), torch.ones(2)
        >>> torch.distributions.LowRankMultivariateNormal(torch.zeros(2), factor, diagonal).variance
        tensor([2., 5.])
        """
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance (..., N, N)."""
        return linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance (..., N, N).

        >>> import flambeau as torch
        >>> factor, diagonal = torch.tensor([[1.0], [2.0]]), torch.ones(2)
        >>> torch.distributions.LowRankMultivariateNormal(torch.zeros(2), factor, diagonal).covariance_matrix
        tensor([[2., 2.],
                [2., 5.]])
        """
        w = self._unbroadcasted_cov_factor
        return self._full(ops.matmul(w, w.mT) + ops.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance (..., N, N): D⁻¹ - D⁻¹ W C⁻¹ Wᵀ D⁻¹."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        half = linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._full(ops.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - half.mT @ half)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        eps_w = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc.dtype, self.loc.device)
        eps_d = _standard_normal(shape, self.loc.dtype, self.loc.device)
        along = ops.matmul(self._unbroadcasted_cov_factor, eps_w.unsqueeze(-1)).squeeze(-1)
        return self.loc + along + self._unbroadcasted_cov_diag.sqrt() * eps_d

    def _log_det(self) -> Tensor:
        capacitance = self._capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return 2 * capacitance + self._unbroadcasted_cov_diag.log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        x, d = value - self.loc, self._unbroadcasted_cov_diag
        projected = ops.matmul(self._unbroadcasted_cov_factor.mT / d.unsqueeze(-2),
                               x.unsqueeze(-1)).squeeze(-1)
        distance = (x.pow(2) / d).sum(-1) - _batch_mahalanobis(self._capacitance_tril, projected)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Tensor:
        result = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return result.expand(self._batch_shape)
