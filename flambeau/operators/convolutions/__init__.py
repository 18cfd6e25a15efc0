"""Windows that slide over a grid: convolution, pooling, patches; resampling and sampling at points."""

from . import (
    adaptive_pooling,
    average_pooling,
    convolution,
    folding,
    fractional_pooling,
    grid_sampling,
    pooling,
    resampling,
    sequence_convolution,
)
