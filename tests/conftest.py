"""What every test may use: the framework under test, the oracle (real PyTorch), and a way to run scripts.

The acceptance tests (guides, parity, properties, footguns, memory) are written against PyTorch's API alone,
so each can be validated by running it with PyTorch itself: ``pytest --under torch`` (or
``FLAMBEAU_TESTS_UNDER=torch``).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


def _has_torch() -> bool:
    """Whether ``torch`` is there and real, not an alias of this package."""
    spec = importlib.util.find_spec("torch")
    return spec is not None and spec.origin is not None and Path(spec.origin).parent.name == "torch"


HAS_TORCH = _has_torch()
UNDER = "--under"
collect_ignore_glob = ["parity/scripts/*", "guides/blocks/*", "guides/driver.py", "memory/_*", "*/record_*",
                       "executors/native/neon_programs.py"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--under {flambeau,torch}``."""
    parser.addoption(
        UNDER,
        choices=("flambeau", "torch"),
        default=os.environ.get("FLAMBEAU_TESTS_UNDER", "flambeau"),
        help="the framework that the acceptance tests run with; 'torch' validates the tests themselves",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Keep a broken test from taking the oracle for flambeau: PyTorch is asked for by name only."""
    if config.getoption(UNDER) == "torch" and not HAS_TORCH:
        raise pytest.UsageError("--under torch: PyTorch is not installed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked ``oracle`` where real PyTorch is not importable."""
    if not HAS_TORCH:
        skip = pytest.mark.skip(reason="PyTorch is not installed")
        for item in items:
            if item.get_closest_marker("oracle"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def under(request: pytest.FixtureRequest) -> str:
    """The name of the framework under test: ``'flambeau'``, or ``'torch'`` when the tests are validated."""
    return str(request.config.getoption(UNDER))


@pytest.fixture(scope="session")
def torch(under: str) -> ModuleType:
    """The framework under test, called what its users call it."""
    return importlib.import_module(under)


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    """Real PyTorch; the test is skipped where it is not installed."""
    if not HAS_TORCH:
        pytest.skip("PyTorch is not installed")
    return importlib.import_module("torch")


class ScriptRunner:
    """Runs an unmodified PyTorch script in a child process, with ``torch`` being the framework under test."""

    def __init__(self, under: str) -> None:
        self.under = under

    def __call__(
        self, script: Path, *arguments: str, cwd: Path | None = None, timeout: float = 300, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Return the finished process; its output is captured."""
        launcher = ["-m", "flambeau", "run"] if self.under == "flambeau" else []
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        variables = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **environment}
        command = [sys.executable, *launcher, str(script), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, cwd=cwd, env=variables
        )


@pytest.fixture(scope="session")
def run_script(under: str) -> ScriptRunner:
    """Run a script in a child process under the framework that is tested."""
    return ScriptRunner(under)
