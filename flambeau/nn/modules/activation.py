"""Activation layers; each applies one function of `nn.functional`."""

from __future__ import annotations

import warnings
from typing import Any

from ... import operators as ops
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._own_constructor import OwnConstructor
from .attention import MultiheadAttention
from .module import Module
from .shrink import Hardshrink, Softplus, Softshrink
from .softmax import LogSoftmax, Softmax, Softmax2d, Softmin

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "LogSoftmax", "Mish", "MultiheadAttention", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU",
    "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh",
    "Tanhshrink", "Threshold",
]  # fmt: skip


class _InplaceActivation(OwnConstructor, Module):
    """An activation that can overwrite its input and has no other option."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""

    def _inplace_suffix(self) -> str:
        return ", inplace=True" if self.inplace else ""


class ReLU(_InplaceActivation):
    """max(0, x), elementwise; any shape.

    >>> import flambeau as torch
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)


class SELU(_InplaceActivation):
    """scale (max(0, x) + min(0, alpha (exp(x) - 1))) with the constants of Klambauer et al. (2017).

    >>> import flambeau as torch
    >>> torch.nn.SELU()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class SiLU(_InplaceActivation):
    """x sigmoid(x), also called swish.

    >>> import flambeau as torch
    >>> torch.nn.SiLU()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)


class Mish(_InplaceActivation):
    """x tanh(softplus(x)) (Misra, 2019).

    >>> import flambeau as torch
    >>> torch.nn.Mish()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, inplace=self.inplace)


class Hardswish(_InplaceActivation):
    """x relu6(x + 3) / 6 (Howard et al., 2019).

    >>> import flambeau as torch
    >>> torch.nn.Hardswish()(torch.tensor([-3.0, 3.0])).tolist() == [0, 3]
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardsigmoid(_InplaceActivation):
    """relu6(x + 3) / 6, a piecewise linear sigmoid.

    >>> import flambeau as torch
    >>> torch.nn.Hardsigmoid()(torch.tensor([-3.0, 0.0, 3.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Threshold(_InplaceActivation):
    """x where x > threshold, elsewhere `value`.

    >>> import flambeau as torch
    >>> torch.nn.Threshold(0.1, 20.0)(torch.tensor([0.0, 1.0]))
    tensor([20.,  1.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}{self._inplace_suffix()}"


class RReLU(_InplaceActivation):
    """x where x >= 0, elsewhere a x with a drawn from U(lower, upper) in training, its mean in evaluation.

    >>> import flambeau as torch
    >>> torch.nn.RReLU(0.1, 0.3).eval()(torch.tensor([-1.0, 1.0]))
    tensor([-0.2000,  1.0000])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}{self._inplace_suffix()}"


class Hardtanh(_InplaceActivation):
    """x limited to [min_val, max_val].

    >>> import flambeau as torch
    >>> torch.nn.Hardtanh(-2, 2)(torch.tensor([-3.0, 1.0]))
    tensor([-2.,  1.])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        if min_value is not None:
            self._warn_renamed("min_value", "min_val")
            min_val = min_value
        if max_value is not None:
            self._warn_renamed("max_value", "max_val")
            max_val = max_value
        self.min_val = min_val
        self.max_val = max_val
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    @staticmethod
    def _warn_renamed(old: str, new: str) -> None:
        warnings.warn(
            f"keyword argument `{old}` is deprecated and rename to `{new}`", FutureWarning, stacklevel=4
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}{self._inplace_suffix()}"


class ReLU6(Hardtanh):
    """min(max(0, x), 6).

    >>> import flambeau as torch
    >>> torch.nn.ReLU6()(torch.tensor([-1.0, 7.0]))
    tensor([0., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class _AlphaActivation(_InplaceActivation):
    """An exponential activation with the factor alpha on its negative side."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{self._inplace_suffix()}"


class ELU(_AlphaActivation):
    """x where x > 0, elsewhere alpha (exp(x) - 1) (Clevert et al., 2015).

    >>> import flambeau as torch
    >>> torch.nn.ELU()(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_AlphaActivation):
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)) (Barron, 2017).

    >>> import flambeau as torch
    >>> torch.nn.CELU(2.0)(torch.tensor([-1.0, 2.0]))
    tensor([-0.7869,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(_InplaceActivation):
    """max(0, x) + negative_slope min(0, x).

    >>> import flambeau as torch
    >>> torch.nn.LeakyReLU(0.1)(torch.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}{self._inplace_suffix()}"


class Sigmoid(Module):
    """1 / (1 + exp(-x)).

    >>> import flambeau as torch
    >>> torch.nn.Sigmoid()(torch.tensor(0.0))
    tensor(0.5000)
    """

    def forward(self, input: Tensor) -> Tensor:
        return ops.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent.

    >>> import flambeau as torch
    >>> torch.nn.Tanh()(torch.tensor(1.0))
    tensor(0.7616)
    """

    def forward(self, input: Tensor) -> Tensor:
        return ops.tanh(input)


class LogSigmoid(Module):
    """log(1 / (1 + exp(-x))), computed without overflow.

    >>> import flambeau as torch
    >>> torch.nn.LogSigmoid()(torch.tensor(0.0))
    tensor(-0.6931)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|).

    >>> import flambeau as torch
    >>> torch.nn.Softsign()(torch.tensor(1.0))
    tensor(0.5000)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x).

    >>> import flambeau as torch
    >>> torch.nn.Tanhshrink()(torch.tensor(1.0))
    tensor(0.2384)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class GELU(Module):
    """x Phi(x), Phi the normal distribution function, or its tanh approximation (Hendrycks and Gimpel, 2016).

    >>> import flambeau as torch
    >>> torch.nn.GELU()(torch.tensor(1.0))
    tensor(0.8413)
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class PReLU(Module):
    """max(0, x) + a min(0, x) with a learned, one for all or one for each channel (He et al., 2015).

    >>> import flambeau as torch
    >>> torch.nn.PReLU()(torch.tensor([-1.0, 2.0])).tolist()
    [-0.25, 2.0]
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(ops.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set every slope to the initial one.

        >>> import flambeau as torch
        >>> layer = torch.nn.PReLU(init=0.1)
        >>> _ = torch.nn.init.ones_(layer.weight)
        >>> layer.reset_parameters(); layer.weight.item()
        0.10000000149011612
        """
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class GLU(Module):
    """a sigmoid(b), with a and b the halves of the input along `dim` (Dauphin et al., 2017).

    >>> import flambeau as torch
    >>> torch.nn.GLU()(torch.tensor([2.0, 0.0]))
    tensor([1.])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
