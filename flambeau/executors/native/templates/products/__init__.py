"""Templates: products of matrices."""
