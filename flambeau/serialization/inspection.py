"""Which globals of a checkpoint ``load(weights_only=True)`` does not know."""

from __future__ import annotations

import os
import pickletools
from typing import Any

from .archive import Archive
from .safety import canonical, is_safe


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Names in a checkpoint that would have to be given to ``add_safe_globals``. Nothing of it is loaded.

    >>> import io; import flambeau as torch
    >>> file = io.BytesIO(); torch.save([torch.ones(1), slice(2)], file)
    >>> _ = file.seek(0); torch.serialization.get_unsafe_globals_in_checkpoint(file)
    ['builtins.slice']
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return get_unsafe_globals_in_checkpoint(file)
    start = f.tell()
    head = f.read(4)
    f.seek(start)
    if head[:2] != b"PK":
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    archive = Archive(f)
    if archive.has("constants.pkl"):
        raise ValueError(
            "Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint"
        )
    found = dict.fromkeys(canonical(*name) for name in _globals(archive.read("data.pkl")))
    return [".".join(name) for name in found if not is_safe(*name)]


def _globals(data: bytes) -> list[tuple[str, str]]:
    """Module and name of all globals in a pickle."""
    found: list[tuple[str, str]] = []
    memo: dict[Any, Any] = {}
    texts: list[Any] = [None, None]  # the two values pushed last, where they are text
    for opcode, argument, _ in pickletools.genops(data):
        name = opcode.name
        if name in ("GLOBAL", "INST"):
            module, _, qualified = str(argument).partition(" ")
            found.append((module, qualified))
        elif name == "STACK_GLOBAL":
            found.append((str(texts[-2]), str(texts[-1])))
        if name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[argument] = texts[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = texts[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            texts = [texts[-1], memo.get(argument)]
        elif name not in ("FRAME", "PROTO"):
            texts = [texts[-1], argument if isinstance(argument, str) and "UNICODE" in name else None]
    return found
