"""Time the scripts of a folder here under flambeau and under PyTorch, alternately.

    python benchmarks/compare.py --oracle PYTHON [--folder workloads] [--rounds 5] [--compile] [--jax PYTHON]
    [--others 1] [--cold] [--markdown FILE] [--plot FILE] [NAME ...]

``--folder``: ``workloads``, which flambeau's speed is developed on, or ``everyday``, small programs of many
kinds that it is only checked on. ``--oracle``: a Python that has PyTorch. Each script runs ``--rounds``
times under each, one after the other, since the machine's speed changes from minute to minute: only ratios
taken side by side mean anything. A ratio is the median over the rounds of flambeau's figure divided by
PyTorch's; below 1 flambeau is faster, or smaller. ``--compile`` also runs each script with its models
passed through ``torch.compile``, ``--jax`` (a Python that has JAX) its port in ``benchmarks/jax_workloads``,
if there is one, in the first ``--others`` rounds; their steps are compared with PyTorch's too. ``--cold``
also runs each script, in as many rounds, as a first process does that finds no kernel on disk: seconds of its
first step, and the time of the whole process, imports included, divided by that of PyTorch's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WORKLOADS = HERE / "workloads"
PORTS = HERE / "jax_workloads"
# What else a script's step is compared with PyTorch's in, and the table's words for it.
OTHERS = {"compiled": "torch.compile, step", "jax": "JAX, step"}
COLD = {"cold_first": "first step, empty cache, s", "cold_process": "process, empty cache"}
FIGURES = {"median_ms": "step", "first_ms": "first step", "total_s": "whole script", "peak_mb": "peak memory"}
# PyTorch compiles models, not steps: every module that a script has at its top level is passed through it.
COMPILED = """
import runpy, sys
sys.path.insert(0, {folder!r})
import torch, _bench
plain = _bench.run
def run(step, *arguments):
    for name, value in list(step.__globals__.items()):
        if isinstance(value, torch.nn.Module):
            step.__globals__[name] = torch.compile(value)
    plain(step, *arguments)
_bench.run = run
sys.argv = [{script!r}]
runpy.run_path({script!r}, run_name="__main__")
"""


def measure(command: list[str], timeout: float, environment: dict[str, str]) -> dict[str, Any]:
    """Run a script; its figures, or ``{"error": ...}``."""
    began = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer in {timeout:.0f} s"}
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            found: dict[str, Any] = json.loads(line)
            return found | {"process_s": time.perf_counter() - began}
    return {"error": ((done.stderr or done.stdout).strip().splitlines()
                      or [f"exit {done.returncode}"])[-1][:100]}


def agree(a: list[float], b: list[float], rtol: float) -> bool:
    """Whether two scripts print the same losses."""
    return all(abs(x - y) <= rtol * max(abs(x), abs(y), 1e-2) for x, y in zip(a, b, strict=True))


def compare(script: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The ratios of one script."""
    commands = {"flambeau": [sys.executable, "-m", "flambeau", "run", str(script)],
                "pytorch": [options.oracle, str(script)]}
    if options.compile:
        commands["compiled"] = [options.oracle, "-c",
                                COMPILED.format(folder=str(WORKLOADS), script=str(script))]
    port = PORTS / script.name
    if options.jax and port.exists():
        commands["jax"] = [options.jax, str(port)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(HERE.parent), str(WORKLOADS)))}
    if options.cold:
        commands["cold"] = commands["flambeau"]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in commands}
    for turn in range(options.rounds):
        for name, command in commands.items():
            if name not in ("flambeau", "pytorch") and turn >= options.others:
                continue
            with tempfile.TemporaryDirectory() as empty:
                own = {**environment, "FLAMBEAU_CACHE_DIR": empty} if name == "cold" else environment
                figures = measure(command, options.timeout, own)
            if "error" in figures and name not in OTHERS:
                return {"error": f"{name}: {figures['error']}"}
            found[name].append(figures)
    row: dict[str, Any] = {figure: statistics.median(a[figure] / b[figure] for a, b in
                                                     zip(found["flambeau"], found["pytorch"]))
                           for figure in FIGURES}
    row["pytorch_ms"] = statistics.median(b["median_ms"] for b in found["pytorch"])
    row["same"] = agree(found["flambeau"][0]["values"], found["pytorch"][0]["values"], options.rtol)
    for name in OTHERS:
        ratios = [c["median_ms"] / b["median_ms"] for c, b in zip(found.get(name, []), found["pytorch"])
                  if "error" not in c]
        row[name] = statistics.median(ratios) if ratios else None
    if options.cold:
        row["cold_first"] = statistics.median(a["first_ms"] / 1e3 for a in found["cold"])
        row["cold_process"] = statistics.median(a["process_s"] / b["process_s"]
                                                for a, b in zip(found["cold"], found["pytorch"]))
    return row


def markdown(table: dict[str, dict[str, Any]], others: list[str]) -> str:
    """The table of a report."""
    names = OTHERS | COLD
    head = ["workload", "PyTorch, ms a step", *FIGURES.values(), *[names[name] for name in others]]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, row in table.items():
        if "error" in row:
            lines.append(f"| {name} | {row['error']} |" + " |" * (len(head) - 2))
            continue
        cells = [name, f"{row['pytorch_ms']:.2f}", *[f"{row[figure]:.2f}" for figure in FIGURES]]
        cells += ["-" if row[other] is None else f"{row[other]:.2f}" for other in others]
        lines.append("| " + " | ".join(cells) + (" |" if row["same"] else " (values differ) |"))
    return "\n".join(lines) + "\n"


def plot(table: dict[str, dict[str, Any]], path: str) -> None:
    """Bars of the ratios of step time, on a logarithmic axis."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = sorted(((name, row["median_ms"]) for name, row in table.items() if "error" not in row),
                  key=lambda row: -row[1])
    figure, axes = pyplot.subplots(figsize=(7, 0.4 * len(rows) + 1))
    axes.barh([name for name, _ in rows], [ratio for _, ratio in rows],
              color=["#2a7f62" if ratio < 1 else "#b3541e" for _, ratio in rows])
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel("time of a step, flambeau / PyTorch (left of the line: faster)")
    figure.tight_layout()
    figure.savefig(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--folder", default=WORKLOADS.name)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rtol", type=float, default=2e-2)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--jax")
    parser.add_argument("--others", type=int, default=1)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--markdown")
    parser.add_argument("--plot")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    table: dict[str, dict[str, Any]] = {}
    for script in sorted((HERE / options.folder).glob("[a-z]*.py")):
        if options.names and script.stem not in options.names:
            continue
        row = table[script.stem] = compare(script, options)
        print(script.stem, row.get("error") or {k: round(v, 3) if isinstance(v, float) else v
                                                for k, v in row.items()}, flush=True)
    others = [*["compiled"] * options.compile, *["jax"] * bool(options.jax), *list(COLD) * options.cold]
    text = markdown(table, others)
    print("\n" + text)
    for path in filter(None, (options.markdown, options.plot)):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    if options.markdown:
        Path(options.markdown).write_text(text)
    if options.plot:
        plot(table, options.plot)
    return int(any("error" in row or not row["same"] for row in table.values()))


if __name__ == "__main__":
    sys.exit(main())
