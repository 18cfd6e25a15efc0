"""``FLAMBEAU_DUMP``: the folder into which everything is written that is compiled."""

from __future__ import annotations

import os
from pathlib import Path

files: dict[int, str] = {}      # of functions whose module was written there: address, name of its files


def dump_folder() -> Path | None:
    """The folder, if it is set; made if it is not there."""
    name = os.environ.get("FLAMBEAU_DUMP")
    if not name:
        return None
    folder = Path(name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
