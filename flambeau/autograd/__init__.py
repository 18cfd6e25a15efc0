"""Automatic differentiation (``torch.autograd``)."""

from . import anomaly_mode, forward_ad, function, functional, graph, tensor_hooks
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .backward import backward, grad
from .function import Function
from .gradcheck import gradcheck, gradgradcheck
from .modes import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled

Variable = function.Tensor

__all__ = [
    "Function", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "forward_ad",
    "function", "functional", "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode",
    "is_grad_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled", "tensor_hooks",
]
