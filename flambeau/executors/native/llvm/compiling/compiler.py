"""LLVM at work: from its language to objects.

llvmlite is imported here and nowhere else. A process that finds all its code on disk never does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from .dumping import dump_folder
from .effort import Effort

# Longer texts are unrolled kernels: they gain nothing from the last level of optimization.
_UNROLLED = 60_000

_targets: dict[tuple[str, str], Any] = {}
dumped = 0      # how many modules were written into FLAMBEAU_DUMP

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
llvm.initialize_native_asmparser()


def host() -> tuple[str, str]:
    """This CPU's name and features, as LLVM writes them."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def triple() -> str:
    """The kind of machine that code is made for."""
    found: str = llvm.get_default_triple()
    return found


def version() -> str:
    """The versions of llvmlite and LLVM."""
    return f"{llvmlite.__version__} {'.'.join(map(str, llvm.llvm_version_info))}"


def object_of(text: str, name: str, features: str, title: str = "", effort: Effort = Effort.ALL) -> bytes:
    """The object of a module for a CPU."""
    target = _target(name, features)
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    module.data_layout = str(target.target_data)
    loops = effort == Effort.ALL
    level = 1 if not loops else 3 if len(text) < _UNROLLED else 2
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = tuning.loop_interleaving = tuning.loop_unrolling = loops
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(target, tuning)
    passes = _few() if effort == Effort.FEW else builder.getModulePassManager()
    passes.run(module, builder)
    with _loops_as_they_are():
        _dump(text, module, title, target)
        found: bytes = target.emit_object(module)
    return found


@contextmanager
def _loops_as_they_are() -> Iterator[None]:
    """Without LLVM's search for cheaper counters: it takes a sixth of the time, and kernels gain nothing.

    This is an option of the process: others who use LLVM find it as it was.
    """
    llvm.set_option("flambeau", "-disable-lsr")
    try:
        yield
    finally:
        llvm.set_option("flambeau", "-disable-lsr=false")


def _few() -> Any:
    """Variables to registers, equal expressions to one, loops that end with their condition."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_loop_rotate_pass()
    passes.add_simplify_cfg_pass()
    passes.add_new_gvn_pass()
    passes.add_dead_code_elimination_pass()
    return passes


def linked(content: bytes, names: list[str], name: str, features: str) -> tuple[dict[str, int], Any]:
    """The functions of an object that ``image.py`` leaves to LLVM, and the engine that holds them."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _new_target(name, features))
    engine.add_object_file(llvm.ObjectFileRef.from_data(content))
    engine.finalize_object()
    return {function: engine.get_function_address(function) for function in names}, engine


def _target(name: str, features: str) -> Any:
    found = _targets.get((name, features))
    if found is None:
        found = _targets[name, features] = _new_target(name, features)
    return found


def _new_target(name: str, features: str) -> Any:
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=name, features=features, opt=3, jit=True)


def _dump(text: str, module: Any, title: str, target: Any) -> None:
    """Write what is compiled into the folder ``FLAMBEAU_DUMP``."""
    global dumped
    folder = dump_folder()
    if folder is None:
        return
    dumped += 1
    name = f"{dumped:04d}_{title}"
    (folder / f"{name}.ll").write_text(text)
    (folder / f"{name}.opt.ll").write_text(str(module))
    # Of a copy: what is emitted is changed by it, and dumping is to leave the object as it is.
    (folder / f"{name}.s").write_text(target.emit_assembly(module.clone()))
