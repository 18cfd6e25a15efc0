"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import Any

from .. import linalg
from .. import operators as ops
from ..size import Size
from ..tensor import Tensor
from ..type_info import finfo
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import _precision_to_scale_tril
from .utils import lazy_property

__all__ = ["Wishart"]


class Wishart(ExponentialFamily):
    """Positive definite matrices (..., P, P): the scatter of ``df`` normal vectors of a covariance V = L Lᵀ.

    log p(X) = (df - P - 1) / 2 log det X - tr(V⁻¹ X) / 2 - df P / 2 log 2 - df log det L - log Gamma_P(df /
    2).

    >>> import flambeau as torch
    >>> torch.distributions.Wishart(torch.tensor(3.0), covariance_matrix=torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, df: Any, covariance_matrix: Tensor | None = None,
                 precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        given = {name: matrix for name, matrix in (("covariance_matrix", covariance_matrix),
                                                   ("precision_matrix", precision_matrix),
                                                   ("scale_tril", scale_tril)) if matrix is not None}
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                                 "specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch "
                             "dimensions")
        df = ops.tensor(df, dtype=matrix.dtype, device=matrix.device) if isinstance(df, Number) else df
        batch_shape = Size(ops.broadcast_shapes(matrix.shape[:-2], df.shape))
        event_shape = matrix.shape[-2:]
        self.df = df.expand(batch_shape)
        self.__dict__[name] = matrix.expand(batch_shape + (-1, -1))
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = "
                             f"{event_shape[-1] - 1}.")
        if self.df.lt(event_shape[-1]).any():
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 "
                          "< df < ndim.", stacklevel=2)
        factor = {"scale_tril": lambda m: m, "covariance_matrix": linalg.cholesky,
                  "precision_matrix": _precision_to_scale_tril}[name]
        self._unbroadcasted_scale_tril = factor(matrix)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._dist_chi2 = self._chi_squared(batch_shape)

    def _chi_squared(self, batch_shape: Any) -> Chi2:
        steps = ops.arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        return Chi2(df=self.df.unsqueeze(-1) - steps.expand((*batch_shape, -1)))

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {"covariance_matrix": constraints.positive_definite,
                "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
                "df": constraints.greater_than(self._event_shape[-1] - 1)}

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Wishart, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new = self._expanded(Wishart, batch_shape, new, df=0, covariance_matrix=2, precision_matrix=2,
                             scale_tril=2)
        new._dist_chi2 = new._chi_squared(Size(batch_shape))
        return new

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of V.

        >>> import flambeau as torch
        >>> torch.distributions.Wishart(torch.tensor(3.0), 4 * torch.eye(2)).scale_tril
        tensor([[2., 0.],
                [0., 2.]])
        """
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """V.

        >>> import flambeau as torch
        >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).covariance_matrix
        tensor([[1., 0.],
                [0., 1.]])
        """
        return self._full(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of V.

        >>> import flambeau as torch
        >>> torch.distributions.Wishart(torch.tensor(3.0), 4 * torch.eye(2)).precision_matrix
        tensor([[0.2500, 0.0000],
                [0.0000, 0.2500]])
        """
        return self._full(ops.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.df.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = ops.where(factor <= 0, float("nan"), factor)
        return factor.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        spread = v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.view((*self._batch_shape, 1, 1)) * spread

    def _bartlett_sampling(self, sample_shape: Any = Size()) -> Tensor:
        """L A Aᵀ Lᵀ, A with roots of chi-squared values on the diagonal and normal ones below (Bartlett)."""
        p = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).clamp(min=finfo(self.df.dtype).tiny).sqrt()
        noise = ops.diag_embed(roots, dim1=-2, dim2=-1)
        rows, columns = ops.tril_indices(p, p, -1).unbind(0)
        below = ops.randn((*sample_shape, *self._batch_shape, p * (p - 1) // 2), dtype=noise.dtype,
                          device=noise.device)
        noise[..., rows, columns] = below
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = Size(), max_try_correction: int | None = None) -> Tensor:
        """Draw; what rounding made singular is drawn again, at most ``max_try_correction`` (10) times.

        PyTorch takes the first draw's regular matrices for singular ones, warns and draws them again; so does
        this, for the same numbers from a seed.
        """
        sample_shape = Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        regular = self.support.check(sample)
        singular = regular.reshape((*sample_shape, -1)).any(-1)
        if singular.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(10 if max_try_correction is None else max_try_correction):
                new = self._bartlett_sampling(Size((int(singular.sum()),)))
                sample[singular] = new
                singular[singular.clone()] = self._singular(new)
                if not singular.any():
                    break
        return sample

    def _singular(self, sample: Tensor) -> Tensor:
        """For each draw, whether any matrix of its batch is singular."""
        bad = ~self.support.check(sample)
        return bad.reshape((bad.shape[0], -1)).any(-1)

    def _log_diagonal(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        trace = ops.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (-nu * (p * math.log(2.0) / 2 + self._log_diagonal()) - ops.mvlgamma(nu / 2, p=p)
                + (nu - p - 1) / 2 * linalg.slogdet(value).logabsdet - trace / 2)

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        steps = ops.arange(p, dtype=nu.dtype, device=nu.device)
        slope = ops.digamma(nu.unsqueeze(-1) / 2 - steps / 2).sum(-1)
        return ((p + 1) * (p * math.log(2.0) / 2 + self._log_diagonal()) + ops.mvlgamma(nu / 2, p=p)
                - (nu - p - 1) / 2 * slope + nu * p / 2)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        p = self._event_shape[-1]
        order = y + (p + 1) / 2
        return order * (-linalg.slogdet(-2 * x).logabsdet + p * math.log(2.0)) + ops.mvlgamma(order, p=p)
