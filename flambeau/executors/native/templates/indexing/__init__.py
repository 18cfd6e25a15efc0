"""Templates: elements read and written by index or by mask."""
