"""``torch.library``: operators of one's own, with kernels, shape functions and gradients."""

from .custom_ops import (
           CustomOpDef,
           custom_op,
           register_autocast,
           register_autograd,
           register_fake,
           register_kernel,
)
from .libraries import Library, define, impl

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "impl", "register_autocast", "register_autograd",
           "register_fake", "register_kernel"]
