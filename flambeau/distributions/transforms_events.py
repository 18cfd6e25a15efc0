"""Maps of vectors and matrices (``torch.distributions.transforms`` has them all)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import linalg
from .. import operators as ops
from ..nn import functional as F
from ..size import Size
from ..tensor import Tensor
from ..type_info import finfo
from . import constraints
from .transforms_base import Transform, require_dimensions
from .transforms_elementwise import Plain, clipped_sigmoid
from .utils import _sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix


class ReshapeTransform(Transform):
    """The same numbers in another shape of events.

    >>> import flambeau as torch
    >>> torch.distributions.transforms.ReshapeTransform((4,), (2, 2))(torch.arange(4.0))
    tensor([[0., 1.],
            [2., 3.]])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _exchange(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _exchange(shape, self.out_shape, self.in_shape)


def _exchange(shape: Any, old: Size, new: Size) -> Any:
    """A shape with its last dimensions ``old`` replaced by ``new``."""
    require_dimensions(shape, len(old))
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return Size((*shape[:cut], *new))


class SoftmaxTransform(Plain):
    """y = softmax(x) over (..., K); the inverse is log y, one of many.

    >>> import flambeau as torch
    >>> torch.distributions.transforms.SoftmaxTransform()(torch.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        require_dimensions(shape, 1)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        require_dimensions(shape, 1)
        return shape


class StickBreakingTransform(Plain):
    """K - 1 numbers to K shares of a stick: each breaks off a part of what the earlier ones left.

    The k-th breaks off sigmoid(x_k - log(K - k)), so that zeros give equal shares.

    >>> import flambeau as torch
    >>> torch.distributions.transforms.StickBreakingTransform()(torch.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        z = clipped_sigmoid(x - offset.log())
        left = (1 - z).cumprod(-1)
        return F.pad(z, [0, 1], value=1) * F.pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        shares = y[..., :-1]
        offset = y.shape[-1] - shares.new_ones(shares.shape[-1]).cumsum(-1)
        left = ops.clamp(1 - shares.cumsum(-1), min=finfo(y.dtype).tiny)
        return shares.log() - left.log() + offset.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        x = x - offset.log()
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        require_dimensions(shape, 1)
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        require_dimensions(shape, 1)
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Plain):
    """Square matrices to lower triangular ones with the exponential of the diagonal.

    >>> import flambeau as torch
    >>> torch.distributions.transforms.LowerCholeskyTransform()(torch.tensor([[0.0, 9.0], [3.0, 0.0]]))
    tensor([[1., 0.],
            [3., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Plain):
    """Square matrices to positive definite ones: L Lᵀ with L from :class:`LowerCholeskyTransform`.

    >>> import flambeau as torch
    >>> torch.distributions.transforms.PositiveDefiniteTransform()(torch.tensor([[0.0, 9.0], [3.0, 0.0]]))
    tensor([[ 1.,  3.],
            [ 3., 10.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """D (D - 1) / 2 numbers to the Cholesky factor of a correlation matrix (D, D).

    Canonical partial correlations z = tanh(x), row by row: each takes its part of what is left of the row's
    unit length (Lewandowski, Kurowicka and Joe 2009).

    >>> import flambeau as torch
    >>> torch.distributions.transforms.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype).eps
        x = ops.tanh(x).clamp(min=-1 + eps, max=1 - eps)
        r = vec_to_tril_matrix(x, diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + ops.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * F.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = F.pad((1 - ops.cumsum(y * y, dim=-1))[..., :-1], [1, 0], value=1)
        below = tril_matrix_to_vec(y, diag=-1)
        t = below / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(dim=-1)
        shares = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        slopes = -2 * (x + F.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return shares + slopes

    def forward_shape(self, shape: Any) -> Any:
        require_dimensions(shape, 1)
        n = shape[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], d, d)

    def inverse_shape(self, shape: Any) -> Any:
        require_dimensions(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        d = shape[-1]
        return (*shape[:-2], d * (d - 1) // 2)


class CatTransform(Transform):
    """Maps of consecutive pieces of one dimension.

    >>> import flambeau as torch
    >>> T = torch.distributions.transforms
    >>> t = T.CatTransform([T.ExpTransform(), T.AffineTransform(0.0, 2.0)], lengths=[1, 2])
    >>> t(torch.tensor([0.0, 1.0, 2.0]))
    tensor([1., 2., 4.])
    """

    transforms: list[Transform]

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None,
                 cache_size: int = 0) -> None:
        assert all(isinstance(t, Transform) for t in tseq), "All elements of tseq must be Transform instances"
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms "
                                 f"({len(self.transforms)})")
        self.dim = dim

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The size of the dimension.

        >>> import flambeau as torch
        >>> exp = torch.distributions.ExpTransform()
        >>> torch.distributions.CatTransform([exp, exp], lengths=[1, 2]).length
        3
        """
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _pieces(self, value: Tensor) -> Any:
        assert -value.dim() <= self.dim < value.dim()
        assert value.size(self.dim) == self.length
        return value.split(self.lengths, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return ops.cat([t(piece) for t, piece in zip(self.transforms, self._pieces(x))], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return ops.cat([t.inv(piece) for t, piece in zip(self.transforms, self._pieces(y))], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = []
        for t, before, after in zip(self.transforms, self._pieces(x), self._pieces(y)):
            jacobian = t.log_abs_det_jacobian(before, after)
            if t.event_dim < self.event_dim:
                jacobian = _sum_rightmost(jacobian, self.event_dim - t.event_dim)
            terms.append(jacobian)
        dim = self.dim if self.dim < 0 else self.dim - x.dim()
        dim += self.event_dim
        return ops.cat(terms, dim=dim) if dim < 0 else sum(terms[1:], terms[0])

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """Maps of the slices along one dimension.

    >>> import flambeau as torch
    >>> T = torch.distributions.transforms
    >>> T.StackTransform([T.ExpTransform(), T.AffineTransform(0.0, 2.0)])(torch.tensor([0.0, 1.0]))
    tensor([1., 2.])
    """

    transforms: list[Transform]

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        assert all(isinstance(t, Transform) for t in tseq), "All elements of tseq must be Transform instances"
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _slice(self, z: Tensor, name: str = "x") -> list[Tensor]:
        assert -z.dim() <= self.dim < z.dim()
        count = len(self.transforms)
        if z.size(self.dim) != count:
            raise AssertionError(
                f"{name}.size({self.dim}) = {z.size(self.dim)} must equal len(transforms) {count}")
        return [z.select(self.dim, i) for i in range(count)]

    def _call(self, x: Tensor) -> Tensor:
        return ops.stack([t(s) for s, t in zip(self._slice(x), self.transforms)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return ops.stack([t.inv(s) for s, t in zip(self._slice(y, "y"), self.transforms)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        pairs = zip(self._slice(x), self._slice(y, "y"), self.transforms)
        return ops.stack([t.log_abs_det_jacobian(before, after) for before, after, t in pairs], dim=self.dim)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


__all__ = ["CatTransform", "CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform",
           "ReshapeTransform", "SoftmaxTransform", "StackTransform", "StickBreakingTransform"]
