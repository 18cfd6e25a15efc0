"""The pages tell the truth: their programs run, and every setting stands on its page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def _blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def _printed(block: str, folder: Path) -> str:
    """What a program prints."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", block], cwd=folder, env=variables, timeout=120,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


PROMISING = [ROOT / "README.md", ROOT / "docs" / "adding.md"]


@pytest.mark.parametrize("block", [block for page in PROMISING for block in _blocks(page)])
def test_programs_print_what_they_promise(block: str, tmp_path: Path) -> None:
    promised = re.findall(r"^print\(.*\) +# (.*)$", block, re.MULTILINE)
    assert _printed(block, tmp_path).splitlines() == promised


OTHERS = [page for page in PAGES if page not in PROMISING]


@pytest.mark.parametrize("block", [block for page in OTHERS for block in _blocks(page)])
def test_programs_in_the_pages_run(block: str, tmp_path: Path) -> None:
    assert _printed(block, tmp_path)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_and_files_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if not link.startswith("http")]
    assert all((page.parent / link).exists() for link in links)
    files = {name for name in re.findall(r"`([\w./]+/[\w.]*\.\w+)`", text) if not name.startswith("/")}
    assert not {name for name in files if not _is_there(name)}


def _is_there(name: str) -> bool:
    """Whether there is such a file, or a function as debuggers are told of it (``folder/file.function``)."""
    for root in (ROOT, ROOT / "flambeau", ROOT / "flambeau/executors/native"):
        if (root / name).exists():
            return True
    file, _, function = name.rpartition(".")
    path = ROOT / f"{file}.py"
    return path.exists() and f"\ndef {function}(" in path.read_text(encoding="utf-8")


def test_every_environment_variable_is_on_its_page() -> None:
    sources = [*(ROOT / "flambeau").rglob("*.py"), ROOT / "tests" / "conftest.py", ROOT / ".ci" / "run"]
    used = {name for path in sources for name in re.findall(r"FLAMBEAU_[A-Z_]+", path.read_text("utf-8"))}
    page = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
    assert used - {"FLAMBEAU_"} == set(re.findall(r"FLAMBEAU_[A-Z_]+", page))


@pytest.mark.parametrize("chosen, threshold", [(None, 10_000), (500, 500)])
def test_garbage_is_collected_as_the_page_of_settings_says(chosen: int | None, threshold: int,
                                                           tmp_path: Path) -> None:
    before = "" if chosen is None else f"gc.set_threshold({chosen})\n"
    program = f"import gc\n{before}import flambeau\nprint(gc.get_threshold()[0])"
    assert int(_printed(program, tmp_path)) == threshold


def test_the_readmes_figures_are_those_of_the_benchmark() -> None:
    table = (ROOT / "benchmarks" / "results" / "workloads.md").read_text(encoding="utf-8")
    assert table in (ROOT / "README.md").read_text(encoding="utf-8")
