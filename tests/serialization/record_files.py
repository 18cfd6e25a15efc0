"""Writes the files of PyTorch that tests read without it: ``python -m tests.serialization.record_files``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "recorded"


def network(torch: Any) -> Any:
    """A module whose parameters need no random numbers."""
    net = torch.nn.Sequential(
        torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.GELU(), torch.nn.GRU(3, 2)
    )
    with torch.no_grad():
        for number, parameter in enumerate(net.parameters()):
            parameter.fill_(number / 8)
    return net


def main() -> None:
    """Save with PyTorch."""
    import torch

    from .test_interchange import contents

    assert "flambeau" not in str(torch.__file__)
    FOLDER.mkdir(exist_ok=True)
    for name, new in (("zip.pt", True), ("old.pt", False)):
        torch.save(contents(torch), FOLDER / name, _use_new_zipfile_serialization=new)
    # Not in the old format: that one has the sources of the classes in it.
    torch.save(network(torch), FOLDER / "module.pt")


if __name__ == "__main__":
    main()
