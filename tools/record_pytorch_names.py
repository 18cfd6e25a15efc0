"""Write down the public names of PyTorch: run with a Python that has it.

    python tools/record_pytorch_names.py docs/pytorch_names.json

The file holds names only. ``tools/operators_page.py`` compares them with flambeau's.
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

NAMESPACES = ("torch", "torch.Tensor", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")
# What one of these modules defines, PyTorch imported for its own use.
_FOREIGN = frozenset({"typing", "typing_extensions", "types", "collections.abc", "functools", "builtins",
                      "enum", "math", "importlib", "warnings", "contextlib", "torch.overrides",
                      "torch._jit_internal", "torch.types"})


def found(path: str) -> Any:
    """The module or class of a dotted name."""
    head, _, tail = path.rpartition(".")
    return getattr(importlib.import_module(head), tail) if tail == "Tensor" else importlib.import_module(path)


def is_public(namespace: Any, name: str) -> bool:
    """Whether a name is the namespace's own: not private, not a module, not something imported."""
    if name.startswith("_"):
        return False
    if not isinstance(namespace, ModuleType):
        return True
    value = getattr(namespace, name)
    top = namespace.__name__ == "torch"
    if isinstance(value, type):
        return top and getattr(value, "__module__", "").startswith("torch") and "_C" not in value.__module__
    if not callable(value):
        return top and type(value).__module__.startswith("torch")
    return getattr(value, "__module__", None) not in _FOREIGN


def main() -> None:
    """Record the names into the file given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    names = {path: sorted(n for n in dir(found(path)) if is_public(found(path), n)) for path in NAMESPACES}
    version = importlib.import_module("torch").__version__.partition("+")[0]
    file.write_text(json.dumps({"version": version, "names": names}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
