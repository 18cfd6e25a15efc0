"""Templates: convolutions, pooling and resampling."""
