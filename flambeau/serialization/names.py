"""Names in checkpoints: PyTorch's module paths against flambeau's."""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Iterator
from typing import Any

from .. import _utils, devices, dtypes, layouts
from ..operators import NAMESPACES
from ..size import Size
from ..tensor import Tensor
from ..tensor.generator import Generator
from ..tensor.storage_view import TypedStorage, UntypedStorage

_HERE = __name__.split(".")[0]

# What a storage of each dtype is called in a pickle; others are written as untyped bytes.
STORAGE_NAMES = {
    dtypes.float32: "FloatStorage",
    dtypes.float64: "DoubleStorage",
    dtypes.float16: "HalfStorage",
    dtypes.bfloat16: "BFloat16Storage",
    dtypes.int64: "LongStorage",
    dtypes.int32: "IntStorage",
    dtypes.int16: "ShortStorage",
    dtypes.int8: "CharStorage",
    dtypes.uint8: "ByteStorage",
    dtypes.bool_: "BoolStorage",
    dtypes.complex64: "ComplexFloatStorage",
    dtypes.complex128: "ComplexDoubleStorage",
}
UNTYPED = "UntypedStorage"

# Modules whose classes PyTorch keeps elsewhere (the other way `find` looks in the package around).
_MOVED = {
    "nn.modules.adaptive_pooling": "nn.modules.pooling",
    "nn.modules.fractional_pooling": "nn.modules.pooling",
    "nn.modules.margin_losses": "nn.modules.loss",
    "nn.modules.cross_map_lrn": "nn.modules.normalization",
    "nn.modules.rnn_cells": "nn.modules.rnn",
    "nn.modules.softmax": "nn.modules.activation",
    "nn.modules.shrink": "nn.modules.activation",
    "nn.modules.attention": "nn.modules.activation",
    "nn.modules.lazy_conv": "nn.modules.conv",
    "nn.modules._parameter_containers": "nn.modules.container",
    "nn.modules._rnn_base": "nn.modules.rnn",
    "nn.modules.linear_cross_entropy": "nn.modules.loss",
    "nn.modules.transformer_layers": "nn.modules.transformer",
    "distributions.constraints_base": "distributions.constraints",
    "distributions.constraints_joint": "distributions.constraints",
    "distributions.constraints_matrices": "distributions.constraints",
    "distributions.transforms_base": "distributions.transforms",
    "distributions.transforms_elementwise": "distributions.transforms",
    "distributions.transforms_events": "distributions.transforms",
    "utils._selective_checkpoint": "utils.checkpoint",
    "utils.data.datapipes.iter.forking": "utils.data.datapipes.iter.combining",
    "dtypes": "",
    "layouts": "",
    "serialization.file_reader": "",
    "sparse.construct": "sparse",
    "streams": "",
    "optim.adafactor": "optim",
    "optim.muon": "optim",
    "cuda.amp": "cuda.amp.grad_scaler",
}


class StorageType:
    """Stands for ``torch.FloatStorage`` and its kin in pickles."""

    def __init__(self, name: str, dtype: dtypes.dtype) -> None:
        self.name = name
        self.dtype = dtype

    def __reduce__(self) -> tuple[Any, ...]:
        return storage_type, (self.name,)  # for picklers that write flambeau's own names


STORAGE_TYPES = {name: StorageType(name, d) for d, name in STORAGE_NAMES.items()}
STORAGE_TYPES[UNTYPED] = StorageType(UNTYPED, dtypes.uint8)


def storage_type(name: str) -> StorageType:
    """The storage type with a name such as ``FloatStorage``."""
    return STORAGE_TYPES[name]


def _get_layout(name: str) -> layouts.layout:
    """The layout with a name such as ``torch.strided``."""
    found = getattr(layouts, name.removeprefix("torch."), None)
    if not isinstance(found, layouts.layout):
        raise RuntimeError(f"flambeau has no layout {name!r}: tensors are strided")
    return found


# Objects by the names they have in checkpoints; the inverse names them when they are saved.
SPECIAL: dict[tuple[str, str], Any] = {
    ("torch", "Tensor"): Tensor,
    ("torch", "Size"): Size,
    ("torch", "device"): devices.device,
    ("torch", "dtype"): dtypes.dtype,
    ("torch", "layout"): layouts.layout,
    ("torch._C", "Generator"): Generator,
    ("torch.storage", "TypedStorage"): TypedStorage,
    ("torch.serialization", "_get_layout"): _get_layout,
    ("torch._tensor", "_rebuild_from_type_v2"): _utils._rebuild_from_type_v2,
    **{("torch", d.name): d for d in dtypes.ALL},
    **{("torch", kind.name): kind for kind in STORAGE_TYPES.values()},
    ("torch.storage", UNTYPED): STORAGE_TYPES[UNTYPED],
}
_NAMES: dict[int, tuple[str, str]] = {id(value): name for name, value in SPECIAL.items()}
_NAMES[id(UntypedStorage)] = ("torch.storage", UNTYPED)


@functools.cache
def _function_names() -> dict[int, tuple[str, str]]:
    """Public modules and names of operators, which are defined elsewhere."""
    found: dict[int, tuple[str, str]] = {}
    for namespace in ("nn.functional", "torch", "linalg", "fft", "special"):
        module = "torch" if namespace == "torch" else "torch." + namespace
        for name, function in NAMESPACES.get(namespace, {}).items():
            for layer in _layers(function):
                found.setdefault(id(layer), (module, name))
    return found


def _layers(function: Any) -> Iterator[Any]:
    """A function and those that it wraps: whoever took it earlier may have it without its dispatcher."""
    while function is not None:
        yield function
        function = getattr(function, "__wrapped__", None)


def public_name(obj: Any, name: str | None = None) -> tuple[str, str]:
    """Module and name under which PyTorch would find a global of flambeau's."""
    known = _NAMES.get(id(obj))
    if known is not None:
        return known
    if isinstance(obj, dtypes.dtype):  # one that no tensor has
        return "torch", obj.name
    name = name or getattr(obj, "__qualname__", None) or obj.__name__
    module = getattr(obj, "__module__", None) or "__main__"
    if module != _HERE and not module.startswith(_HERE + "."):
        return module, name
    for layer in _layers(obj) if isinstance(obj, types.FunctionType) else ():
        if id(layer) in _function_names():
            return _function_names()[id(layer)]
    inner = module[len(_HERE) + 1 :]
    if inner.startswith("optim.lr_scheduler."):
        inner = "optim.lr_scheduler"
    inner = _MOVED.get(inner, inner)
    return f"torch.{inner}" if inner else "torch", name


def find(module: str, name: str) -> Any:
    """The object that a name of PyTorch's stands for here."""
    special = SPECIAL.get((module, name))
    if special is not None:
        return special
    package = _HERE + module[len("torch") :]
    while True:
        try:
            found: Any = importlib.import_module(package)
            for part in name.split("."):
                found = getattr(found, part)
            return found
        except (ImportError, AttributeError):
            package = package.rpartition(".")[0]  # PyTorch may keep it in a module beside
            if not package:
                raise AttributeError(f"flambeau has no {module}.{name}, which the checkpoint names") from None
