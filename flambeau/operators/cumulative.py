"""cumulative."""
