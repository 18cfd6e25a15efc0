"""Local response normalization as Torch 7 computed it."""

from __future__ import annotations

from ... import operators as ops
from ...tensor import Tensor
from .. import functional as F
from .module import Module


class CrossMapLRN2d(Module):
    """Divide (N, C, H, W) by (k + alpha / size times the sum of x^2 over neighbouring channels)^beta.

    Channel c sums its r = (size - 1) // 2 neighbours on either side; from channel r + 1 on the first channel
    is
    summed too, as the published models that use the layer were trained.

    >>> import flambeau as torch
    >>> torch.nn.CrossMapLRN2d(3)(torch.randn(2, 5, 4, 4)).shape
    torch.Size([2, 5, 4, 4])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        radius = (self.size - 1) // 2
        squares = input.pow(2)
        padded = F.pad(squares, (0, 0, 0, 0, radius, radius))
        sums = padded.unfold(1, 2 * radius + 1, 1).sum(-1)
        late = ops.arange(input.size(1), device=input.device) > radius
        sums = sums + squares[:, :1] * late.view(1, -1, 1, 1)
        return input * (self.k + self.alpha / self.size * sums).pow(-self.beta)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
