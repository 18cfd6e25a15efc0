"""The command ``flambeau``: run a PyTorch script, explain what it computed, describe the environment."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..version import flambeau_version
from .env import env
from .explain import explain
from .program import run

USAGE = """\
usage: flambeau COMMAND ...

  flambeau run SCRIPT [ARGS ...]        run a PyTorch script; 'import torch' means flambeau
  flambeau run -m MODULE [ARGS ...]     the same for a module
  flambeau explain SCRIPT [ARGS ...]    run it, then say what was computed when, and why
  flambeau explain -m MODULE [ARGS ...]
  flambeau env                          versions, processor, threads, caches, settings

  flambeau --version
  flambeau --help

Settings are environment variables: see docs/environment.md.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The entry point of the console script; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = given.pop(0) if given else "--help"
    if command in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0
    if command in ("-V", "--version"):
        print(f"flambeau {flambeau_version}")
        return 0
    if command == "run":
        return run(given)
    if command == "explain":
        return explain(given)
    if command == "env":
        return env(given)
    print(f"flambeau: there is no command {command!r}\n\n{USAGE}", end="", file=sys.stderr)
    return 2
