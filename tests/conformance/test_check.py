"""The ratchet lets figures rise and never fall."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.check import RATCHET, main, unexplained


def report(**kinds: tuple[int, int]) -> dict[str, Any]:
    """A report as the harness writes it, with operators and checks that passed of each kind."""
    rows = {kind: {"ops_passed": operators, "ops": 50, "checks_passed": checks, "checks": 900}
            for kind, (operators, checks) in kinds.items()}
    return {"summary": {"rows": rows}}


def check(folder: Path, now: dict[str, Any], *options: str) -> int:
    (folder / "ratchet.json").write_text(json.dumps({"grad": {"operators": 10, "checks": 100}}))
    (folder / "report.json").write_text(json.dumps(now))
    return main([str(folder / "report.json"), "--ratchet", str(folder / "ratchet.json"), *options])


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (report(grad=(9, 100)), "grad: 9 operators pass, at least 10 did before"),
        (report(grad=(10, 99)), "grad: 99 checks pass, at least 100 did before"),
        (report(forward=(50, 900)), "grad: 0 operators pass"),
    ],
)
def test_a_lower_figure_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], now: dict[str, Any], message: str
) -> None:
    assert check(tmp_path, now, "--raise") == 1
    assert message in capsys.readouterr().err
    assert json.loads((tmp_path / "ratchet.json").read_text())["grad"] == {"operators": 10, "checks": 100}


def test_a_higher_figure_is_kept_when_asked(tmp_path: Path) -> None:
    assert check(tmp_path, report(grad=(12, 100))) == 0
    assert json.loads((tmp_path / "ratchet.json").read_text())["grad"]["operators"] == 10
    assert check(tmp_path, report(grad=(12, 100)), "--raise") == 0
    assert json.loads((tmp_path / "ratchet.json").read_text())["grad"] == {"operators": 12, "checks": 100}


def test_no_report_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "absent.json")]) == 1
    assert "there is no report" in capsys.readouterr().err


def test_the_committed_ratchet_has_every_kind() -> None:
    kinds = {"forward float32", "forward all dtypes", "grad", "gradgrad", "method", "inplace", "out", "alias"}
    assert kinds | {"errors", "strides", "views", "messages"} == set(json.loads(RATCHET.read_text()))


@pytest.mark.parametrize(
    ("failures", "reasons", "line"),
    [
        ([["forward", "float32", 0, "off"]], {}, "add fails: give the reason"),
        ([], {"add": "rounding"}, "add passes: take it out"),
        ([["forward", "float32", 0, "off"]], {"add": "rounding"}, None),
        ([], {"sub": "not measured"}, None),
    ],
)
def test_every_failure_has_a_reason(failures: list[Any], reasons: dict[str, str], line: str | None) -> None:
    said = unexplained({"ops": [{"op": "add", "missing": False, "failures": failures}]}, reasons)
    assert [line in text for text in said] == [True] * (line is not None)
