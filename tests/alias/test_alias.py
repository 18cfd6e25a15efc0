"""``import torch`` under the alias: same modules, honest errors, and every kind of child process."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
Python = Callable[..., str]


@pytest.fixture
def python(tmp_path: Path) -> Python:
    """Run a program in a child process, from a folder that is not the checkout; gives what it printed."""

    def run(program: str, *launcher: str, fails: bool = False, **environment: str) -> str:
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(program))
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FLAMBEAU_")}
        variables = {**kept, "PYTHONPATH": str(ROOT), **environment}
        command = [sys.executable, *launcher, str(script)]
        done = subprocess.run(
            command, cwd=tmp_path, env=variables, timeout=120, capture_output=True, text=True
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stderr if fails else done.stdout

    return run


RUN = ("-m", "flambeau", "run")


def test_torch_is_the_same_modules(python: Python) -> None:
    printed = python(
        """
        import pickle, sys
        import torch.nn.functional as F
        import torch.utils.data
        from torch import nn
        from torch.nn import Linear
        import torch, flambeau
        assert torch is flambeau and F is flambeau.nn.functional and nn is sys.modules["flambeau.nn"]
        assert torch.utils.data is flambeau.utils.data and Linear is flambeau.nn.Linear
        assert (torch.__name__, torch.__spec__.name) == ("torch", "flambeau")
        assert (torch.jit.__name__, nn.init.__name__, nn.init.zeros_.__module__) == (
            "torch.jit", "torch.nn.init", "torch.nn.init")
        assert torch.Tensor.__module__ == "torch"
        assert str(torch.optim.lr_scheduler.StepLR) == "<class 'torch.optim.lr_scheduler.StepLR'>"
        parametrized = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        assert type(parametrized).__module__ == "torch.nn.utils.parametrize"
        optimizer = torch.optim.Adam([torch.ones(2)])
        assert b"torch.optim.adam" in pickle.dumps(optimizer)
        assert type(pickle.loads(pickle.dumps(optimizer))) is torch.optim.Adam
        print("fine")
        """, *RUN)
    assert printed == "fine\n"


def test_the_function_does_what_the_command_does(python: Python) -> None:
    printed = python(
        """
        import flambeau.alias
        assert not flambeau.alias.enabled()
        flambeau.alias()
        flambeau.alias()
        import sys, torch
        assert torch is flambeau and flambeau.alias.enabled()
        print(sum(type(finder).__name__ == "AliasFinder" for finder in sys.meta_path))
        """)
    assert printed == "1\n"


def test_a_torch_that_is_already_there(python: Python, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("")
    program = "import torch\nimport flambeau.alias\nflambeau.alias()"
    printed = python(program, fails=True)
    assert "RuntimeError: torch is already imported from" in printed and "flambeau run" in printed
    # Not imported yet, it is passed over.
    assert python("import torch; print(torch.__spec__.name)", *RUN) == "flambeau\n"


MISSING = {
    "import torch.absent":
        "ModuleNotFoundError: No module named 'torch.absent': flambeau has no torch.absent yet",
    "import torch.nn.absent":
        "ModuleNotFoundError: No module named 'torch.nn.absent': flambeau has no torch.nn.absent yet",
    "from torch import absent":
        "ImportError: cannot import name 'absent' from 'torch': flambeau has no torch.absent yet",
    "from torch.nn import Absent":
        "ImportError: cannot import name 'Absent' from 'torch.nn': flambeau has no torch.nn.Absent yet",
    "torch.absent":
        "AttributeError: module 'torch' has no attribute 'absent': flambeau has no torch.absent yet",
    "torch.nn.Absent":
        "AttributeError: module 'torch.nn' has no attribute 'Absent': flambeau has no torch.nn.Absent yet",
    "import torch.nn.functional as F; F.absent":
        "AttributeError: module 'torch.nn.functional' has no attribute 'absent': "
        "flambeau has no torch.nn.functional.absent yet",
}


def test_what_is_not_there_says_so(python: Python) -> None:
    printed = python(
        f"""
        import torch, torch.nn
        for statement in {list(MISSING)!r}:
            try:
                exec(statement)
            except Exception as error:
                print(type(error).__name__ + ": " + str(error))
        assert not hasattr(torch, "absent") and getattr(torch.nn, "Absent", 1) == 1
        """, *RUN)
    assert printed.splitlines() == list(MISSING.values())


def test_questions_about_torch(python: Python) -> None:
    printed = python(
        """
        import importlib.util, sys
        from importlib import metadata
        assert importlib.util.find_spec("torch").name == "torch" and "torch" not in sys.modules
        assert importlib.util.find_spec("torch.absent") is None
        assert importlib.util.find_spec("torch.nn.functional").origin.endswith("functional.py")
        print(metadata.version("torch"), metadata.metadata("torch")["Name"])
        """, *RUN)
    assert printed == "2.13.0 torch\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing(python: Python, method: str) -> None:
    printed = python(
        f"""
        import multiprocessing
        import torch

        class Kept:
            pass

        def work(kept):
            import torch.nn
            return torch.__spec__.name, type(kept) is Kept, torch.nn.__name__

        if __name__ == "__main__":
            with multiprocessing.get_context({method!r}).Pool(1) as pool:
                print(*pool.map(work, [Kept()]))
        """, *RUN)
    assert printed == "('flambeau', True, 'flambeau.nn')\n"


def test_children_of_subprocess_find_the_same_flambeau(python: Python) -> None:
    # The child's environment has lost the checkout from its PYTHONPATH, and works elsewhere.
    printed = python(
        f"""
        import os, subprocess, sys
        folders = [f for f in os.environ["PYTHONPATH"].split(os.pathsep) if f != {str(ROOT)!r}]
        os.environ["PYTHONPATH"] = os.pathsep.join(folders)
        program = '''import sys, os
        assert "numpy" not in sys.modules and "flambeau" not in sys.modules
        assert not any(folder.endswith("startup") for folder in sys.path), sys.path
        import torch
        print(torch.__file__)'''
        subprocess.run([sys.executable, "-c", program.replace("\\n        ", "\\n")], cwd="/", check=True)
        """, *RUN)
    assert printed == f"{ROOT / 'flambeau' / '__init__.py'}\n"


def test_the_environments_own_sitecustomize_still_runs(python: Python, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import sys; sys.from_own_sitecustomize = True")
    printed = python(
        """
        import subprocess, sys
        program = "import sys, torch; print(sys.from_own_sitecustomize, torch.__spec__.name)"
        subprocess.run([sys.executable, "-c", program], check=True)
        """, *RUN, PYTHONPATH=os.pathsep.join([str(own), str(ROOT)]))
    assert printed == "True flambeau\n"


@pytest.mark.parametrize("name", ["torchao", "deepspeed", "xformers"])
def test_packages_that_cannot_run_are_not_installed(python: Python, tmp_path: Path, name: str) -> None:
    """transformers, accelerate and diffusers import them wherever ``find_spec`` finds them."""
    package = tmp_path / "site" / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from torch.sparse._triton_ops_meta import get_meta")
    printed = python(
        f"""
        import importlib.util, torch
        assert importlib.util.find_spec("{name}") is None
        try:
            import {name}
        except ModuleNotFoundError as error:
            print(error.name)
        """, *RUN, PYTHONPATH=os.pathsep.join([str(package.parent), str(ROOT)]))
    assert printed == f"{name}\n"


def test_starting_a_child_loads_nothing_of_flambeau(python: Python) -> None:
    """A child that never imports torch has only the finder, no package behind it."""
    printed = python(
        """
        import subprocess, sys
        program = "import sys; print(*sorted(m for m in sys.modules if 'flambeau' in m or 'numpy' in m))"
        subprocess.run([sys.executable, "-c", program], check=True)
        """, *RUN)
    assert printed == "flambeau.alias.finder\n"


def test_pickles_move_between_both_names(python: Python) -> None:
    printed = python(
        """
        import pickle, torch
        from torch.nn import Linear
        assert pickle.loads(pickle.dumps(Linear)) is Linear
        by_name = pickle.loads(b"ctorch.nn\\nLinear\\n.")     # protocol 0: the class torch.nn.Linear
        print(by_name is Linear)
        """, *RUN)
    assert printed == "True\n"


def test_python_m_finds_modules_below_torch(python: Python) -> None:
    printed = python(
        """
        import subprocess, sys
        done = subprocess.run([sys.executable, "-m", "torch.utils"], capture_output=True, text=True)
        print(done.returncode, done.stderr)
        """, *RUN)
    assert printed.startswith("1 ") and "torch.utils" in printed and "cannot be directly executed" in printed


@pytest.mark.oracle
def test_pytorch_reads_plain_pickles_of_tensors(python: Python, tmp_path: Path, oracle: ModuleType) -> None:
    printed = python(
        """
        import copy, inspect, pickle
        import torch
        x = torch.arange(6.0).reshape(2, 3)
        tagged = torch.nn.Parameter(torch.ones(2)); tagged.tag = "mine"
        named = torch.ones(1); named.name_of_it = "x"
        kept = {"view": x[:, 1], "half": x.bfloat16(), "bool": x > 2, "tagged": tagged,
                "leaf": torch.ones(2, requires_grad=True), "named": named, "size": x.shape,
                "device": x.device, "layout": x.layout, "generator": torch.Generator().manual_seed(3),
                "types": [torch.float32, torch.bool], "storage": x.untyped_storage(),
                "layers": torch.nn.Sequential(
                    torch.nn.Linear(2, 4), torch.nn.TransformerEncoderLayer(4, 2, 8))}
        with open("kept.pickle", "wb") as file:
            pickle.dump(kept, file)
        again = pickle.loads(pickle.dumps(kept))
        assert again["tagged"].tag == "mine" and again["types"][1] is torch.bool
        assert copy.copy(x).data_ptr() == x.data_ptr() and type(copy.copy(tagged)) is torch.nn.Parameter
        print(type(x.dtype), type(x.shape), type(tagged))
        print(torch.nn.Module, torch.nn.LSTMCell, inspect.getsource(torch.nn.Linear)[:12])
        """, *RUN)
    assert printed == (
        "<class 'torch.dtype'> <class 'torch.Size'> <class 'torch.nn.parameter.Parameter'>\n"
        "<class 'torch.nn.modules.module.Module'> <class 'torch.nn.modules.rnn.LSTMCell'> class Linear\n")
    kept = pickle.loads((tmp_path / "kept.pickle").read_bytes())
    assert kept["view"].tolist() == [1.0, 4.0] and kept["half"].dtype is oracle.bfloat16
    assert kept["bool"].sum() == 3 and kept["leaf"].requires_grad
    assert type(kept["tagged"]) is oracle.nn.Parameter and kept["tagged"].tag == "mine"
    assert kept["named"].name_of_it == "x" and kept["size"] == oracle.Size([2, 3])
    assert kept["types"] == [oracle.float32, oracle.bool] and kept["layout"] is oracle.strided
    assert kept["device"] == oracle.device("cpu") and kept["storage"].nbytes() == 24
    assert oracle.rand(1, generator=kept["generator"]) == oracle.rand(
        1, generator=oracle.Generator().manual_seed(3))
    assert kept["layers"].eval()(oracle.ones(1, 3, 2)).shape == (1, 3, 4)
