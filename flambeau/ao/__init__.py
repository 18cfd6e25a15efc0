"""``torch.ao``: what models declare for quantization."""

from . import quantization

__all__ = ["quantization"]
