"""Sessions: lines of a program as a user types them, run in two frameworks, and what each line showed.

A file of sessions is text cut into cells by lines ``# %% name``. The statements of a cell are executed one
after the other, as at a prompt: an expression shows its value, an exception shows its type and text and the
next statement goes on, and warnings are part of what is shown.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
import types
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
FRAMEWORK = re.compile(r"\bflambeau\b")
INTERNAL = re.compile(r" \(Triggered internally at .*\)$")
# Notes on PyTorch's own machinery, and what is told once in a process.
NOISE = re.compile("jit.script(_method)?` is deprecated|insert a get_attr Node|"
                   "not yet implemented the batching rule|^Sparse invariant|"
                   "^Converting a tensor with requires_grad|as a plain method|"
                   "^flex_attention called without")
FOLDER = Path(__file__).resolve().parent


class Cell(NamedTuple):
    """A session: its name and its text."""

    file: str
    name: str
    text: str


class Shown(NamedTuple):
    """What one statement showed: its line, the value or exception, the warnings."""

    line: str
    value: Any
    warned: list[tuple[str, str]]


def cells(path: Path) -> list[Cell]:
    """Return the cells of a file."""
    parts = re.split(r"^# %% (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return [Cell(path.stem, n.strip(), t) for n, t in zip(parts[::2], parts[1::2], strict=True)]


def neutral(text: str) -> str:
    """Return a text without addresses and without the name of the framework."""
    return FRAMEWORK.sub("torch", ADDRESS.sub("0x", text))


class Session:
    """Runs cells in one framework."""

    def __init__(self, torch: types.ModuleType) -> None:
        self.torch = torch

    def namespace(self) -> dict[str, Any]:
        torch = self.torch
        module = types.ModuleType("session")
        sys.modules[module.__name__] = module  # what a cell defines can be pickled
        names = module.__dict__
        names.update(torch=torch, nn=torch.nn, F=torch.nn.functional, np=np, use=self.use)
        return names

    def use(self, name: str) -> Any:
        """Import `torch.x.y` of this framework."""
        return importlib.import_module(name.replace("torch", self.torch.__name__, 1))

    def run(self, cell: Cell) -> list[Shown]:
        """Execute the statements of a cell; return what each showed."""
        torch, names = self.torch, self.namespace()
        torch.manual_seed(0)
        shown = []
        for statement in ast.parse(cell.text).body:
            line = ast.get_source_segment(cell.text, statement) or ""
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    value = self.execute(statement, names)
                except Exception as error:
                    value = ("raised", type(error).__name__, neutral(str(error)))
            warned = [(w.category.__name__, neutral(str(w.message))) for w in caught]
            warned = [(kind, INTERNAL.sub("", text)) for kind, text in warned if not NOISE.search(text)]
            shown.append(Shown(line, value, warned))
        return shown

    def execute(self, statement: ast.stmt, names: dict[str, Any]) -> Any:
        if isinstance(statement, ast.Expr):
            code = compile(ast.Expression(statement.value), "<session>", "eval", dont_inherit=True)
            return self.plain(eval(code, names))
        code = compile(ast.Module([statement], []), "<session>", "exec", dont_inherit=True)
        exec(code, names)
        return None

    def plain(self, value: Any) -> Any:
        """Return a value as plain data: tensors as dtype, shape and numbers, objects as what they print."""
        if isinstance(value, self.torch.Tensor):
            return self.tensor(value)
        if isinstance(value, bool | int | float | complex | str | bytes | type(None)):
            return neutral(value) if isinstance(value, str) else value
        if isinstance(value, np.ndarray):
            return ("array", str(value.dtype), value.tolist())
        if isinstance(value, dict):
            items = [(self.plain(k), self.plain(v)) for k, v in value.items()]
            return (type(value).__name__, items)
        if isinstance(value, tuple | list):
            return (type(value).__name__, [self.plain(v) for v in value])
        if isinstance(value, set | frozenset):
            return (type(value).__name__, sorted(repr(self.plain(v)) for v in value))
        if isinstance(value, type):
            return ("class", neutral(value.__name__))
        if isinstance(value, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
            return ("function", value.__name__)
        return neutral(repr(value))

    def tensor(self, value: Any) -> Any:
        kind = "Tensor" if value.layout != self.torch.strided else type(value).__name__
        facts = [kind, neutral(str(value.dtype)), list(value.shape)]
        if value.requires_grad:
            facts.append("requires_grad")
        dense = value.detach()
        if dense.layout != self.torch.strided:
            facts.append(neutral(str(dense.layout)))
            dense = dense.to_dense()
        if dense.device.type == "meta":
            return (*facts, "meta")
        return (*facts, dense.resolve_conj().tolist())


def same(ours: Any, theirs: Any, tolerance: float = 1e-5) -> bool:
    """Return whether two plain values are equal, floats to rounding."""
    if isinstance(theirs, float) and isinstance(ours, float | int):
        return bool(np.isclose(ours, theirs, rtol=2 * tolerance, atol=tolerance, equal_nan=True))
    if isinstance(theirs, complex) and isinstance(ours, complex):
        return bool(np.isclose(ours, theirs, rtol=2 * tolerance, atol=tolerance, equal_nan=True))
    if isinstance(theirs, list | tuple) and isinstance(ours, list | tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return type(ours) is type(theirs) and ours == theirs


def first_difference(ours: Any, theirs: Any) -> tuple[Any, Any]:
    """Return the innermost pair of values that differ."""
    if isinstance(theirs, list | tuple) and isinstance(ours, list | tuple) and len(ours) == len(theirs):
        for mine, other in zip(ours, theirs, strict=True):
            if not same(mine, other):
                return first_difference(mine, other)
    return ours, theirs


def differences(ours: list[Shown], theirs: list[Shown]) -> list[str]:
    """Return the statements that showed different things, as text."""
    found = []
    for mine, other in zip(ours, theirs, strict=True):
        if not same(mine.value, other.value):
            a, b = first_difference(mine.value, other.value)
            found.append(f">>> {mine.line}\n  ours   {a}\n  theirs {b}")
        if mine.warned != other.warned:
            found.append(f">>> {mine.line}\n  ours   warned {mine.warned}\n  theirs warned {other.warned}")
    return found
