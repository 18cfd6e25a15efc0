"""Linear algebra on batches of small matrices."""
