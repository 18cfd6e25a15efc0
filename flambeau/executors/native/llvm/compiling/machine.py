"""The CPU that code is made for: its vectors, registers and caches. ``FLAMBEAU_CPU`` names another one."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
from pathlib import Path
from typing import NamedTuple

from . import disk

LINE = 64               # bytes of a cache line
LAST_CACHE = 1 << 25    # bytes of the last cache, which cores share


class Machine(NamedTuple):
    """What kernel generators need to know of a CPU. Sizes in bytes."""

    name: str
    features: str       # as LLVM writes them
    vector: int         # bytes of a vector register
    registers: int      # number of vector registers
    second_cache: int
    compiler: str = ""  # the version of LLVM

    @property
    def scales(self) -> bool:
        """Whether there is an instruction for x 2^n in vectors, and this LLVM uses it."""
        return self.vector == 64 and int(self.compiler.rpartition(" ")[2].partition(".")[0] or 0) >= 22

    @property
    def passes(self) -> bool:
        """Whether there are stores of lines past the caches, and what makes others see them (x86)."""
        return self.vector >= 32

    def lanes(self, itemsize: int = 4) -> int:
        """How many elements of ``itemsize`` bytes a vector holds."""
        return self.vector // itemsize


@functools.cache
def machine() -> Machine:
    """The CPU of this process, or the one that ``FLAMBEAU_CPU`` names (``haswell``: AVX2).

    LLVM knows. What it said is kept on disk, under what the system says of the CPU and of LLVM's files.
    """
    key, kept = _kept()
    if kept is not None:
        return kept
    found = _asked()
    if key is not None:
        disk.store(key, json.dumps(found).encode())
    return found


def is_known() -> bool:
    """Whether LLVM need not be asked."""
    return _kept()[1] is not None


@functools.cache
def _kept() -> tuple[str | None, Machine | None]:
    """The entry on disk of this CPU, and what it says."""
    known = _circumstances()
    key = None if known is None else disk.key_of("machine", *known)
    kept = None if key is None else disk.load(key)
    return key, None if kept is None else Machine(*json.loads(kept))


def _asked() -> Machine:
    from . import compiler  # LLVM is loaded only to compile

    chosen = os.environ.get("FLAMBEAU_CPU", "")
    name, features = (chosen, "") if chosen else compiler.host()
    wide = "+avx512f" in features.split(",") or chosen.startswith(("skylake-avx512", "znver4", "znver5"))
    arm = compiler.triple().startswith(("aarch64", "arm64"))
    vector, registers = (64, 32) if wide else (16, 32) if arm else (32, 16)
    return Machine(name, features, vector, registers, 1 << 20, compiler.version())


# What /proc/cpuinfo says of a processor that has nothing to do with its state at the moment.
_LASTING = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")


def _circumstances() -> tuple[str, ...] | None:
    """What ``machine()`` follows from, as far as it can be known quickly; None where it cannot."""
    spec = importlib.util.find_spec("llvmlite")
    if spec is None or not spec.submodule_search_locations:
        return None
    try:
        with open("/proc/cpuinfo") as file:
            lines = dict(_entry(line) for line in iter(file.readline, "\n") if line)
        library = max(os.scandir(Path(spec.submodule_search_locations[0]) / "binding"),
                      key=lambda entry: entry.stat().st_size).stat()
    except (OSError, ValueError):
        return None
    if "flags" not in lines:    # another kind of processor, described in other words
        return None
    return (*(lines.get(name, "") for name in _LASTING), os.environ.get("FLAMBEAU_CPU", ""),
            f"{library.st_size} {library.st_mtime_ns}", Machine._fields.__repr__())


def _entry(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip(), value.strip()
