"""dropout."""
