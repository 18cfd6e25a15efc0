"""Names in checkpoints: PyTorch's module paths against flambeau's."""

from __future__ import annotations

import importlib
from typing import Any

from .. import devices, dtypes
from ..operators.generator import Generator
from ..size import Size
from ..tensor import Tensor

# What a storage of each dtype is called in a pickle.
STORAGE_NAMES = {
    dtypes.float32: "FloatStorage", dtypes.float64: "DoubleStorage", dtypes.float16: "HalfStorage",
    dtypes.bfloat16: "BFloat16Storage", dtypes.int64: "LongStorage", dtypes.int32: "IntStorage",
    dtypes.int16: "ShortStorage", dtypes.int8: "CharStorage", dtypes.uint8: "ByteStorage", dtypes.bool_: "BoolStorage",
    dtypes.complex64: "ComplexFloatStorage", dtypes.complex128: "ComplexDoubleStorage",
}
STORAGE_DTYPES = {name: d for d, name in STORAGE_NAMES.items()}

_SPECIAL: dict[Any, tuple[str, str]] = {
    Tensor: ("torch", "Tensor"), Size: ("torch", "Size"), devices.device: ("torch", "device"),
    Generator: ("torch._C", "Generator"),
}


class StorageType:
    """Stands for ``torch.FloatStorage`` and its kin in pickles."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dtype = STORAGE_DTYPES.get(name, dtypes.uint8)


def public_name(obj: Any, name: str | None) -> tuple[str, str]:
    """Module and name under which PyTorch would find a global of flambeau's."""
    if isinstance(obj, dtypes.dtype):
        return "torch", obj.name
    if isinstance(obj, StorageType):
        return "torch", obj.name
    found = _SPECIAL.get(obj) if isinstance(obj, type) else None
    if found is not None:
        return found
    module = getattr(obj, "__module__", None) or "__main__"
    if module == "flambeau" or module.startswith("flambeau."):
        module = "torch" + module[len("flambeau"):]
    return module, name or obj.__qualname__


def find(module: str, name: str) -> Any:
    """The object that a name of PyTorch's stands for here."""
    if module == "torch":
        if name in STORAGE_DTYPES or name in ("UntypedStorage", "TypedStorage"):
            return StorageType(name)
        for special, path in _SPECIAL.items():
            if path == (module, name):
                return special
    if (module, name) == ("torch._C", "Generator"):
        return Generator
    if module == "torch.storage" and name in ("UntypedStorage", "TypedStorage"):
        return StorageType(name)
    if module == "torch" or module.startswith("torch."):
        module = "flambeau" + module[len("torch"):]
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
