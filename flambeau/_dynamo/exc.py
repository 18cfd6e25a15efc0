"""The errors of PyTorch's tracing compiler, as far as ``compile`` raises them."""

from ..compiler.errors import InvalidBackend, TorchDynamoException

__all__ = ["InvalidBackend", "TorchDynamoException"]
