"""``torch._custom_ops``: the older place of ``torch.library``'s decorators."""

from .library import custom_op, register_fake
from .library import register_fake as impl_abstract

__all__ = ["custom_op", "impl_abstract", "register_fake"]
