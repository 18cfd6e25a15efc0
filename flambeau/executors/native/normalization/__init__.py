"""Normalizations that are no rows: over groups of channels."""
