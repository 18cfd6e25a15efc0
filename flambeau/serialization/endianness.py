"""Which byte order is assumed for checkpoints that do not say theirs."""

from __future__ import annotations

import sys
from enum import Enum

from .options import options


class LoadEndianness(Enum):
    """Byte orders of a checkpoint.

    >>> import flambeau as torch
    >>> from flambeau.serialization import LoadEndianness
    >>> [each.name for each in LoadEndianness]
    ['NATIVE', 'LITTLE', 'BIG']
    """

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """What ``set_default_load_endianness`` was given.

    >>> import flambeau as torch
    >>> torch.serialization.get_default_load_endianness() is None
    True
    """
    found: LoadEndianness | None = options.endianness
    return found


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order of checkpoints without a record of it; None means little-endian.

    >>> import flambeau as torch
    >>> from flambeau import serialization
    >>> serialization.set_default_load_endianness(serialization.LoadEndianness.LITTLE)
    >>> serialization.get_default_load_endianness().name
    'LITTLE'
    >>> serialization.set_default_load_endianness(None)
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    options.endianness = endianness


def must_swap(recorded: str | None) -> bool:
    """Whether bytes must be swapped that were saved in the recorded order (None: not recorded)."""
    if recorded is None:
        assumed = options.endianness or LoadEndianness.LITTLE
        recorded = sys.byteorder if assumed is LoadEndianness.NATIVE else assumed.name.lower()
    if recorded not in ("little", "big"):
        raise ValueError(f"Unknown endianness type: {recorded}")
    return recorded != sys.byteorder
