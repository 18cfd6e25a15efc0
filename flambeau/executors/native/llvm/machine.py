"""The CPU that code is made for: its vectors, registers and caches. ``FLAMBEAU_CPU`` names another one."""

from __future__ import annotations

import functools
import os
from typing import Any, NamedTuple

import llvmlite.binding as llvm


class Machine(NamedTuple):
    """What kernel generators need to know of a CPU. Sizes in bytes."""

    name: str
    features: str       # as LLVM writes them
    vector: int         # bytes of a vector register
    registers: int      # number of vector registers
    first_cache: int
    second_cache: int

    def lanes(self, itemsize: int = 4) -> int:
        """How many elements of ``itemsize`` bytes a vector holds."""
        return self.vector // itemsize


@functools.cache
def machine() -> Machine:
    """The CPU of this process, or the one that ``FLAMBEAU_CPU`` names (``haswell``: AVX2)."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    chosen = os.environ.get("FLAMBEAU_CPU", "")
    name = chosen or llvm.get_host_cpu_name()
    features = "" if chosen else llvm.get_host_cpu_features().flatten()
    wide = "+avx512f" in features.split(",") or chosen.startswith(("skylake-avx512", "znver4", "znver5"))
    arm = llvm.get_default_triple().startswith(("aarch64", "arm64"))
    vector, registers = (64, 32) if wide else (16, 32) if arm else (32, 16)
    return Machine(name, features, vector, registers, 32 << 10, 1 << 20)


def target_machine(optimize: int = 3) -> Any:
    """A new LLVM target machine for ``machine()``."""
    host = machine()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=host.name, features=host.features, opt=optimize, jit=True)
