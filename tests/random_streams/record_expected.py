"""Write expected.json: digests of PyTorch's numbers and states for every case.

Run it where torch is PyTorch: ``PYTHONPATH=.:tests python -m random_streams.record_expected``.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import torch

from .oracle import SEED, WARM_UP, digest, run_reference
from .random_stream_cases import cases

warnings.simplefilter("ignore")


def record() -> dict[str, Any]:
    """The digests of values and state, by the case's name."""
    return {case.name: digest(*run_reference(torch, case)) for case in cases() if not case.ulps}


if __name__ == "__main__":
    found = {"torch": torch.__version__, "seed": SEED, "warm_up": WARM_UP, "digests": record()}
    Path(__file__).with_name("expected.json").write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
