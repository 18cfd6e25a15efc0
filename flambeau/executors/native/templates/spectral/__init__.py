"""Templates: Fourier transforms."""
