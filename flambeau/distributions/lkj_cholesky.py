"""The LKJ distribution of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

from .. import operators as ops
from ..autograd.grad_mode import no_grad
from ..nn import functional as F
from ..size import Size
from ..tensor import Tensor
from ..type_info import finfo
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors (..., D, D) of correlation matrices: p(L Lᵀ) ~ det(L Lᵀ)^(concentration - 1).

    Sampled by the onion method (Lewandowski, Kurowicka and Joe 2009).

    >>> import flambeau as torch
    >>> L = torch.distributions.LKJCholesky(3, 0.5).sample()
    >>> torch.allclose((L @ L.T).diagonal(), torch.ones(3))
    True
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        batch_shape = self.concentration.size()
        marginal = self.concentration + 0.5 * (self.dim - 2)
        offset = ops.arange(self.dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = F.pad(offset, [1, 0])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(batch_shape, Size((dim, dim)), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LKJCholesky, _instance)
        new.dim = self.dim
        new._beta = self._beta.expand(Size(batch_shape) + (self.dim,))
        return self._expanded(LKJCholesky, batch_shape, new, concentration=0)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            u = ops.randn(shape, dtype=y.dtype, device=y.device).tril(-1)
            direction = u / u.norm(dim=-1, keepdim=True)
            direction[..., 0, :].fill_(0.0)     # the first row has nothing below the diagonal
            w = ops.sqrt(y) * direction
            rest = ops.clamp(1 - ops.sum(w**2, dim=-1), min=finfo(w.dtype).tiny)
            return w + ops.diag_embed(rest.sqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = ops.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        density = ops.sum(order * diagonal.log(), dim=-1)
        count = self.dim - 1
        alpha = self.concentration + 0.5 * count
        numerator = ops.mvlgamma(alpha - 0.5, count)
        normalizer = 0.5 * count * math.log(math.pi) + numerator - ops.lgamma(alpha) * count
        return density - normalizer
