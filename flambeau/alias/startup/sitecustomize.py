"""Runs at the start of every Python process below ``flambeau run``: see flambeau/alias/__init__.py.

Most of these processes never import torch, so this loads one small file and not the package.
"""

import os
import sys


def _install_alias(here):
    from importlib.util import module_from_spec, spec_from_file_location

    name = "flambeau.alias.finder"
    spec = spec_from_file_location(name, os.path.join(os.path.dirname(here), "finder.py"))
    finder = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(finder)
    finder.install()


def _run_the_environments_own():
    """Import the sitecustomize that this one stands before, now that its folder is off sys.path."""
    this = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", this)


def _start():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]
    # Another interpreter on the same PYTHONPATH is none of our business.
    if os.environ.get("FLAMBEAU_ALIAS") == "1" and sys.version_info >= (3, 11):
        _install_alias(here)
    _run_the_environments_own()


_start()
