"""Extrema."""
