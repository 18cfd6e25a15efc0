"""Programs in text files, which two frameworks run.

Each line of a file is an expression, each ``def`` a function without arguments.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any


def programs(name: str) -> Iterator[str]:
    """The expressions and functions of a file."""
    block: list[str] = []
    for line in (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines():
        if block and not line.startswith(" "):
            yield "\n".join(block)
            block = []
        block.append(line)
    yield "\n".join(block)


def outcome(framework: ModuleType, program: str, known: dict[str, Any]) -> Any:
    """What a program gives or raises, and the warnings, without what differs from run to run."""
    framework.manual_seed(12)
    expression = program
    if program.startswith("def "):
        exec(program, known)
        expression = f"{program[4 : program.index('(')]}()"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            shown = repr(eval(expression, known))
        except Exception as error:
            shown = f"{type(error).__name__}: {error}"
            if error.__cause__ is not None:
                shown += f"\nfrom {type(error.__cause__).__name__}: {error.__cause__}"
    told = [(w.category.__name__, str(w.message)) for w in caught if "fork()" not in str(w.message)]
    return [_steady(shown), [(kind, _steady(text)) for kind, text in told]]


def _steady(text: str) -> str:
    """Without addresses, numbers of processes, and the lines of tracebacks."""
    text = re.sub(r"pid(\(s\))? [\d, ]+", r"pid\1 ", re.sub("0x[0-9a-f]+", "0x", text))
    lines = text.replace("flambeau", "torch").splitlines()
    if "Traceback" in text:
        lines = [line for line in lines if not line.startswith("  ")]
    return "\n".join(lines)
