"""Templates: normalization over groups of channels."""
