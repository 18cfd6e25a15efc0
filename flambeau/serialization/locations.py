"""Where loaded storages go: the argument ``map_location`` and the devices that storages are restored on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..devices import META, device
from ..graph.geometry import contiguous
from ..graph.storage import Storage
from ..tensor.recording.record import META_NODE
from ..tensor.storage_view import UntypedStorage
from .helpers import no_device

MAP_LOCATION: TypeAlias = (
    Callable[[UntypedStorage, str], UntypedStorage | None] | device | str | dict[str, str] | None
)
Tagger: TypeAlias = Callable[[Any], str | None]
Deserializer: TypeAlias = Callable[[Any, str], Any]

_packages: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Add a kind of device: how its storages are tagged, and how a tagged storage is put there.

    The first one (of the lowest ``priority``) that answers something else than None wins.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """The location that a storage is saved with, such as ``'cpu'``.

    >>> import flambeau as torch
    >>> torch.serialization.location_tag(torch.ones(1).untyped_storage())
    'cpu'
    """
    for _, tagger, _ in _packages:
        tag = tagger(storage)
        if tag:
            return tag
    raise RuntimeError(f"don't know how to determine data location of {_typename(storage)}")


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage, on the device that a location names."""
    for _, _, deserializer in _packages:
        result = deserializer(storage, location)
        if result is not None:
            return result
    raise RuntimeError(
        f"don't know how to restore data location of {_typename(storage)} (tagged with {location})"
    )


def _typename(storage: Any) -> str:
    return f"torch.storage.{type(storage).__name__}"


def restore(storage: UntypedStorage, location: str, map_location: Any) -> UntypedStorage:
    """What a storage becomes that was saved at ``location``."""
    target = named_location(location, map_location)
    if target is not None:
        result = default_restore_location(storage, target)
    else:
        result = map_location(storage, location)
        if result is None:
            result = default_restore_location(storage, location)
    if not isinstance(result, UntypedStorage):
        raise TypeError(f"map_location must return an UntypedStorage or None, but got {type(result)}")
    return result


def named_location(location: str, map_location: Any) -> str | None:
    """Where ``map_location`` sends a location, if that can be said without calling it."""
    if map_location is None:
        return location
    if isinstance(map_location, dict):
        target = map_location.get(location, location)
        if not isinstance(target, str):
            raise TypeError(
                f"map_location: expected a string for {location!r}, got {type(target).__name__!r}"
            )
        return target
    if isinstance(map_location, str):
        return map_location
    if isinstance(map_location, device):
        return str(map_location)
    if not callable(map_location):
        raise TypeError(f"{type(map_location).__name__!r} object is not callable")
    return None


def on_meta(storage: Storage) -> UntypedStorage:
    """A storage of the same size without values."""
    held = storage.geometry
    return UntypedStorage(_storage=Storage(META_NODE, contiguous((held.numel,), held.dtype, META)))


def _tag(kind: str) -> Tagger:
    return lambda storage: kind if storage.device.type == kind else None


def _absent(place: str, kind: str) -> Deserializer:
    return lambda storage, location: no_device(place, location, kind)


def _restore_mps(storage: Any, location: str) -> None:
    if location.startswith("mps"):
        raise RuntimeError(f"torch.UntypedStorage(): Storage device not recognized: {location}")


register_package(10, _tag("cpu"), lambda storage, location: storage if location == "cpu" else None)
register_package(20, _tag("cuda"), _absent("torch.cuda", "cuda"))
register_package(21, _tag("mps"), _restore_mps)
for _place, _device in (("", "hpu"), ("torch.xpu", "xpu"), ("", "privateuseone")):
    register_package(23, _tag(_device), _absent(_place, _device))
register_package(
    22,
    _tag("meta"),
    lambda storage, location: on_meta(storage.untyped()._storage) if location == "meta" else None,
)
