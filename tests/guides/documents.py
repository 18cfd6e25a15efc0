"""The code blocks of the guides: read from the documents, run as they stand."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "blocks"
_BLOCK = re.compile(r"^## (\S+)\n.*?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    """One code block of a document, with what it printed the last time it ran."""

    document: str
    name: str
    source: str
    output: str = field(default="", compare=False)

    @property
    def id(self) -> str:
        """``document/name``, by which cases and the list of what is not there yet refer to it."""
        return f"{self.document}/{self.name}"

    def run(self, given: dict[str, Any] | None = None, completed_with: str = "") -> dict[str, Any]:
        """Execute the block with the names that it presumes; return every name it leaves behind.

        ``completed_with`` is appended where the author left the body of the last statement to the reader.
        """
        names = {"__name__": "__main__", **(given or {})}
        code = compile(self.source + completed_with, f"<{self.id}>", "exec")
        written = io.StringIO()
        try:
            with contextlib.redirect_stdout(written):
                exec(code, names)
        finally:
            self.output = written.getvalue()
        return names


def read(document: str) -> dict[str, Block]:
    """Return the blocks of a document by name, in its order."""
    text = (FOLDER / f"{document}.md").read_text(encoding="utf-8")
    blocks = [Block(document, name, source) for name, source in _BLOCK.findall(text)]
    return {block.name: block for block in blocks}


def documents() -> list[str]:
    """Return the names of the documents."""
    return sorted(path.stem for path in FOLDER.glob("*.md"))
