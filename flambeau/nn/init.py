"""Filling tensors with initial values.

Every function changes its argument in place without recording it for autograd, and returns it. Random ones
draw from
the default generator, or the one given, in PyTorch's order: the same seed gives the same values.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import linalg
from .. import operators as ops
from ..autograd import no_grad
from ..tensor import Tensor
from ..tensor.overrides import overridable_by_name

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal",
    "kaiming_normal_", "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal",
    "orthogonal_", "sparse", "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal",
    "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_",
]  # fmt: skip

_LINEAR = (
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "sigmoid",
)  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor by which weights before a nonlinearity are scaled to keep the variance.

    1 for linear layers and sigmoid, 5/3 for tanh, sqrt(2) for relu, sqrt(2 / (1 + slope^2)) for leaky_relu
    (slope in
    `param`), 3/4 for selu.

    >>> import flambeau as torch
    >>> torch.nn.init.calculate_gain("leaky_relu", 1)
    1.0
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + _slope(param) ** 2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _slope(param: Any) -> float:
    if param is None:
        return 0.01
    if isinstance(param, bool) or not isinstance(param, int | float):
        raise ValueError(f"negative_slope {param} not a valid number")
    return param


def _uniform(tensor: Tensor, a: float, b: float, generator: Any) -> Tensor:
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _normal(tensor: Tensor, mean: float, std: float, generator: Any) -> Tensor:
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


@overridable_by_name
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with values from the uniform distribution on [a, b).

    >>> import flambeau as torch
    >>> w = torch.nn.init.uniform_(torch.empty(3, 5), -1, 1)
    >>> bool((w.abs() <= 1).all())
    True
    """
    return _uniform(tensor, a, b, generator)


@overridable_by_name
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with values from the normal distribution N(mean, std^2).

    >>> import flambeau as torch
    >>> torch.nn.init.normal_(torch.empty(3, 5)).shape
    torch.Size([3, 5])
    """
    return _normal(tensor, mean, std, generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill with values from N(mean, std^2) conditioned on lying in [a, b], by rejection.

    >>> import flambeau as torch
    >>> w = torch.nn.init.trunc_normal_(torch.empty(3, 5))
    >>> bool((w.abs() <= 2).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )
    likely = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std) >= _LIKELY
    propose = _propose_normal if likely else _propose_uniform
    with no_grad():
        values, rejected = propose(tensor, mean, std, a, b, generator)
        while bool(rejected.any()):
            fresh, rejected_again = propose(tensor, mean, std, a, b, generator)
            values = ops.where(rejected, fresh, values)
            rejected = rejected & rejected_again
        return tensor.copy_(values)


# From this probability of [a, b] on, normal proposals are accepted often enough.
_LIKELY = 0.3


def _propose_normal(
    like: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> tuple[Tensor, Tensor]:
    """Draw from the normal distribution; return the values and which lie outside [a, b]."""
    values = ops.empty_like(like).normal_(mean, std, generator=generator)
    return values, (values < a) | (values > b)


def _propose_uniform(
    like: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> tuple[Tensor, Tensor]:
    """Draw uniformly from [a, b]; a value is kept with its density's ratio to the highest in [a, b]."""
    values = ops.empty_like(like).uniform_(a, b, generator=generator)
    chances = ops.empty_like(like).uniform_(0, 1, generator=generator)
    mode = min(max(mean, a), b)
    ratio = ops.exp(-((values - mean) ** 2 - (mode - mean) ** 2) / (2 * std * std))
    return values, chances > ratio


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


@overridable_by_name
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value.

    >>> import flambeau as torch
    >>> torch.nn.init.constant_(torch.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    >>> import flambeau as torch
    >>> torch.nn.init.ones_(torch.zeros(2))
    tensor([1., 1.])
    """
    with no_grad():
        return tensor.fill_(1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    >>> import flambeau as torch
    >>> torch.nn.init.zeros_(torch.ones(2))
    tensor([0., 0.])
    """
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity.

    >>> import flambeau as torch
    >>> torch.nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(ops.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight (out, in, *kernel) so that the layer passes its channels through unchanged.

    >>> import flambeau as torch
    >>> torch.nn.init.dirac_(torch.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    dimensions = tensor.ndimension()
    if dimensions not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    centre = tuple(size // 2 for size in sizes[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, sizes[1])):
                tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return how many inputs reach one output of a weight (out, in, *kernel), and the converse."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    receptive_field = math.prod(tensor.shape[2:])
    return tensor.size(1) * receptive_field, tensor.size(0) * receptive_field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill from U(-a, a), a = gain sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010).

    >>> import flambeau as torch
    >>> w = torch.nn.init.xavier_uniform_(torch.empty(3, 3))
    >>> bool((w.abs() <= 1).all())
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return _uniform(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill from N(0, std^2), std = gain sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio, 2010).

    >>> import flambeau as torch
    >>> torch.nn.init.xavier_normal_(torch.empty(3, 5)).shape
    torch.Size([3, 5])
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return _normal(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _is_empty(tensor: Tensor) -> bool:
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=4)
    return True


@overridable_by_name
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill from U(-b, b), b = gain sqrt(3 / fan) (He et al., 2015).

    >>> import flambeau as torch
    >>> w = torch.nn.init.kaiming_uniform_(torch.empty(3, 6), nonlinearity="relu")
    >>> bool((w.abs() <= 1).all())
    True
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return _uniform(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill from N(0, std^2), std = gain / sqrt(fan) (He et al., 2015).

    >>> import flambeau as torch
    >>> torch.nn.init.kaiming_normal_(torch.empty(3, 5), mode="fan_out").shape
    torch.Size([3, 5])
    """
    if _is_empty(tensor):
        return tensor
    return _normal(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix, the dimensions after the first taken as one (Saxe et al., 2013).

    >>> import flambeau as torch
    >>> w = torch.nn.init.orthogonal_(torch.empty(2, 3))
    >>> torch.allclose(w @ w.T, torch.eye(2), atol=1e-6)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with no_grad():
        flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        wide = rows < columns
        q, r = linalg.qr(flat.t() if wide else flat)
        # The signs of R's diagonal make the distribution uniform (Mezzadri, 2006).
        q = q * ops.diag(r, 0).sign()
        q = q.t() if wide else q
        tensor.view_as(q).copy_(q)
        return tensor.mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix from N(0, std^2) and set a fraction of each column to zero (Martens, 2010).

    >>> import flambeau as torch
    >>> w = torch.nn.init.sparse_(torch.empty(10, 2), sparsity=0.3)
    >>> (w == 0).sum(0)
    tensor([3, 3])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[ops.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(current: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the function under its old name, without the underscore."""
    new_name = current.__name__
    old_name = new_name[:-1]

    @wraps(current)
    def renamed(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{old_name}` is now deprecated in favor of `nn.init.{new_name}`.",
            FutureWarning,
            stacklevel=2,
        )
        return current(*args, **kwargs)

    renamed.__name__ = old_name
    renamed.__doc__ = f"Call `{new_name}`, with a warning that this name is deprecated."
    return renamed


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)

# The names under which initializers of other packages find the plain ones.
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_
