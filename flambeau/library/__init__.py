"""``torch.library``: operators of one's own, with kernels, shape functions and gradients."""

from .checks import opcheck
from .custom_ops import (
    CustomOpDef,
    custom_op,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
    triton_op,
    wrap_triton,
)
from .custom_ops import register_fake as impl_abstract
from .inference import infer_schema
from .libraries import Library, define, fallthrough_kernel, impl

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "impl", "impl_abstract",
    "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel",
    "register_vmap", "triton_op", "wrap_triton",
]
