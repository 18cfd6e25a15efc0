"""Holds a conformance report against the ratchet: no figure may fall below what was reached before.

    python conformance/check.py REPORT.json             fails where a figure is lower than in ratchet.json
    python conformance/check.py REPORT.json --raise     also writes the higher figures into ratchet.json

``ratchet.json`` gives for each kind of check how many operators must pass all their checks of that kind
(``operators``) and how many single checks must pass (``checks``).
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import Any

RATCHET = pathlib.Path(__file__).with_name("ratchet.json")
FIGURES = {"operators": "ops", "checks": "checks"}     # our name -> the report's


def reached(report: dict[str, Any]) -> dict[str, dict[str, int]]:
    """The report's figures in the ratchet's form: ``{kind: {"operators": 12, "checks": 345}}``."""
    rows = report["summary"]["rows"]
    return {kind.strip(): {ours: row[f"{theirs}_passed"] for ours, theirs in FIGURES.items()}
            for kind, row in rows.items()}


def compare(minimum: dict[str, dict[str, int]], now: dict[str, dict[str, int]]) -> list[str]:
    """One line for each figure that has fallen; a kind that is no longer measured has fallen too."""
    fallen = []
    for kind, figures in minimum.items():
        for name, least in figures.items():
            value = now.get(kind, {}).get(name, 0)
            if value < least:
                fallen.append(f"{kind}: {value} {name} pass, at least {least} did before")
    return fallen


def raised(minimum: dict[str, dict[str, int]], now: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """The ratchet after this report: each kind in it, with the larger of both figures."""
    return {kind: {name: max(least, now.get(kind, {}).get(name, 0)) for name, least in figures.items()}
            for kind, figures in minimum.items()}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("report", type=pathlib.Path, help="written by the harness's run.py --json")
    parser.add_argument("--ratchet", type=pathlib.Path, default=RATCHET)
    parser.add_argument("--raise", dest="up", action="store_true", help="write the higher figures")
    options = parser.parse_args(arguments)

    if not options.report.is_file():
        print(f"there is no report {options.report}", file=sys.stderr)
        return 1
    now = reached(json.loads(options.report.read_text()))
    minimum = json.loads(options.ratchet.read_text())
    fallen = compare(minimum, now)
    for line in fallen:
        print(f"below the ratchet: {line}", file=sys.stderr)
    if fallen:
        return 1
    higher = raised(minimum, now)
    if options.up and higher != minimum:
        options.ratchet.write_text(json.dumps(higher, indent=2) + "\n")
        print(f"raised {options.ratchet.name}")
    elif higher != minimum:
        print("every figure holds, and some are higher: raise them with --raise")
    else:
        print("every figure is the ratchet's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
