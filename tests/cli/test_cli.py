"""``flambeau run`` is ``python`` to the program it runs; the other commands print what they promise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAMBEAU = (sys.executable, "-m", "flambeau")

FACTS = """\
import inspect, sys
print(__name__, __file__, __package__, type(__loader__).__name__, sorted(globals()))
print(getattr(__spec__, "name", None), sys.argv, sys.path[0], sys.modules["__main__"].__dict__ is globals())
print(inspect.getsource(sys.modules["__main__"])[:14])
"""
PROGRAMS = {
    "facts.py": FACTS,
    "folder/__main__.py": FACTS,
    "package/__init__.py": "",
    "package/__main__.py": FACTS,
    "package/inner/__init__.py": "",
    "package/inner/module.py": FACTS,
    "raises.py": "def f():\n    raise ValueError('no')\n\ntry:\n    f()\nexcept ValueError as e:\n"
                 "    raise KeyError('yes') from e\n",
    "syntax.py": "x = (\n",
    "exits.py": "import sys\nsys.exit(7)\n",
    "exits_with_text.py": "import sys\nsys.exit('bye')\n",
    "interrupted.py": "import signal\nsignal.raise_signal(signal.SIGINT)\n",
    "own_hook.py": "import sys, traceback\n"
                   "sys.excepthook = lambda kind, e, trace: print(kind, len(traceback.extract_tb(trace)))\n"
                   "1 / 0\n",
    "latin.py": b"# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))\n",
    "annotations.py": "x: undefined_name_is_an_error = 1\n",
    "thread.py": "import threading\n"
                 "threading.Thread(target=lambda: (threading.main_thread().join(), print('late'))).start()\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small programs."""
    folder = tmp_path_factory.mktemp("programs").resolve()
    for name, text in PROGRAMS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with zipfile.ZipFile(folder / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", FACTS)
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "link.py").symlink_to(folder / "facts.py")
    return folder


def run(
    command: list[str], folder: Path, text: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        command, cwd=folder, env=variables, input=text, capture_output=True, text=True, timeout=120
    )


def plain(text: str) -> str:
    """Without what differs between any two processes, and with one name for the launcher."""
    return re.sub(r"0x[0-9a-f]+", "0x", text).replace(f"{sys.executable}:", "flambeau:")


COMMANDS = [
    "facts.py one --two -m", "elsewhere/link.py", "./facts.py", "folder", "archive.zip", "raises.py",
    "syntax.py", "exits.py", "exits_with_text.py", "interrupted.py", "own_hook.py", "latin.py",
    "annotations.py", "thread.py", "absent.py", "elsewhere", "-m package", "-m package.inner.module one",
    "-m package.absent", "-m absent", "-m package.inner",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_run_is_python_to_the_program(folder: Path, command: str) -> None:
    expected = run([sys.executable, *command.split()], folder)
    got = run([*FLAMBEAU, "run", *command.split()], folder)
    assert got.returncode == expected.returncode
    assert plain(got.stdout) == plain(expected.stdout)
    assert plain(got.stderr) == plain(expected.stderr)


def test_program_from_standard_input(folder: Path) -> None:
    program = "import sys, torch; print(__name__, sys.argv, torch.__spec__.name)"
    done = run([*FLAMBEAU, "run", "-", "one"], folder, program)
    assert done.stdout == "__main__ ['-', 'one'] flambeau\n"


def test_forward_tracebacks_begin_with_the_program(folder: Path) -> None:
    (folder / "anomaly.py").write_text("import torch\n"
                                       "with torch.autograd.detect_anomaly():\n"
                                       "    x = torch.zeros(1, requires_grad=True)\n"
                                       "    (x.sqrt() * 0).sum().backward()\n")
    done = run([*FLAMBEAU, "run", "anomaly.py"], folder)
    told = done.stderr[done.stderr.index("Error detected in SqrtBackward0"):]
    first = re.search(r'File "(.*)", line (\d+)', told)
    assert first is not None and first.groups() == (str(folder / "anomaly.py"), "4")


def test_explain_follows_the_programs_own_exit_functions(folder: Path) -> None:
    (folder / "sums.py").write_text("import atexit, sys, torch\n"
                                    "atexit.register(print, 'own exit function', file=sys.stderr)\n"
                                    "print(torch.ones(3).sum().item())\n"
                                    "sys.exit(3)\n")
    done = run([*FLAMBEAU, "explain", "sums.py"], folder)
    assert done.returncode == 3 and done.stdout == "3.0\n"
    own, *explanation = done.stderr.splitlines()
    assert own == "own exit function"
    assert "sums.py:3" in "\n".join(explanation)


def test_env_names_versions_processor_threads_and_settings(folder: Path) -> None:
    done = run([*FLAMBEAU, "env"], folder, FLAMBEAU_VERIFY="1", FLAMBEAU_CACHE_DIR=f"{folder}/kernels")
    assert done.returncode == 0, done.stderr
    for line in (r"API of PyTorch: 2\.13\.0", r"numpy: \d", r"processors: \d+", "VERIFY: 1", "memory: ",
                 rf"compiled kernels: 0 modules, 0\.0 MiB in {re.escape(str(folder))}/kernels"):
        assert re.search(line, done.stdout), done.stdout


def test_usage(folder: Path) -> None:
    assert run([*FLAMBEAU], folder).stdout.startswith("usage: flambeau")
    assert re.match(r"flambeau \d+\.\d+\.\d+", run([*FLAMBEAU, "--version"], folder).stdout)
    unknown = run([*FLAMBEAU, "fly"], folder)
    assert unknown.returncode == 2 and "no command 'fly'" in unknown.stderr
    assert run([*FLAMBEAU, "run"], folder).returncode == 2
    option = run([*FLAMBEAU, "run", "--fast", "facts.py"], folder)
    assert option.returncode == 2 and "unknown option '--fast'" in option.stderr
