"""Operators in other spellings: Python's, PyTorch's own layers', and those that are gone."""

from . import dunders, lower_level, retired, view_copies
