"""``torch._C._nn``: the names under which PyTorch keeps some functions of ``torch.nn.functional``."""

from typing import Any

from ..nn import functional
from ..nn.modules._conversion import parse_to as _parse_to  # noqa: F401 (a name that is there)

NAMES = frozenset({"avg_pool2d", "avg_pool3d", "elu_", "gelu", "hardtanh_", "leaky_relu_", "linear",
                   "log_sigmoid", "one_hot", "scaled_dot_product_attention", "softplus", "softshrink"})


def __getattr__(name: str) -> Any:
    # Looked up when it is used: classes that override functions change what the names stand for.
    if name not in NAMES:
        raise AttributeError(f"module 'torch._C._nn' has no attribute {name!r}")
    return getattr(functional, "logsigmoid" if name == "log_sigmoid" else name)
