"""Templates: steps of optimizers, and gradient clipping."""
