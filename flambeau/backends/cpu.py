"""``torch.backends.cpu``: what the processor can do."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """The widest vectors that the processor has: ``"AVX512"``, ``"AVX2"`` or ``"DEFAULT"``."""
    try:
        with open("/proc/cpuinfo") as file:
            flags = next((line for line in file if line.startswith("flags")), "").split()
    except OSError:
        return "DEFAULT"
    return "AVX512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "DEFAULT"
