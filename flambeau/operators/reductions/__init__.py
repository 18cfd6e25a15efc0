"""Over dimensions: sums and extrema, statistics, running sums; order, ranks, counts."""

from . import (
    cumulative,
    differences,
    extrema,
    hashing,
    histograms,
    integration,
    order_statistics,
    reduction,
    segments,
    sorting,
    statistics,
    total_product,
    truth,
    uniqueness,
)
