"""Runs a program as ``python script.py`` and ``python -m module`` do, with ``torch`` meaning flambeau.

The program is ``__main__``, with the ``__file__`` and ``__spec__`` that Python gives it: the children that
``multiprocessing`` spawns look at these two to find the program again.
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

from .. import alias


class CannotRun(Exception):
    """The program could not be found; ``code`` is the exit code Python has for that."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def run(arguments: Sequence[str], command: str = "run") -> int:
    """``flambeau run SCRIPT ARGS ...`` or ``flambeau run -m MODULE ARGS ...``."""
    program, *rest = arguments or [""]
    if program in ("", "-h", "--help") or (program == "-m" and not rest):
        print(f"usage: flambeau {command} SCRIPT [ARGS ...]\n       flambeau {command} -m MODULE [ARGS ...]")
        return 0 if program in ("-h", "--help") else 2
    if program.startswith("-") and program not in ("-", "-m"):
        print(f"flambeau {command}: unknown option {program!r}", file=sys.stderr)
        return 2
    try:
        alias.enable()
        if program == "-m":
            _run_module(rest[0], rest[1:])
        elif program == "-":
            _run_stdin(rest)
        else:
            _run_path(program, rest)
    except CannotRun as error:
        print(f"flambeau: {error}", file=sys.stderr)
        return error.code
    return 0


def _run_path(path: str, arguments: list[str]) -> None:
    sys.argv[:] = [path, *arguments]
    if _holds_main(path):
        return _run_container(path)
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    file = os.path.join(os.getcwd(), path)      # not normalized, as Python's own
    try:
        with open(file, "rb") as source:
            text = source.read()
    except OSError as error:
        raise CannotRun(f"can't open file {file!r}: [Errno {error.errno}] {error.strerror}", 2) from None
    main = _main_module(None, __file__=file, __cached__=None, __loader__=SourceFileLoader("__main__", file))
    _execute(text, file, main)


def _run_stdin(arguments: list[str]) -> None:
    sys.argv[:] = ["-", *arguments]
    _set_first_path("")
    _execute(sys.stdin.read(), "<stdin>", _main_module(None))


def _run_module(name: str, arguments: list[str]) -> None:
    sys.argv[:] = ["-m", *arguments]
    _set_first_path(os.getcwd())
    spec, code = _find_module(name)
    if spec.origin is not None:
        sys.argv[0] = spec.origin
    _execute(code, "", _module_of(spec))


def _run_container(path: str) -> None:
    """A folder or zip file with a ``__main__.py``."""
    path = os.path.abspath(path)
    _set_first_path(path)
    del sys.modules["__main__"]     # the launcher's, which find_spec would answer with
    spec = importlib.util.find_spec("__main__")
    if spec is None or spec.loader is None:
        raise CannotRun(f"can't find '__main__' module in {path!r}", 1)
    _execute(_code_of(spec, "__main__"), "", _module_of(spec))


def _holds_main(path: str) -> bool:
    """Whether the path is something to import from: a folder or a zip file."""
    return pkgutil.get_importer(path) is not None


def _find_module(name: str) -> tuple[ModuleSpec, CodeType]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        reason = f"Error while finding module specification for {name!r} ({type(error).__name__}: {error})"
        raise CannotRun(reason, 1) from None
    if spec is None:
        raise CannotRun(f"No module named {name}", 1)
    if spec.submodule_search_locations is not None:
        if name == "__main__" or name.endswith(".__main__"):
            raise CannotRun("Cannot use package as __main__ module", 1)
        try:
            return _find_module(f"{name}.__main__")
        except CannotRun as error:
            reason = f"{error}; {name!r} is a package and cannot be directly executed"
            raise CannotRun(reason, 1) from None
    return spec, _code_of(spec, name)


def _code_of(spec: ModuleSpec, name: str) -> CodeType:
    get_code: Any = getattr(spec.loader, "get_code", None)
    code: CodeType | None = get_code(name) if get_code is not None else None
    if code is None:
        raise CannotRun(f"No code object available for {name}", 1)
    return code


def _module_of(spec: ModuleSpec) -> ModuleType:
    place = {"__file__": spec.origin, "__cached__": spec.cached} if spec.has_location else {}
    return _main_module(spec, __loader__=spec.loader, __package__=spec.parent, **place)


def _main_module(spec: ModuleSpec | None, **attributes: Any) -> ModuleType:
    main = ModuleType("__main__")
    main.__dict__.update(attributes, __spec__=spec, __annotations__={}, __builtins__=builtins)
    return main


def _set_first_path(folder: str) -> None:
    """Replace the launcher's entry at the head of ``sys.path``; ``python -P`` puts none there."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _execute(program: str | bytes | CodeType, file: str, main: ModuleType) -> None:
    sys.modules["__main__"] = main
    code = None
    try:
        code = program if isinstance(program, CodeType) else compile(program, file, "exec", dont_inherit=True)
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException:
        _hide_launcher(code)
        raise


def _hide_launcher(code: CodeType | None) -> None:
    """Show the traceback from the program's first frame on, through whatever ``sys.excepthook`` is by now.

    The exception itself goes on, so that Python ends as it always does: KeyboardInterrupt by its signal,
    ``-i`` with a prompt.
    """
    show = sys.excepthook

    def show_program(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        while trace is not None and trace.tb_frame.f_code is not code:
            trace = trace.tb_next
        sys.last_traceback = trace
        show(kind, error.with_traceback(trace), trace)

    sys.excepthook = show_program
