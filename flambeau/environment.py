"""Small facts and switches of the ``torch`` namespace: files, devices' modules, warnings, errors."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import dtypes
from .devices import device as _device
from .operators.creation.factories import from_numpy
from .tensor import Tensor
from .tensor.construct import from_array

_PACKAGE = __package__ or "flambeau"
_warn_always = False


class OutOfMemoryError(RuntimeError):
    """A device's memory is exhausted."""


class AcceleratorError(RuntimeError):
    """An accelerator reported an error."""


for _error in (OutOfMemoryError, AcceleratorError):
    _error.__module__ = _PACKAGE


class classproperty:
    """A property of a class."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.func(owner)


def get_file_path(*path_components: str) -> str:
    """A path inside the installed package's parent folder.

    >>> import flambeau as torch
    >>> torch.get_file_path("flambeau", "version.py").endswith("version.py")
    True
    """
    return str(Path(__file__).resolve().parents[1].joinpath(*path_components))


def get_device_module(device: Any = None) -> Any:
    """The module of a type of device, such as ``torch.cpu``.

    >>> import flambeau as torch
    >>> torch.get_device_module("cpu") is torch.cpu
    True
    """
    if device is not None and not isinstance(device, (str, _device)):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    kind = "cpu" if device is None else _device(device).type
    try:
        return importlib.import_module(f".{kind}", _PACKAGE)
    except ImportError:
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as "
                           f"'torch.{kind}'.") from None


def set_warn_always(b: bool, /) -> None:
    """Accepted: a warning is shown as often as Python's filters say.

    >>> import flambeau as torch
    >>> torch.set_warn_always(True); torch.is_warn_always_enabled()
    True
    >>> torch.set_warn_always(False)
    """
    global _warn_always
    if not isinstance(b, bool):
        raise TypeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _warn_always = b


def is_warn_always_enabled() -> bool:
    """What ``set_warn_always`` was given.

    >>> import flambeau as torch
    >>> torch.is_warn_always_enabled()
    False
    """
    return _warn_always


def compiled_with_cxx11_abi() -> bool:
    """Whether a C++ extension must be built with the new string type: yes, as in PyTorch today.

    >>> import flambeau as torch
    >>> torch.compiled_with_cxx11_abi()
    True
    """
    return True


def is_vulkan_available() -> bool:
    """Whether there is a Vulkan device: no.

    >>> import flambeau as torch
    >>> torch.is_vulkan_available()
    False
    """
    return False


def cudnn_is_acceptable(tensor: Tensor) -> bool:
    """Whether cuDNN could compute on a tensor: no.

    >>> import flambeau as torch
    >>> torch.cudnn_is_acceptable(torch.ones(2))
    False
    """
    return False


def init_num_threads() -> None:
    """Accepted: threads are started when they are needed."""


def prepare_multiprocessing_environment(path: str) -> None:
    """Accepted: there is nothing to prepare."""


def thread_safe_generator() -> None:
    """A generator of a worker thread of a DataLoader: workers are processes, so there is none."""


def from_file(filename: str, shared: bool | None = None, size: int = 0, *, dtype: Any = None,
              layout: Any = None, device: Any = None, pin_memory: bool = False,
              requires_grad: bool = False) -> Tensor:
    """The first ``size`` elements of a file as a tensor (N) on its mapped memory.

    ``shared``: what is written to the tensor is written to the file, which is made (or made longer) if need
    be; otherwise writes stay here.

    >>> import flambeau as torch
    >>> import os, tempfile
    >>> import numpy as np
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers")
    >>> np.arange(4, dtype=np.float32).tofile(path)
    >>> torch.from_file(path, size=4)
    tensor([0., 1., 2., 3.])
    """
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    path, nbytes = Path(filename), size * kind.itemsize
    if not shared and not path.exists():
        raise RuntimeError(f"unable to open file <{filename}> in read-only mode: No such file or "
                           "directory (2)")
    if shared and (not path.exists() or path.stat().st_size < nbytes):
        with path.open("ab") as file:
            file.truncate(nbytes)
    if path.stat().st_size < nbytes:
        raise RuntimeError(f"file <{filename}> size <{path.stat().st_size}> is smaller than the required "
                           f"mapping size <{nbytes}>")
    if not size:
        return from_array(np.zeros(0, kind.numpy))
    mapped = np.memmap(path, kind.numpy, "r+" if shared else "c", 0, (size,))
    found = from_numpy(np.asarray(mapped)) if kind is not dtypes.bfloat16 else \
        from_numpy(np.asarray(mapped).view(np.int16)).view(kind)
    return found.requires_grad_(requires_grad)


def set_vital(vital: str, attr: str, value: str) -> None:
    """Does nothing but say so, as PyTorch does since it has no vital signs to set."""
    warnings.warn("'set_vital' is deprecated, please do not call", stacklevel=2)


FUNCTIONS = (get_file_path, get_device_module, set_warn_always, is_warn_always_enabled,
             compiled_with_cxx11_abi,
             is_vulkan_available, cudnn_is_acceptable, init_num_threads, prepare_multiprocessing_environment,
             thread_safe_generator, from_file, set_vital, classproperty, OutOfMemoryError, AcceleratorError)
