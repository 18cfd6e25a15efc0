"""factories."""
