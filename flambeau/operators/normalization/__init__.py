"""Batch, instance, group, layer, RMS and local response norm (Note: normalization)."""

from . import (
    batch_normalization,
    group_normalization,
    layer_normalization,
    local_normalization,
    native_normalization,
    normalization,
)
