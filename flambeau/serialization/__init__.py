"""``torch.save`` and ``torch.load`` in PyTorch's own file format, in both directions."""

import pickle as pickle  # the module of programs that pass ``pickle_module`` on
from tempfile import mkdtemp

from ..types import FileLike
from .endianness import LoadEndianness, get_default_load_endianness, set_default_load_endianness
from .helpers import (
    check_module_version_greater_or_equal,
    normalize_storage_type,
    storage_to_tensor_type,
    validate_cuda_device,
    validate_hpu_device,
)
from .inspection import get_unsafe_globals_in_checkpoint
from .legacy import MAGIC_NUMBER, PROTOCOL_VERSION
from .load import load
from .locations import MAP_LOCATION, default_restore_location, location_tag, register_package
from .names import StorageType, _get_layout
from .options import (
    get_crc32_options,
    get_default_mmap_options,
    set_crc32_options,
    set_default_mmap_options,
    skip_data,
)
from .safety import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .save import save

DEFAULT_PROTOCOL = 2


class SourceChangeWarning(Warning):
    """The source of a saved class has changed. Checkpoints hold no sources today: nothing warns so."""


__all__ = [
    "DEFAULT_PROTOCOL",
    "FileLike",
    "LoadEndianness",
    "MAGIC_NUMBER",
    "MAP_LOCATION",
    "PROTOCOL_VERSION",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "mkdtemp",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
    "validate_cuda_device",
    "validate_hpu_device",
]
