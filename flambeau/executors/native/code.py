"""From LLVM's language to machine code."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from .machine import target_machine

_LIMIT = 4096
_DEFINED = re.compile(r"^define (?!internal)\S+ @([\w.]+)\(", re.MULTILINE)

_code: dict[str, Code] = {}
_optimizer: Any = None
_dumped = 0


class Code:
    """Machine code of a module: the addresses of its functions. It is freed with this object."""

    __slots__ = ("addresses", "_engine")

    def __init__(self, text: str, title: str) -> None:
        self._engine = _compiled(text, title)
        self.addresses = {name: self._engine.get_function_address(name) for name in _DEFINED.findall(text)}


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


def _compiled(text: str, title: str) -> Any:
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.loop_interleaving = True
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    _dump(text, module, title)
    engine = llvm.create_mcjit_compiler(module, target_machine())
    engine.finalize_object()
    return engine


def _dump(text: str, module: Any, title: str) -> None:
    """Write what is compiled into the folder ``FLAMBEAU_DUMP``."""
    global _dumped
    folder = os.environ.get("FLAMBEAU_DUMP")
    if not folder:
        return
    _dumped += 1
    base = Path(folder)
    base.mkdir(parents=True, exist_ok=True)
    name = f"{_dumped:04d}_{title}"
    (base / f"{name}.ll").write_text(text)
    (base / f"{name}.opt.ll").write_text(str(module))
    (base / f"{name}.s").write_text(_machine().emit_assembly(module))
