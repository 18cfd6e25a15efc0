"""The examples in docstrings are true of PyTorch, too."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "flambeau"
IMPORT = "import flambeau as torch\n"
# Parts of this package that PyTorch does not have.
OWN = {"config", "engine", "executors", "graph", "operators", "random_streams", "tensor"}
# Files with examples of what PyTorch does not have, or does otherwise.
APART = {
    "_execution.py": "operators run one at a time here",
    "config.py": "PyTorch has no such settings",
    "engine/explain.py": "PyTorch has no looks",
    "engine/look.py": "PyTorch has no looks",
    "fx/_symbolic_trace.py": "PyTorch cannot trace inside of a doctest",
    "fx/graph_module.py": "PyTorch cannot trace inside of a doctest",
    "fx/interpreter.py": "PyTorch cannot trace inside of a doctest",
    "fx/node.py": "PyTorch cannot trace inside of a doctest",
    "nn/attention/varlen.py": "PyTorch needs an accelerator",
    "nn/parallel/parallel_apply.py": "PyTorch needs an accelerator",
    "nn/parallel/replicate.py": "PyTorch needs an accelerator",
    "nn/parallel/scatter_gather.py": "PyTorch needs an accelerator",
    "operators/pointwise/complex_numbers.py": "conjugates are never deferred here",
    "operators/linalg/low_rank.py": "random projections round in other ways",
}


def _examples(path: Path) -> Iterator[tuple[str, str]]:
    """Names and docstrings whose examples name nothing of this package but what PyTorch has, too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node) or ""
            code = [line for line in text.splitlines() if line.startswith((">>>", "..."))]
            named = [line for line in code if "flambeau" in line]
            if IMPORT in text and all(IMPORT.strip() in line or _imports_torchs(line) for line in named):
                text = text.replace(IMPORT, "import torch\n").replace("from flambeau.", "from torch.")
                yield getattr(node, "name", path.name), text


def _imports_torchs(line: str) -> bool:
    """Whether a line imports from a module that PyTorch has: those of this package's own are not public."""
    module = re.match(r">>> from flambeau\.([\w.]+) import", line)
    return module is not None and module[1].partition(".")[0] not in OWN


def _file(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if _file(path) not in APART and any(_examples(path))]


@pytest.mark.oracle
@pytest.mark.parametrize("path", FILES, ids=_file)
def test_examples_hold_for_pytorch(path: Path, oracle: ModuleType) -> None:
    importlib.import_module("torch.nn.utils.prune")     # which PyTorch has once it is imported
    wrong = []
    for name, text in _examples(path):
        example = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, name, str(path), 0)
        said: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")     # PyTorch warns of what is new in it, or old
            runner.run(example, out=said.append)
        if runner.failures:
            wrong.append("".join(said))
    assert not wrong, "\n".join(wrong)
