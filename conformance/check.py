"""Holds a conformance report against the ratchet: no figure may fall below what was reached before.

    python conformance/check.py REPORT.json             fails where a figure is lower than in ratchet.json
    python conformance/check.py REPORT.json --raise     also writes the higher figures into ratchet.json

``ratchet.json`` gives for each kind of check how many operators must pass all their checks of that kind
(``operators``) and how many single checks must pass (``checks``). ``failures.json`` gives a reason for each
operator that fails: one without, or one that no longer fails, is an error too.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import Any

RATCHET = pathlib.Path(__file__).with_name("ratchet.json")
FAILURES = pathlib.Path(__file__).with_name("failures.json")    # why an operator fails
FIGURES = {"operators": "ops", "checks": "checks"}     # our name -> the report's


def reached(report: dict[str, Any]) -> dict[str, dict[str, int]]:
    """The report's figures in the ratchet's form: ``{kind: {"operators": 12, "checks": 345}}``."""
    rows = report["summary"]["rows"]
    scored = {kind.strip(): {ours: row[f"{theirs}_passed"] for ours, theirs in FIGURES.items()}
              for kind, row in rows.items()}
    return scored | {kind: _aside(report, kind) for kind in report["summary"].get("aside", {})}


def totals(report: dict[str, Any]) -> dict[str, dict[str, int]]:
    """How many operators, and single checks, there are of each kind."""
    found = {kind.strip(): {"operators": row["ops"], "checks": row["checks"]}
             for kind, row in report["summary"]["rows"].items()}
    for kind, (_, every) in report["summary"].get("aside", {}).items():
        found[kind] = {"operators": sum(kind in op["aside"] for op in report["ops"]), "checks": every}
    return found


def _aside(report: dict[str, Any], kind: str) -> dict[str, int]:
    """The figures of what is only counted where values are right: strides, views, messages."""
    counts = [op["aside"][kind] for op in report["ops"] if kind in op["aside"]]
    return {"operators": sum(passed == every for passed, every in counts),
            "checks": sum(passed for passed, _ in counts)}


def unexplained(report: dict[str, Any], reasons: dict[str, str]) -> list[str]:
    """One line for each operator that fails without a stated reason, or passes in spite of one."""
    operators = report.get("ops", [])
    failing = {op["op"] for op in operators if op["failures"] or op["missing"]}
    present = {op["op"] for op in operators}
    unsaid, past = sorted(failing - set(reasons)), sorted(present & set(reasons) - failing)
    return [*[f"{name} fails: give the reason in {FAILURES.name}" for name in unsaid],
            *[f"{name} passes: take it out of {FAILURES.name}" for name in past]]


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
    report = json.loads(options.report.read_text())
    now = reached(report)
    minimum = json.loads(options.ratchet.read_text())
    fallen = [f"below the ratchet: {line}" for line in compare(minimum, now)]
    fallen += unexplained(report, json.loads(FAILURES.read_text()))
    for line in fallen:
        print(line, file=sys.stderr)
    if fallen:
        return 1
    higher = raised(minimum, now)
    if options.up and higher != minimum:
        options.ratchet.write_text(json.dumps(higher, indent=2) + "\n")
        options.ratchet.with_name("totals.json").write_text(json.dumps(totals(report), indent=2) + "\n")
        print(f"raised {options.ratchet.name}")
    elif higher != minimum:
        print("every figure holds, and some are higher: raise them with --raise")
    else:
        print("every figure is the ratchet's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
