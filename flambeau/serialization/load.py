"""Reading checkpoints. Nothing in a file is trusted: sizes, offsets and names are checked before use."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable
from typing import Any

from .archive import Archive
from .legacy import load_legacy
from .loading_storages import ArchiveStorages
from .names import find
from .options import options
from .safety import BlockedGlobal, RestrictedUnpickler, UnsafeGlobal

_RERUN = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from "
    "`False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but "
    "it can result in arbitrary code execution. Do it only if you got the file from a trusted source."
)
_TAIL = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with "
    "weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)
_CHOICE = (
    "Weights only load failed. This file can still be loaded, to do so you have two options, \x1b[1mdo "
    "those steps "
    "only if you trust the source of the checkpoint\x1b[0m. \n\t(1) "
    + _RERUN
    + "\n\t(2) Alternatively, to load "
    "with `weights_only=True` please check the recommended steps in the following error message.\n\t"
    "WeightsUnpickler error: "
)
_BLOCKED = "Weights only load failed. " + _RERUN + "\n\n\n"
_FAILED = "Weights only load failed. " + _RERUN + "\nWeightsUnpickler error: \n\n"


def _trusting(module: Any) -> type:
    """An unpickler that loads anything, and so can run anything: for files one trusts."""

    class TrustingUnpickler(module.Unpickler):
        def __init__(self, file: Any, load_storage: Callable[[Any], Any], **options: Any) -> None:
            super().__init__(file, **options)
            self.load_storage = load_storage

        def find_class(self, module: str, name: str) -> Any:
            """Names of PyTorch's are found here under flambeau's."""
            return find(module, name) if module.split(".")[0] == "torch" else super().find_class(module, name)

        def persistent_load(self, saved_id: Any) -> Any:
            """The storage that an id names."""
            return self.load_storage(saved_id)

    return TrustingUnpickler


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load what ``save`` (PyTorch's or flambeau's) wrote, from a path or a binary file.

    With ``weights_only`` (the default) nothing in the file can run code: tensors, numbers, strings and plain
    containers are loaded, anything else raises ``pickle.UnpicklingError``. ``weights_only=False`` runs what
    the file says: only for files one trusts. ``map_location`` says where storages go (a device, its name, a
    dictionary of locations, or a function of a storage and its location). With ``mmap`` bytes are read from
    the file when they are needed.

    >>> import io; import flambeau as torch
    >>> file = io.BytesIO(); torch.save(torch.arange(3), file); _ = file.seek(0)
    >>> torch.load(file)
    tensor([0, 1, 2])
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    arguments = {"encoding": "utf-8", **pickle_load_args}
    if mmap is None:
        mmap = options.mmap

    def unpickle(file: Any, load_storage: Callable[[Any], Any]) -> Any:
        if weights_only:
            return _restricted(RestrictedUnpickler(file, load_storage, **arguments))
        return _trusting(pickle_module or pickle)(file, load_storage, **arguments).load()

    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _load(file, f, map_location, unpickle, bool(mmap))
    for method in ("seek", "tell", "read", "readline"):
        if not hasattr(f, method):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{method}'. You can only torch.load from a "
                "file that is seekable. Please pre-load the data into a buffer like io.BytesIO and try to "
                "load from it instead."
            )
    return _load(f, None, map_location, unpickle, bool(mmap))


def _load(
    file: Any, named: Any, map_location: Any, unpickle: Callable[[Any, Callable[[Any], Any]], Any], mmap: bool
) -> Any:
    path = None if named is None else os.fspath(named)
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    if not isinstance(head, bytes):
        raise TypeError(
            f"torch.load reads files opened in binary mode; this one gives {type(head).__name__}, not bytes"
        )
    if not head:
        raise EOFError("Ran out of input: the file is empty")
    if head[:2] != b"PK":
        if mmap:
            title = f"{named}, " if isinstance(named, str) else ""
            raise RuntimeError(
                "mmap can only be used with files saved with `torch.save("
                f"{title}_use_new_zipfile_serialization=True), please "
                "torch.save your checkpoint with this option in order to use mmap."
            )
        return load_legacy(file, _plain, unpickle, map_location)
    if mmap and path is None:
        raise ValueError("f must be a file path in order to use the mmap argument")
    archive = Archive(file, path)
    if archive.has("constants.pkl"):
        raise RuntimeError(
            "the file is a TorchScript archive (saved by torch.jit.save), which flambeau does not read; save "
            "the module's state_dict() with torch.save instead"
        )
    storages = ArchiveStorages(archive, map_location, mmap)
    return unpickle(io.BytesIO(archive.read("data.pkl")), storages)


def _plain(file: Any, load_storage: Callable[[Any], Any]) -> Any:
    return _restricted(RestrictedUnpickler(file, load_storage))


def _restricted(unpickler: RestrictedUnpickler) -> Any:
    try:
        return unpickler.load()
    except UnsafeGlobal as error:
        raise pickle.UnpicklingError(_CHOICE + str(error) + _TAIL) from None
    except BlockedGlobal as error:
        raise pickle.UnpicklingError(_BLOCKED + str(error) + _TAIL) from None
    except pickle.UnpicklingError as error:
        raise pickle.UnpicklingError(_FAILED + str(error) + _TAIL) from None
    except EOFError as error:
        raise EOFError(str(error) or "the pickle in the file ends too early") from None
    except (RuntimeError, MemoryError, UnicodeDecodeError) as error:
        if isinstance(error, RecursionError):
            raise pickle.UnpicklingError(_FAILED + "the pickle is nested too deeply" + _TAIL) from None
        raise
    except Exception as error:  # a damaged pickle fails in any way
        if error is unpickler.failure:
            raise
        raise pickle.UnpicklingError(_FAILED + f"{type(error).__name__}: {error}" + _TAIL) from error
