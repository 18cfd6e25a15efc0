"""``torch.onnx``: what packages ask and declare. Exporting itself (``export``) is not there yet."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any


class TensorProtoDataType(enum.Enum):
    """ONNX's types of elements."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20


class OnnxExporterError(RuntimeError):
    """The base of the exporter's errors."""


# (name of an operator, opset) -> the function that writes it as ONNX nodes.
symbolics: dict[tuple[str, int], Callable[..., Any]] = {}


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: never."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable[..., Any],
                                opset_version: int) -> None:
    """Declare how an operator ``"namespace::name"`` is written as ONNX nodes from an opset on."""
    namespace, colons, name = symbolic_name.partition("::")
    if not (namespace and colons and name):
        raise ValueError(f"Failed to register operator {symbolic_name}. The symbolic name must match the "
                         "format domain::name, and should start with a letter and contain only "
                         "alphanumerical characters")
    symbolics[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Take such a declaration back."""
    symbolics.pop((symbolic_name, opset_version), None)


__all__ = ["OnnxExporterError", "TensorProtoDataType", "is_in_onnx_export", "register_custom_op_symbolic",
           "unregister_custom_op_symbolic"]
