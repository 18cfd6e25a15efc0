"""Tensors from nothing, from data, and from a tensor as it is: copies, casts, memory formats."""

from . import casting, creation, creation_methods, factories, ranges, strided
