"""Unique elements."""
