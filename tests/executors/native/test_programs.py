"""Random programs, strided operands, sums, and what stays in registers: as the interpreter has it."""

from __future__ import annotations

import importlib
import itertools
import os
import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import flambeau
from flambeau import config
from tests.properties.program import Program, difference
from tests.properties.test_programs import observe, programs, thorough


@given(programs)
@thorough
def test_random_programs(program: Program) -> None:
    with config.executor("interpreter"):
        want = observe(flambeau, program)
    with config.executor("native"):
        found = observe(flambeau, program)
    # An ulp of exp becomes more in the cosine of what it returns.
    assert not difference(found, want, rtol=3e-4)


# Equal extents stay equal and 1 stays 1, so that what broadcasts still does; different ones may become equal.
STRETCHES = (lambda n: n, lambda n: n + (n > 1), lambda n: 3 if n > 1 else n, lambda n: 4 * n if n > 1 else n)


@given(programs)
@thorough
def test_random_programs_of_other_shapes(program: Program) -> None:
    for stretch in STRETCHES:
        leaves = tuple(replace(leaf, shape=tuple(map(stretch, leaf.shape))) for leaf in program.leaves)
        test_random_programs.hypothesis.inner_test(replace(program, leaves=leaves))


def both(compute: Any) -> tuple[list[Any], list[Any]]:
    """The tensors that ``compute()`` returns, by both tiers."""
    results = []
    for tier in ("interpreter", "native"):
        with config.executor(tier):
            flambeau.manual_seed(0)
            results.append([x.detach().double().numpy() for x in compute()])
    return results[0], results[1]


def check(compute: Any, tolerance: float = 1e-5) -> None:
    """Both tiers agree."""
    for want, found in zip(*both(compute)):
        assert want.shape == found.shape
        np.testing.assert_allclose(found, want, tolerance, 1e-5)


SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((5, 7), (7,)), ((5, 7), (5, 1)), ((5, 1), (1, 7)), ((2, 3, 4, 5), (3, 1, 5)),
    ((2, 3, 4, 5), (1, 3, 1, 1)), ((40, 300), (300,)), ((3, 70000), (3, 1)), ((6,), ()),
    ((1, 1, 9), (8, 1, 9)),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcast(shapes: tuple[Any, Any]) -> None:
    def compute() -> list[Any]:
        x, y = (flambeau.randn(shape) for shape in shapes)
        z = flambeau.tanh(x + y) * y
        return [z, (z * x).sum(), (z * 2).mean(-1), (z + y).sum((0,)), z > 0]
    check(compute)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_strided_operands(order: tuple[int, ...]) -> None:
    def compute() -> list[Any]:
        x = flambeau.randn(6, 10, 8)
        y = flambeau.randn(8, 10, 6)[::2].repeat(2, 1, 1).permute(2, 1, 0)
        a, b = x.permute(order), y.permute(order)
        z = flambeau.exp(a) * b[..., :] - a
        w = (x[1:, ::3, 2:] + 1) * y[1:, ::3, 2:]
        return [z, z.sum(-1), z.contiguous() * 2, w, w.mean()]
    check(compute)


@pytest.mark.parametrize("count", [1, 15, 16, 17, 4095, 4097, 16384, 16385, 100_003])
def test_sizes_and_sums(count: int) -> None:
    def compute() -> list[Any]:
        x = flambeau.randn(count)
        y = x * 2 + 1
        i = flambeau.arange(count) * 3
        return [y.sum(), flambeau.sigmoid(y).mean(), (y > 0).sum(), i.sum(), (y.double() * 2).sum(),
                (y.bfloat16() * 2).float()]
    check(compute, 2e-5)


def test_long_rows_keep_their_accuracy() -> None:
    with config.executor("native"):
        x = flambeau.full((2, 1 << 23), 0.1)
        assert (x * 1).sum(1).tolist() == pytest.approx([0.1 * 2 ** 23] * 2, rel=1e-6)


def test_results_held_and_not() -> None:
    def compute() -> list[Any]:
        x = flambeau.randn(50, 20)
        held = flambeau.exp(x)
        z = (held * 2 + x).sigmoid()
        view = held[3:5]
        total = (z * held).sum()
        held.add_(1)
        x.mul_(z)
        return [held, z, view, total, x]
    check(compute)


def test_gradients() -> None:
    def compute() -> list[Any]:
        x = flambeau.randn(30, 40, requires_grad=True)
        w = flambeau.randn(40, requires_grad=True)
        loss = (flambeau.nn.functional.gelu(x * w) + flambeau.nn.functional.silu(x)).pow(2).mean()
        loss.backward()
        return [loss, x.grad, w.grad]
    check(compute)


def test_another_shape_or_number_compiles_nothing() -> None:
    from flambeau.executors.native.fusion import compile

    def step(n: int, scale: float) -> float:
        x = flambeau.ones(n, 3)
        return float((flambeau.tanh(x * scale) + 1).sum().item())

    with config.executor("native"):
        step(4, 0.5)
        before = len(compile._kernels)
        for n in range(5, 30):
            step(n, n / 7)
        assert len(compile._kernels) == before


def test_the_same_bits_each_time_and_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    from flambeau.config import settings

    x = flambeau.randn(700, 1000)
    flambeau.synchronize()
    found = []
    for count in (1, 2, 3, 2):
        monkeypatch.setattr(settings, "threads", count)
        with config.executor("native"):
            y = flambeau.tanh(x * 3) * x
            found.append((y.sum().item(), y.numpy().tobytes()))
    assert found[0] == found[1] == found[2] == found[3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_threads_after_fork() -> None:
    def total() -> float:
        return float((flambeau.ones(1 << 20) * 2).exp().sum().item())

    with config.executor("native"):
        want = total()
        child = os.fork()
        if not child:
            os._exit(0 if total() == want else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_failure_reaches_what_depends_on_it_only() -> None:
    with config.executor("native"):
        good = flambeau.ones(8) * 3
        bad = (flambeau.ones(8, dtype=flambeau.int64) // flambeau.zeros(8, dtype=flambeau.int64)) * 2 + 1
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            bad.sum().item()
        assert good.tolist() == [3.0] * 8


def test_dump(tmp_path: Any) -> None:
    """For each program its graph and schedule, named after the line, with the files of each kernel's code."""
    script, folder = tmp_path / "my script.py", tmp_path / "dump"
    script.write_text("import flambeau\n"
                      "x = flambeau.ones(16)\n"
                      "y = flambeau.linalg.matrix_exp(flambeau.eye(4) * 2)\n"
                      "(x.tanh().exp() + y.sum()).tolist()\n"
                      "(flambeau.ones(3) @ flambeau.ones(3, 5) + 1).tolist()\n")
    environment = {**os.environ, "FLAMBEAU_DUMP": str(folder), "FLAMBEAU_TIER": "native"}
    subprocess.run([sys.executable, str(script)], check=True, env=environment)
    found = sorted(path.name for path in folder.glob("*.txt"))
    assert found == ["my_script_4-1.txt", "my_script_5-2.txt"]
    first, second = ((folder / name).read_text() for name in found)
    assert f"{script}:4: (x.tanh().exp() + y.sum()).tolist()\n" in first
    assert re.search(r"%\d+ = tanh\(%0: float32\[16\]\) -> float32\[16\]\n", first)
    assert re.search(r"stage \d+: tanh\+exp\S* \(%\d+ %\d+.*\), modelled \d+\.\d+ us", first)
    assert re.search(r"stage \d+: .*matrix_exp.*, by the interpreter\n", first)
    assert re.search(r"stage \d+: (mv|mm|matmul).*\n.*\n +%\d+: arena \d+, 20 bytes", second)
    kernels = set(re.findall(r"kernel (\S+)\.ll, \.opt\.ll, \.s: ", first + second))
    assert kernels and all((folder / f"{kernel}{suffix}").stat().st_size
                           for kernel in kernels for suffix in (".ll", ".opt.ll", ".s"))


def test_without_llvmlite_everything_is_interpreted(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    import sys

    from flambeau.executors import native

    monkeypatch.setattr(native, "_execute", None)
    monkeypatch.setitem(sys.modules, "flambeau.executors.native.run", None)
    with config.executor("native"):
        assert (flambeau.ones(4) + 1).tolist() == (flambeau.zeros(4) + 2).tolist() == [2.0] * 4
    assert len(caplog.records) == 1
    assert "llvmlite" in caplog.text


def test_a_long_chain_keeps_its_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pieces of a graph that is computed in pieces are remembered until it comes again."""
    from flambeau.engine import looks
    from flambeau.executors.native.programs import known

    run = importlib.import_module("flambeau.executors.native.run")  # the package's own run is a function
    assert 3 * run.LARGEST < known._LIMIT
    scale = run.LARGEST / 300
    monkeypatch.setattr(run, "LARGEST", 300)
    monkeypatch.setattr(known, "_LIMIT", int(known._LIMIT / scale))
    known.clear()
    tiers = []
    with config.executor("native"):
        for _ in range(4):
            x = flambeau.zeros(3)
            for _ in range(2000):
                x = x + 1
            assert x[0].item() == 2000
            tiers.append(looks[-1].tier)
    assert "new" in tiers[0] and tiers[2:] == ["native", "native"]


@pytest.mark.parametrize("dtypes", [("float32", "int32"), ("int32", "float32"), ("int64", "float64")])
def test_what_is_read_as_another_type_is_what_memory_holds(dtypes: tuple[str, str]) -> None:
    made, read = (getattr(flambeau, name) for name in dtypes)
    x = flambeau.arange(1, 101).view(10, 10).to(made)
    flambeau.synchronize()
    with config.executor("native"):
        y = x * 2
        again, beside = y.view(read) + 1, y + 1
        flambeau.synchronize()
    expected = x.numpy() * 2
    assert (again.numpy() == expected.view(dtypes[1]) + 1).all() and (beside.numpy() == expected + 1).all()
