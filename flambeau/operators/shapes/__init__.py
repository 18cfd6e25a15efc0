"""Views, and tensors in parts or joined: what changes shapes and strides but no element."""

from . import diagonals, expanding, joining, metadata, shape, slicing, splitting, strided_views, transposing
