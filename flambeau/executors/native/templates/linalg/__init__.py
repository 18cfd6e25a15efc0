"""Templates: factorizations of matrices, and distances between rows."""
