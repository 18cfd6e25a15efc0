"""Automatic differentiation (``torch.autograd``)."""

from .backward import backward, grad
from .modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["backward", "enable_grad", "grad", "inference_mode", "no_grad", "set_grad_enabled"]
