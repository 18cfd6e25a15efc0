"""``flambeau env``: what to put into a bug report."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version

from ..config import settings
from ..version import api_version, flambeau_version

PACKAGES = ("numpy", "ml_dtypes", "llvmlite", "scipy", "matplotlib", "scikit-learn")
# What kernels are chosen by, in the names of /proc/cpuinfo (x86-64, then AArch64).
FEATURES = ("sse4_2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512_bf16", "avx512_fp16",
            "amx_bf16", "amx_tile", "asimd", "asimdhp", "bf16", "sve", "sve2")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def env(arguments: Sequence[str]) -> int:
    """Print the environment, one ``name: value`` a line under a heading for each part."""
    if arguments:
        print("usage: flambeau env")
        return 0 if arguments[0] in ("-h", "--help") else 2
    for title, lines in (("versions", _versions()), ("processor", _processor()), ("threads", _threads()),
                         ("caches", _caches()), ("settings", _settings())):
        print(title)
        for name, value in lines:
            print(f"  {name}: {value}")
    return 0


def _version_of(package: str) -> str:
    try:
        return installed_version(package)
    except PackageNotFoundError:
        return "not installed"


def _versions() -> Iterator[tuple[str, str]]:
    yield "flambeau", f"{flambeau_version} ({os.path.dirname(os.path.dirname(os.path.abspath(__file__)))})"
    yield "API of PyTorch", api_version
    yield "Python", f"{platform.python_version()} ({platform.python_implementation()}, {sys.executable})"
    yield "platform", platform.platform()
    for package in PACKAGES:
        yield package, _version_of(package)


def _processor() -> Iterator[tuple[str, str]]:
    facts = _cpuinfo()
    yield "name", facts.get("model name") or platform.processor() or platform.machine() or "unknown"
    present = (facts.get("flags") or facts.get("Features") or "").split()
    yield "features", " ".join(feature for feature in FEATURES if feature in present) or "unknown"
    yield "LLVM's name for it", _llvm_name()
    yield "memory", _memory()


def _cpuinfo() -> dict[str, str]:
    """The first processor's entries in /proc/cpuinfo."""
    try:
        with open("/proc/cpuinfo") as file:
            first = file.read().partition("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _llvm_name() -> str:
    try:
        from llvmlite import binding
    except (ImportError, OSError) as error:
        return f"unknown: llvmlite cannot be loaded ({error})"
    return str(binding.get_host_cpu_name())


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return "unknown"
    return f"{size / 2**30:.1f} GiB"


def _threads() -> Iterator[tuple[str, str]]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield "processors", f"{os.cpu_count()}, of which this process may use {usable}"
    yield "flambeau.get_num_threads()", str(settings.threads)
    for name in THREAD_VARIABLES:
        yield name, os.environ.get(name, "not set")


def _caches() -> Iterator[tuple[str, str]]:
    try:
        from ..executors.native.llvm.compiling import disk  # needs llvmlite, which may not be there
    except ImportError:
        yield "compiled kernels", "none without llvmlite"
        return
    folder = disk.folder()
    if folder is None:
        yield "compiled kernels", "not kept on disk"
        return
    sizes = []
    for path in folder.glob("??/*"):
        with contextlib.suppress(OSError):      # another process may delete it now
            sizes.append(path.stat().st_size)
    yield "compiled kernels", f"{len(sizes)} modules, {sum(sizes) / 2**20:.1f} MiB in {folder}"


def _settings() -> Iterator[tuple[str, str]]:
    given = sorted(name for name in os.environ if name.startswith("FLAMBEAU_"))
    for name in given:
        yield name, os.environ[name]
    if not given:
        yield "FLAMBEAU_*", "none set, so the defaults of docs/environment.md"
