"""Records how PyTorch lays out images that are results or gradients, to be run where it is installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from memory_format_cases import answers, cases  # noqa: E402


def main() -> None:
    """Write the facts."""
    facts = {f"{ndim} {name}": answers(torch, ndim, name) for ndim in (4, 5) for name in cases(torch, ndim)}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(fact)}" for name, fact in facts.items())
    (HERE / "memory_formats.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
