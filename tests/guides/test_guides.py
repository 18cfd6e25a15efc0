"""Every code block of five widely read PyTorch guides does under flambeau what its text says.

The blocks stand in ``blocks/`` as they were published; ``cases_*.py`` supply the data they presume and state
what must come of them. One child process per document (``flambeau run``) executes its cases.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.guides.documents import documents, read
from tests.guides.not_yet import NOT_YET
from tests.guides.registry import Case, load

CASES = load()
DRIVER = Path(__file__).resolve().parent / "driver.py"
_outcomes: dict[str, dict[str, str]] = {}


def outcomes(run_script, document: str) -> dict[str, str]:
    """Run a document's cases once per session."""
    if document not in _outcomes:
        done = run_script(DRIVER, document)
        lines = done.stdout.splitlines()
        assert done.returncode == 0 and lines, (
            f"exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        )
        _outcomes[document] = json.loads(lines[-1])["outcomes"]
    return _outcomes[document]


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.id)
def test_block(case: Case, run_script, under: str) -> None:
    failure = outcomes(run_script, case.block.document)[case.id]
    reason = NOT_YET.get(case.id)
    if under == "torch" or reason is None:
        assert not failure, failure
    else:
        assert failure, f"works now: take it off the list in not_yet.py ({reason})"
        pytest.xfail(reason)


def test_every_block_has_a_case() -> None:
    blocks = {block.id for document in documents() for block in read(document).values()}
    assert blocks == {case.block.id for case in CASES.values()}


def test_the_list_of_what_is_missing_names_cases() -> None:
    assert set(NOT_YET) <= set(CASES)
