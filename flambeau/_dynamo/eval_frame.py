"""``torch._dynamo.eval_frame``: where libraries look for the class of compiled modules."""

from ..compiler import OptimizedModule

__all__ = ["OptimizedModule"]
