"""What an operator costs before anything is computed: to record one, to tape one, to differentiate one.

    python benchmarks/recording.py [--oracle PYTHON] [--rounds 5] [--wide] [--python] [--json FILE]

flambeau runs with its null executor, which computes nothing, so the figures are those of recording alone:
as native code records once graphs have come back, or with ``--python`` as Python does before. ``--wide``:
some 130 operators and calls one by one (``recorded_operators.py``), instead of chains of a few.
``--oracle`` names an interpreter with PyTorch; its eager operators on the same tiny tensors, which it does
compute, are measured beside them in alternating rounds. The least time over the rounds counts: noise only
ever adds.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import recorded_operators

ROOT = Path(__file__).resolve().parent.parent
LENGTH = 60
REPETITIONS = 40

Chain = Callable[[Any, Any, Any], Any]


def add(torch: Any, x: Any, w: Any) -> Any:
    """``LENGTH`` additions."""
    for _ in range(LENGTH):
        x = x + w
    return x


def scale(torch: Any, x: Any, w: Any) -> Any:
    """``LENGTH`` products with a number."""
    for _ in range(LENGTH):
        x = x * 1.01
    return x


def relu(torch: Any, x: Any, w: Any) -> Any:
    """``LENGTH`` rectifications."""
    for _ in range(LENGTH):
        x = torch.relu(x)
    return x


def matmul(torch: Any, x: Any, w: Any) -> Any:
    """``LENGTH`` products of 4 x 4 matrices."""
    for _ in range(LENGTH):
        x = x @ w
    return x


def linear(torch: Any, x: Any, w: Any) -> Any:
    """``LENGTH`` linear maps."""
    apply = torch.nn.functional.linear
    for _ in range(LENGTH):
        x = apply(x, w)
    return x


def layer_norm(torch: Any, x: Any, w: Any) -> Any:
    """``LENGTH`` normalizations."""
    apply = torch.nn.functional.layer_norm
    for _ in range(LENGTH):
        x = apply(x, (4,))
    return x


def transpose(torch: Any, x: Any, w: Any) -> Any:
    """``LENGTH`` views."""
    for _ in range(LENGTH):
        x = x.transpose(0, 1)
    return x


def reduce(torch: Any, x: Any, w: Any) -> Any:
    """``LENGTH`` operators, half of them sums over a dimension, half broadcasting sums."""
    for _ in range(LENGTH // 2):
        x = x + x.sum(0, keepdim=True)
    return x


CHAINS: list[Chain] = [add, scale, relu, matmul, linear, layer_norm, transpose, reduce]


def measure(torch: Any, chain: Chain) -> dict[str, float]:
    """Return microseconds per operator: forward without a graph, forward with one, backward."""
    x = torch.full((4, 4), 0.25)
    w = torch.full((4, 4), 0.25)
    leaf = torch.full((4, 4), 0.25).requires_grad_()
    weight = torch.full((4, 4), 0.25).requires_grad_()
    times: dict[str, list[float]] = {"forward": [], "forward with grad": [], "backward": []}
    for _ in range(REPETITIONS):
        with torch.no_grad():
            began = time.perf_counter()
            out = chain(torch, x, w)
            times["forward"].append(time.perf_counter() - began)
        out.sum().item()
        began = time.perf_counter()
        out = chain(torch, leaf, weight)
        times["forward with grad"].append(time.perf_counter() - began)
        loss = out.sum()
        loss.item()
        began = time.perf_counter()
        loss.backward()
        times["backward"].append(time.perf_counter() - began)
        leaf.grad.sum().item()
        leaf.grad = weight.grad = None
    return {name: min(spent) * 1e6 / LENGTH for name, spent in times.items()}


def child(framework: str, wide: bool, native: bool) -> None:
    """Measure every chain, or call, with one framework and print JSON."""
    torch = importlib.import_module(framework)
    if native and framework == "flambeau":
        importlib.import_module("flambeau.executors.native.run")
        importlib.import_module("flambeau.tensor.recording.native.record").begin()
    quiet = torch.config.executor("null") if framework == "flambeau" else nullcontext()
    if framework == "torch":
        torch.set_num_threads(1)
    gc.disable()
    with quiet:
        print(json.dumps(recorded_operators.measure_all(torch) if wide else
                         {chain.__name__: measure(torch, chain) for chain in CHAINS}))


def in_child(python: str, framework: str, *flags: str) -> dict[str, dict[str, float]]:
    """Measure in a child process of the given interpreter."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if framework == "flambeau":
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])
        )
    command = [python, str(Path(__file__).resolve()), "--child", framework, *flags]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{framework} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def least(rounds: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Return the least of each figure over the rounds."""
    return {
        chain: {name: min(one[chain][name] for one in rounds) for name in figures}
        for chain, figures in rounds[0].items()
    }


def print_table(results: dict[str, dict[str, dict[str, float]]]) -> None:
    """Print microseconds per operator, and the ratio where both frameworks were measured."""
    figures = ["forward", "forward with grad", "backward"]
    width = max(map(len, next(iter(results.values())))) + 1
    print(f"{'us per operator':{width}s}" + "".join(f"{figure:>34s}" for figure in figures))
    columns = "".join(f"{name:>12s}" for name in results) + (f"{'ratio':>10s}" if len(results) == 2 else "")
    print(" " * width + "".join(f"{columns:>34s}" for _ in figures))
    for chain in next(iter(results.values())):
        line = f"{chain:{width}s}"
        for figure in figures:
            if figure not in results[next(iter(results))][chain]:
                continue
            values = [results[name][chain][figure] for name in results]
            cells = "".join(f"{value:12.2f}" for value in values)
            line += f"{cells + (f'{values[0] / values[1]:10.2f}' if len(values) == 2 else ''):>34s}"
        print(line)


def main() -> None:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--oracle", metavar="PYTHON", help="an interpreter with PyTorch, measured beside flambeau"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--wide", action="store_true", help="many operators and calls, one by one")
    parser.add_argument("--python", action="store_true", help="as Python records, before graphs come back")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--child", choices=("flambeau", "torch"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.wide, not options.python)
        return
    flags = [f"--{name}" for name in ("wide", "python") if getattr(options, name)]
    rounds: dict[str, list[dict[str, dict[str, float]]]] = {"flambeau": []}
    if options.oracle:
        rounds["torch"] = []
    for _ in range(options.rounds):
        rounds["flambeau"].append(in_child(sys.executable, "flambeau", *flags))
        if options.oracle:
            rounds["torch"].append(in_child(options.oracle, "torch", *flags))
    results = {name: least(measured) for name, measured in rounds.items()}
    print_table(results)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
