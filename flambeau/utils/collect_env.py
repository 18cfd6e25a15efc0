"""``torch.utils.collect_env``: what goes into a bug report, printed by ``python -m``."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata

from ..version import __version__

# In names of packages that are listed.
_WORDS = ("torch", "numpy", "flambeau", "llvmlite", "triton", "optree", "onnx", "mypy")


def get_pretty_env_info() -> str:
    """Versions, system, processor and packages, a line each.

    >>> get_pretty_env_info().splitlines()[0].partition(":")[0]
    'PyTorch version'
    """
    facts = {
        "PyTorch version": __version__, "Is debug build": False, "CUDA used to build PyTorch": None,
        "ROCM used to build PyTorch": None}
    system = {"OS": f"{_os()} ({platform.machine()})", "Libc version": "-".join(platform.libc_ver())}
    python = {
        "Python version": f"{sys.version.splitlines()[0]} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        "Python platform": platform.platform(), "Is CUDA available": False, "Is XPU available": False}
    processor = {"Architecture": platform.machine(), "CPU(s)": os.cpu_count(), "Model name": _processor()}
    parts = [_lines(facts), _lines(system), _lines(python), "CPU:\n" + _lines(processor),
             "Versions of relevant libraries:\n" + "\n".join(f"[pip3] {line}" for line in _packages())]
    return "\n\n".join(parts)


def _lines(facts: Mapping[str, object]) -> str:
    return "\n".join(f"{name}: {'N/A' if value is None else value}" for name, value in facts.items())


def _os() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or "unknown"


def _packages() -> Iterator[str]:
    """``name==version`` of what is installed and has to do with PyTorch."""
    found = {(d.metadata["Name"] or "", d.version) for d in metadata.distributions()}
    for name, version in sorted(found):
        if any(word in name.lower() for word in _WORDS):
            yield f"{name}=={version}"


def main() -> None:
    """Print it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
