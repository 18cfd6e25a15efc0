"""Questions about the devices and how they were built for: there are none."""

from __future__ import annotations

from typing import Any, NoReturn

from .absence import refuse

default_generators: tuple[Any, ...] = ()
has_half = True
has_magma = False


class CudaError(RuntimeError):
    """An error of the CUDA runtime."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error {code}")


class DeferredCudaCallError(Exception):
    """What was to be done when CUDA is first used has failed."""


def get_arch_list() -> list[str]:
    """The architectures that kernels were built for: none.

    >>> import flambeau as torch
    >>> torch.cuda.get_arch_list()
    []
    """
    return []


def get_gencode_flags() -> str:
    """The flags of the compiler for these architectures: none."""
    return ""


def is_tf32_supported() -> bool:
    """Whether the device computes in TF32: no.

    >>> import flambeau as torch
    >>> torch.cuda.is_tf32_supported()
    False
    """
    return False


def list_gpu_processes(device: Any = None) -> str:
    """A report on the processes that use the device."""
    return "pynvml module not found, please install nvidia-ml-py"


def init() -> NoReturn:
    """Begin to use CUDA."""
    refuse()


def ipc_collect() -> NoReturn:
    """Give memory back that other processes have released."""
    refuse()


def cudart() -> NoReturn:
    """The CUDA runtime."""
    refuse()


def current_stream(device: Any = None) -> NoReturn:
    """The stream that kernels go to."""
    refuse()


def default_stream(device: Any = None) -> NoReturn:
    """The stream that kernels go to at first."""
    refuse()


def current_blas_handle() -> NoReturn:
    """The handle of cuBLAS."""
    refuse()


def can_device_access_peer(device: Any, peer_device: Any) -> NoReturn:
    """Whether a device reads another's memory."""
    refuse()


def get_sync_debug_mode() -> NoReturn:
    """Whether waiting for the device is reported."""
    refuse()


def set_sync_debug_mode(debug_mode: int | str) -> NoReturn:
    """Choose whether waiting for the device is reported."""
    refuse()
