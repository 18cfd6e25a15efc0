"""From LLVM's language to machine code, and the cache of kernels.

Note: the key of a kernel. A kernel is found by its ``Structure``: operators, element types and how inputs are
read. Shapes, strides, pointers and numbers are arguments, so that another shape compiles nothing.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from .emitter import Unsupported
from .lowering import Layout, Structure, layout_of, lower

_LIMIT = 4096
_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


class Kernel:
    """Machine code of a structure. Its call ``function(start, stop, address)`` releases the GIL."""

    __slots__ = ("function", "layout", "work", "_engine")

    def __init__(self, structure: Structure, engine: Any) -> None:
        self.function = _SIGNATURE(engine.get_function_address("kernel"))
        self.layout: Layout = layout_of(structure)
        self.work = len(structure.members)
        self._engine = engine  # owns the code


_kernels: dict[Structure, Kernel | None] = {}
_machine: Any = None
_dumped = 0


def kernel_of(structure: Structure) -> Kernel | None:
    """The kernel of a structure, compiled now if it is new; None where it has no native form."""
    try:
        return _kernels[structure]
    except KeyError:
        pass
    if len(_kernels) > _LIMIT:
        _kernels.clear()  # their machine code is freed with them
    try:
        found: Kernel | None = Kernel(structure, _engine(lower(structure), structure))
    except Unsupported:
        found = None
    _kernels[structure] = found
    return found


def _new_machine() -> Any:
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=3, jit=True)


def _target_machine() -> Any:
    """The machine that optimizes; each engine owns another one that emits."""
    global _machine
    if _machine is None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        _machine = _new_machine()
    return _machine


def _engine(text: str, structure: Structure) -> Any:
    machine = _target_machine()
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.loop_interleaving = True
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    _dump(text, module, structure)
    engine = llvm.create_mcjit_compiler(module, _new_machine())
    engine.finalize_object()
    return engine


def _dump(text: str, module: Any, structure: Structure) -> None:
    """Write what is compiled into the folder ``FLAMBEAU_DUMP``."""
    global _dumped
    folder = os.environ.get("FLAMBEAU_DUMP")
    if not folder:
        return
    _dumped += 1
    base = Path(folder)
    base.mkdir(parents=True, exist_ok=True)
    name = f"kernel{_dumped:04d}"
    listing = [f"{i}: {m.operator.name}{m.operands} -> {m.dtype}{' stored' if m.stored else ''}"
               for i, m in enumerate(structure.members)]
    (base / f"{name}.schedule").write_text("\n".join([*listing, f"inputs {structure.inputs}",
                                                      f"sums {structure.sums}"]) + "\n")
    (base / f"{name}.ll").write_text(text)
    (base / f"{name}.opt.ll").write_text(str(module))
    (base / f"{name}.s").write_text(_target_machine().emit_assembly(module))


def clear() -> None:
    """Forget all kernels and free their code."""
    _kernels.clear()
