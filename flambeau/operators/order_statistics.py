"""Order statistics."""
