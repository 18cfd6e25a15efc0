"""Peak memory of training ResNet-18 (CIFAR stem, batch 32, SGD with momentum) beside PyTorch's.

    python benchmarks/peak_memory.py [--oracle PYTHON] [--steps 3] [--rounds 1] [--json FILE]

Each measurement is a process of its own. Reported are the peak resident size, what of it was there before
the first step (interpreter, library, parameters), and the difference, which is what training needed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def resnet18(torch: Any) -> Any:
    """Build ResNet-18 with a 3 x 3 stem and no first pooling, for images (N, 3, 32, 32)."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inp: int, out: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inp, out, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(out)
            self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(out)
            self.down = nn.Identity()
            if stride != 1 or inp != out:
                self.down = nn.Sequential(nn.Conv2d(inp, out, 1, stride, bias=False), nn.BatchNorm2d(out))

        def forward(self, x: Any) -> Any:
            y = torch.relu(self.bn1(self.conv1(x)))
            return torch.relu(self.bn2(self.conv2(y)) + self.down(x))

    layers, width = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()], 64
    for out, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        layers.append(Block(width, out, stride))
        width = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def child(framework: str, steps: int, batch: int) -> None:
    """Train and print the figures as JSON."""
    torch = importlib.import_module(framework)
    torch.manual_seed(0)
    model = resnet18(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    x, y = torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))
    y.sum().item()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps({"before MiB": before, "peak MiB": peak, "training MiB": peak - before, "losses": losses})
    )


def in_child(python: str, framework: str, steps: int, batch: int) -> dict[str, Any]:
    """Measure in a child process of the given interpreter."""
    environment = dict(os.environ)
    if framework == "flambeau":
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])
        )
    command = [python, str(Path(__file__).resolve()), "--child", framework, "--steps", str(steps)]
    done = subprocess.run([*command, "--batch", str(batch)], capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{framework} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--oracle", metavar="PYTHON", help="an interpreter with PyTorch, measured beside flambeau"
    )
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--child", choices=("flambeau", "torch"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.steps, options.batch)
        return
    pythons = {"flambeau": sys.executable} | ({"torch": options.oracle} if options.oracle else {})
    results: dict[str, dict[str, Any]] = {}
    for _ in range(options.rounds):
        for name, python in pythons.items():
            measured = in_child(python, name, options.steps, options.batch)
            if name not in results or measured["peak MiB"] < results[name]["peak MiB"]:
                results[name] = measured
    figures = ("before MiB", "peak MiB", "training MiB")
    print(f"{'':12s}" + "".join(f"{figure:>14s}" for figure in figures))
    for name, measured in results.items():
        print(f"{name:12s}" + "".join(f"{measured[figure]:14.0f}" for figure in figures))
    if len(results) == 2:
        ratios = [results["flambeau"][figure] / results["torch"][figure] for figure in figures]
        print(f"{'ratio':12s}" + "".join(f"{ratio:14.2f}" for ratio in ratios))
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
