"""The errors of PyTorch's tracing compiler: those that ``compile`` raises, and those that programs catch."""

from ..compiler.errors import (
    BackendCompilerFailed,
    InternalTorchDynamoError,
    InvalidBackend,
    TorchDynamoException,
    Unsupported,
)

__all__ = ["BackendCompilerFailed", "InternalTorchDynamoError", "InvalidBackend", "TorchDynamoException",
           "Unsupported"]
