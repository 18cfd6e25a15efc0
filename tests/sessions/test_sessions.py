"""Every session shows a user the same in flambeau as in PyTorch: values, exceptions, warnings."""

from __future__ import annotations

from typing import Any

import pytest

from .session import FOLDER, Cell, Session, cells, differences

CELLS = [cell for path in sorted(FOLDER.glob("*.txt")) for cell in cells(path)]
BROKEN = ("NameError", "ModuleNotFoundError", "SyntaxError")


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.file}-{cell.name}")
def test_session_runs(torch: Any, cell: Cell) -> None:
    """No statement fails for want of a name."""
    shown = Session(torch).run(cell)
    assert not [s for s in shown if isinstance(s.value, tuple) and s.value[:1] == ("raised",)
                and s.value[1] in BROKEN]


# When garbage is collected while PyTorch compiles, weak dictionaries of its own complain.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.oracle
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.file}-{cell.name}")
def test_session_shows_what_pytorch_shows(torch: Any, oracle: Any, cell: Cell) -> None:
    """Statement by statement, what is shown is equal; numbers to rounding."""
    found = differences(Session(torch).run(cell), Session(oracle).run(cell))
    assert not found, "\n".join(found)
