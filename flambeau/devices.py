"""Devices: where a tensor's values live. ``cpu`` computes; ``meta`` has shapes and no values."""

from __future__ import annotations

import re
from typing import Any

_WELL_FORMED = re.compile("[a-z_A-Z]+(:(0|[1-9][0-9]*))?")
_TYPES = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia",
          "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone")

_known: dict[tuple[str, int | None], device] = {}  # one object for each: they are compared by identity


_ABSENT: Any = object()


def _no_device(got: str, why: str = "") -> TypeError:
    if why:
        why = f"      didn't match because some of the {why}\n"
    return TypeError(f"device() received an invalid combination of arguments - got ({got}), but expected one "
                     f"of:\n * (torch.device device)\n{why} * (str type, int index = -1)\n")


def _by_keyword(type: Any, index: Any, other: dict[str, Any]) -> Any:
    """The device of ``torch.device(device=...)``."""
    if type is not _ABSENT or index is not None or set(other) != {"device"}:
        got = ", ".join([f"{name}={value.__class__.__name__}" for name, value in other.items()])
        raise _no_device(f"{got}, ", f"keywords were incorrect: {', '.join(other)}")
    return other["device"]


def _require_index(index: Any) -> None:
    if not hasattr(index, "__index__") or isinstance(index, bool):
        raise TypeError("device(): argument 'index' (position 2) must be int, not "
                        f"{index.__class__.__name__}")
    if not -1 << 63 <= index < 1 << 63:
        raise ValueError("Overflow when unpacking long long")


class device:
    """A device's type and optional index, ``device('cpu')`` or ``device('cuda', 0)``.

    >>> import flambeau as torch
    >>> torch.device('cuda:1').index
    1
    """

    __slots__ = ("type", "index")

    type: str
    index: int | None

    def __new__(cls, type: str | int | device = _ABSENT, index: int | None = None, **other: Any) -> device:
        if type.__class__ is str and index is None and not other \
                and (known := _known.get((type, None))) is not None:
            return known
        if other:
            type = _by_keyword(type, index, other)
        if isinstance(type, device):
            return type
        if not isinstance(type, (str, int)) or type.__class__ is bool:
            got = "" if type is _ABSENT else type.__class__.__name__
            raise _no_device(got, got and f"arguments have invalid types: (!{got}!)")
        if index is not None:
            _require_index(index)
        if (type if isinstance(type, int) else index or 0) < 0:
            raise RuntimeError("Device index must not be negative")
        if isinstance(type, int):
            raise RuntimeError("Cannot access accelerator device when none is available.")
        self = object.__new__(cls)
        if not _WELL_FORMED.fullmatch(type):
            raise RuntimeError(f"Invalid device string: '{type}'" if type else
                               "Device string must not be empty")
        if ":" in type:
            if index is not None:
                raise RuntimeError("type (string) must not include an index because index was passed "
                                   f"explicitly: {type}")
            type, _, digits = type.partition(":")
            index = int(digits)
        if type not in _TYPES:
            raise RuntimeError(
                f"Expected one of {', '.join(_TYPES)} device type at start of device string: {type}"
            )
        self.type = type
        self.index = index
        return _known.setdefault((type, index), self)

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (self.type,) if self.index is None else (self.type, self.index))

    def __enter__(self) -> device:
        _stack.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _stack.pop()


CPU = device("cpu")
META = device("meta")
_stack: list[device] = [CPU]


def get_default_device() -> device:
    """The device of new tensors that name none.

    >>> import flambeau as torch
    >>> torch.get_default_device()
    device(type='cpu')
    """
    return _stack[-1]


def set_default_device(device: device | str | None) -> None:
    """Set the device of new tensors that name none (``None``: back to the CPU).

    >>> import flambeau as torch
    >>> torch.set_default_device("meta")
    >>> torch.ones(2).device
    device(type='meta')
    >>> torch.set_default_device(None)
    >>> torch.ones(2).device
    device(type='cpu')
    """
    _stack[0] = CPU if device is None else resolve(device)


def resolve(wanted: Any) -> device:
    """The device object for an argument ``device=``; an error where it cannot be used here."""
    if wanted is None:
        return _stack[-1]
    found = device(wanted)
    if found.type == "cpu":
        return CPU
    if found.type == "meta":
        return META
    if found.type in ("cuda", "xpu"):
        raise AssertionError(f"Torch not compiled with {found.type.upper()} enabled")
    if found.type == "mps":
        raise RuntimeError("PyTorch is not linked with support for mps devices")
    raise RuntimeError(f"flambeau has no device '{found}' yet: 'cpu' and 'meta' are available")
