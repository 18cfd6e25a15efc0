"""For ``isinstance``."""

from torch import nn


class FrozenBatchNorm2d(nn.Module):
    """A batch normalization with fixed statistics."""
