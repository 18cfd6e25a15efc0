"""flambeau: deep learning with PyTorch's programming model, recording first and computing when looked at."""

import gc as _gc
from typing import TYPE_CHECKING, Any

# What is imported stays: collections that walk through it take a fifth of the import's time.
_collects = _gc.isenabled()
_gc.disable()
try:
    from . import (
        _C,
        __config__,
        __future__,
        _assemble,
        _dynamo,
        accelerator,
        alias,
        amp,
        autograd,
        backends,
        compiler,
        config,
        cpu,
        cuda,
        devices,
        distributed,
        dtypes,
        fft,
        func,
        jit,
        layouts,
        library,
        linalg,
        mps,
        nn,
        ops,
        optim,
        overrides,
        random,
        return_types,
        serialization,
        sparse,
        special,
        storage,
        symbolic,
        types,
        utils,
        version,
        xpu,
    )
    from .amp import GradScaler, autocast, is_autocast_available
    from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
    from .autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
    from .autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
    from .compiler import compile
    from .devices import device, get_default_device, set_default_device
    from .dtypes import can_cast, dtype, get_default_dtype, promote_types, set_default_dtype
    from .engine import explain, synchronize
    from .func import vmap
    from .random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state
    from .serialization import load, save
    from .serialization.file_reader import PyTorchFileReader
    from .size import Size
    from .tensor import Tensor
    from .tensor.generator import Generator, default_generator
    from .tensor.storage_view import StorageBase, TypedStorage, UntypedStorage
    from .torch_version import __version__
    from .type_info import finfo, iinfo

    _assemble.fill(globals())
finally:
    if _collects:
        _gc.enable()

# What the import made stays for ever: walking it again and again is what most of Python's garbage collections
# would be spent on where graphs of new shapes come all the time.
_gc.freeze()
# A step records more objects than under PyTorch: collections come as often per step as there.
if _gc.get_threshold()[0] in (700, 2000):   # Python's own, older and newer
    _gc.set_threshold(10_000, *_gc.get_threshold()[1:])

if TYPE_CHECKING:
    def __getattr__(name: str) -> Any: ...
else:
    __getattr__ = _assemble.missing
