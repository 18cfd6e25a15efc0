"""Record what PyTorch 2.13 makes of the programs: ``python tests/fx/record_expected.py`` (needs tabulate)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def main() -> None:
    """Write ``expected.json``."""
    import torch
    from programs import PROGRAMS, describe

    assert torch.__version__.startswith("2.13."), torch.__version__
    found = {name: describe(torch, name) for name in PROGRAMS}
    (HERE / "expected.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
