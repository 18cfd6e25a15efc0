"""Lets pytest run one file's examples: ``pytest flambeau/operators/reductions/sorting.py``."""

from __future__ import annotations

import importlib
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "flambeau"


def pytest_collect_file(file_path: Path) -> None:
    """Import the package that a file belongs to before pytest imports the file.

    Pytest makes what it imports an attribute of its parent: the folder ``flambeau.tensor`` would take the
    place of the function of that name. Modules that are there already it takes as they are.
    """
    if PACKAGE in file_path.parents:
        importlib.import_module(".".join(file_path.parent.relative_to(PACKAGE.parent).parts))
