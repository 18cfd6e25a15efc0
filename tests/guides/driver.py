"""Run every case of one document with ``torch`` as it resolves here, and print the outcomes as JSON.

python -m flambeau run tests/guides/driver.py DOCUMENT      (python tests/guides/driver.py: PyTorch itself)
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import traceback
import warnings

from tests.guides.registry import Case, load


def outcome(case: Case) -> str:
    """Run a case; return an empty string, or how it failed."""
    torch = importlib.import_module("torch")
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case.check(torch, case.block)
    except Exception:
        return f"{traceback.format_exc()}\nprinted by the block:\n{case.block.output}"
    return ""


def main() -> None:
    """Run the cases of ``sys.argv[1]``."""
    document = sys.argv[1]
    outcomes = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for case in load().values():
            if case.block.document == document:
                outcomes[case.id] = outcome(case)
    name = importlib.import_module("torch").__name__
    print(json.dumps({"torch is": name, "outcomes": outcomes}))


if __name__ == "__main__":
    main()
