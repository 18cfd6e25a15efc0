"""Write down what PyTorch does: ``python tests/sparse/record_facts.py`` where PyTorch is installed."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from cases import EMBEDDINGS, EXPRESSIONS, GRADIENTS, outcome

if __name__ == "__main__":
    programs = [*EXPRESSIONS, *GRADIENTS.values(), *EMBEDDINGS.values()]
    facts = {program: outcome(torch, program) for program in programs}
    Path(__file__).with_name("facts.json").write_text(json.dumps(facts, indent=1) + "\n")
