"""``torch.cuda``: answers that there is none."""

from __future__ import annotations

from typing import Any, NoReturn

from ..devices import device as _device
from . import amp, memory, nvtx, random
from .absence import NONE
from .memory import (
    caching_allocator_alloc,
    caching_allocator_disabled,
    caching_allocator_enable,
    empty_cache,
    get_per_process_memory_fraction,
    host_memory_stats,
    host_memory_stats_as_nested_dict,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_host_memory_stats,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_host_memory_stats,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from .queries import (
    CudaError,
    DeferredCudaCallError,
    can_device_access_peer,
    cudart,
    current_blas_handle,
    current_stream,
    default_generators,
    default_stream,
    get_arch_list,
    get_gencode_flags,
    get_sync_debug_mode,
    has_half,
    has_magma,
    init,
    ipc_collect,
    is_tf32_supported,
    list_gpu_processes,
    set_sync_debug_mode,
)
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .streams import (
    CUDAGraph,
    Event,
    OutOfMemoryError,
    Stream,
    StreamContext,
    graph,
    is_current_stream_capturing,
    stream,
)
from .tensor_types import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)

# Programs that keep random states ask for it by this name.
_initialized = False


def is_available() -> bool:
    """Whether there is a CUDA device: no.

    >>> import flambeau as torch
    >>> torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device(type='cpu')
    """
    return False


def is_initialized() -> bool:
    """Whether CUDA is in use: no.

    >>> import flambeau as torch
    >>> torch.cuda.is_initialized()
    False
    """
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the device computes in bfloat16."""
    return False


def device_count() -> int:
    """The number of CUDA devices: none.

    >>> import flambeau as torch
    >>> torch.cuda.device_count()
    0
    """
    return 0


def current_device() -> int:
    """The index of the current device."""
    raise AssertionError(NONE)


def set_device(device: Any) -> None:
    """Choose the current device."""
    raise AssertionError(NONE)


def get_device_name(device: Any = None) -> str:
    """The device's name."""
    raise AssertionError(NONE)


def get_device_properties(device: Any = None) -> Any:
    """The device's properties."""
    raise AssertionError(NONE)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The device's compute capability."""
    raise AssertionError(NONE)


def synchronize(device: Any = None) -> None:
    """Wait for the device."""
    raise AssertionError(NONE)


class device:
    """A context manager that chooses the current device; a negative index chooses none."""

    def __init__(self, device: Any) -> None:
        self.index = device if isinstance(device, int) else _device(device).index

    def __enter__(self) -> None:
        if self.index is not None and self.index >= 0:
            raise AssertionError(NONE)

    def __exit__(self, *exc: object) -> None:
        pass


class device_of(device):
    """A context manager that chooses the device that a tensor is on, none for one on the processor."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)
