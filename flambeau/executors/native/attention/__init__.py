"""Attention, tile by tile."""
