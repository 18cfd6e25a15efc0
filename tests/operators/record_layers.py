"""Records what PyTorch gives for the expressions of layers, to be run where PyTorch is installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from layer_expressions import FAMILIES, outcome, summary  # noqa: E402


def main() -> None:
    """Write the facts."""
    torch.manual_seed(0)
    facts = {e: summary(outcome(torch, e)) for expressions in FAMILIES.values() for e in expressions}
    lines = ",\n".join(f"{json.dumps(e)}: {json.dumps(f)}" for e, f in facts.items())
    (HERE / "layers.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
