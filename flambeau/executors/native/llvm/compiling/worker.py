"""A process that compiles: started by ``builders.py`` with the folder that holds llvmlite, and a CPU.

In come messages of a size, an effort and a compressed text; one without a text is the last. Out go messages
of a size, a checksum and an object, in the same order; an empty object stands for a text that does not
compile. Nothing of flambeau is imported but the compiler, which needs none of the rest.
"""

from __future__ import annotations

import importlib
import os
import queue
import struct
import sys
import threading
import types
import zlib
from typing import Any

HEAD = struct.Struct("<IB")
ANSWER = struct.Struct("<II")


def main(folder: str, name: str, features: str) -> None:
    """Compile what comes in, in order."""
    # Texts are read beside the work, so that nobody waits for room in a pipe.
    texts: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(texts,), daemon=True).start()
    sys.path.append(folder)
    compiler, effort = _module("compiler"), _module("effort").Effort
    made = []
    while (message := texts.get())[1]:
        try:
            text = zlib.decompress(message[1]).decode()
            made.append(compiler.object_of(text, name, features, effort=effort(message[0])))
        except Exception:
            made.append(b"")    # whoever asked compiles it again, and reports
    for content in made:
        sys.stdout.buffer.write(ANSWER.pack(len(content), zlib.crc32(content)) + content)
    sys.stdout.buffer.flush()
    os._exit(0)     # there is nothing to tidy up


def _read(texts: queue.SimpleQueue[tuple[int, bytes]]) -> None:
    size = 1
    while size:
        head = sys.stdin.buffer.read(HEAD.size)
        if len(head) < HEAD.size:   # nobody is left to answer to
            os._exit(1)
        size, effort = HEAD.unpack(head)
        texts.put((effort, sys.stdin.buffer.read(size)))


def _module(name: str) -> Any:
    """A file of this folder, without the packages above it."""
    package = types.ModuleType("flambeau_llvm")
    package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
    sys.modules.setdefault("flambeau_llvm", package)
    return importlib.import_module(f"flambeau_llvm.{name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
