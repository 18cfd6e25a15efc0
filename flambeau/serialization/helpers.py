"""Small functions of ``torch.serialization`` that other programs call."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[int, ...], error_if_malformed: bool = True
) -> bool:
    """Whether a module's ``__version__`` is a version or a later one.

    >>> import numpy
    >>> check_module_version_greater_or_equal(numpy, (1, 0))
    True
    """
    try:
        parts = module.__version__.split(".")
        version = tuple(type(wanted)(part) for part, wanted in zip(parts, req_version_tuple, strict=False))
    except Exception as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot be "
            f"compared with tuple {req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from error
        warnings.warn(f"{message}, but continuing assuming that requirement is met", stacklevel=2)
        return True
    return version >= req_version_tuple


def no_device(place: str, location: str, device: str) -> None:
    """Raise for a location on a device that is not there."""
    if not location.startswith(device):
        return
    missing = (
        f"Attempting to deserialize object on a {device.upper()} device but {place}.is_available() is False."
        if place
        else f"The {device.upper()} device module is not registered."
    )
    raise RuntimeError(
        f"{missing} If you are running on a CPU-only machine, please use torch.load with "
        "map_location=torch.device('cpu') to map your storages to the CPU."
    )


def validate_cuda_device(location: str) -> None:
    """Raise: there is no CUDA device."""
    no_device("torch.cuda", location, "cuda")


def validate_hpu_device(location: str) -> None:
    """Raise: there is no HPU."""
    no_device("", location, "hpu")


def normalize_storage_type(storage_type: Any) -> Any:
    """The storage type as it is called in ``torch``."""
    return storage_type


def storage_to_tensor_type(storage: Any) -> Any:
    """The class of tensors whose storages are of a class."""
    kind = type(storage)
    return getattr(import_module(kind.__module__), kind.__name__.replace("Storage", "Tensor"))
