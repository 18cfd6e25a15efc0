"""The module in which pickles of PyTorch's look for the function that makes tensors of subclasses again."""

from ._utils import _rebuild_from_type_v2

__all__ = ["_rebuild_from_type_v2"]
