"""rounding."""
