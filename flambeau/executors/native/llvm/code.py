"""From LLVM's language to machine code."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from . import disk
from .machine import machine, target_machine

_DEFINED = re.compile(r"^define (?!internal)\S+ @([\w.]+)\(", re.MULTILINE)

# Longer texts are unrolled kernels: they gain nothing from the last level of optimization.
_UNROLLED = 60_000

_code: dict[str, Code] = {}
_optimizer: Any = None
_dumped = 0
files: dict[int, str] = {}      # of functions whose module was dumped: address, name of its files
compiled = 0    # how many modules this process has compiled, those found on disk not counted


class Code:
    """Machine code of a module: the addresses of its functions. It is freed with this object."""

    __slots__ = ("addresses", "_engine")

    def __init__(self, text: str, title: str) -> None:
        host = machine()
        key = disk.key_of(text, host.name, host.features, llvmlite.__version__,
                          ".".join(map(str, llvm.llvm_version_info)))
        names = _DEFINED.findall(text)
        dumps = dump_folder() is not None
        found = None if dumps else disk.load(key)
        if found is None:
            found = _compiled(text, title)
            disk.store(key, found)
        self._engine = _linked(found)
        self.addresses = {name: self._engine.get_function_address(name) for name in names}
        if dumps:
            files.update(dict.fromkeys(self.addresses.values(), f"{_dumped:04d}_{title}"))


def functions_of(text: str, title: str = "kernel") -> dict[str, int]:
    """The addresses of a module's public functions; equal texts are compiled once."""
    return code_of(text, title).addresses


def code_of(text: str, title: str = "kernel") -> Code:
    """The machine code of a module."""
    found = _code.get(text)
    if found is None:
        # Plans hold addresses, so code lives as long as the process; the number of structures is small.
        found = _code[text] = Code(text, title)
    return found


def _machine() -> Any:
    global _optimizer
    if _optimizer is None:
        _optimizer = target_machine()
    return _optimizer


def _compiled(text: str, title: str) -> bytes:
    """The object of a module."""
    global compiled
    compiled += 1
    target = _machine()
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    module.data_layout = str(target.target_data)
    tuning = llvm.create_pipeline_tuning_options(speed_level=3 if len(text) < _UNROLLED else 2)
    tuning.loop_vectorization = tuning.loop_interleaving = True
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(target, tuning)
    builder.getModulePassManager().run(module, builder)
    _dump(text, module, title)
    found: bytes = target.emit_object(module)
    return found


def _linked(content: bytes) -> Any:
    """An engine that holds an object's code, ready to be called."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(content))
    engine.finalize_object()
    return engine


def dump_folder() -> Path | None:
    """The folder ``FLAMBEAU_DUMP``, if it is set; made if it is not there."""
    name = os.environ.get("FLAMBEAU_DUMP")
    if not name:
        return None
    folder = Path(name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _dump(text: str, module: Any, title: str) -> None:
    """Write what is compiled into the folder ``FLAMBEAU_DUMP``."""
    global _dumped
    folder = dump_folder()
    if folder is None:
        return
    _dumped += 1
    name = f"{_dumped:04d}_{title}"
    (folder / f"{name}.ll").write_text(text)
    (folder / f"{name}.opt.ll").write_text(str(module))
    (folder / f"{name}.s").write_text(_machine().emit_assembly(module))
