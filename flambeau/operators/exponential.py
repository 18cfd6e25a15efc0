"""exponential."""
