"""``import torch`` means flambeau: the alias that ``flambeau run`` switches on, and ``flambeau.alias()``.

    import flambeau
    flambeau.alias()

    import torch.nn.functional as F     # the very module flambeau.nn.functional
    from torch import nn

A real PyTorch in the same environment is then not imported, ``importlib.util.find_spec("torch")`` finds
flambeau, and ``importlib.metadata.version("torch")`` is the version of PyTorch whose API flambeau follows.

Child processes get the alias as well, however they are started (fork, spawn, forkserver, ``subprocess``
with ``sys.executable``): ``FLAMBEAU_ALIAS=1`` stands in their environment, and a folder with a
``sitecustomize.py`` stands first on their PYTHONPATH. That file installs the import finder, takes its folder
off ``sys.path`` again and hands over to the environment's own ``sitecustomize``, if there is one. A child
started with an environment that lacks these two variables, or with ``python -E``, ``-I`` or ``-S``, is a
plain Python.

The module itself is what one calls, so that ``flambeau.alias`` can be both the package and the function.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

from .finder import install, installed, torch_name

__all__ = ["enable", "enabled", "torch_name"]

STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")


def enable() -> None:
    """Make ``torch`` mean flambeau in this process and in the processes it starts from now on.

    Calling it again does nothing. Where the real torch is already imported, it raises RuntimeError.

    Example:

        >>> import flambeau
        >>> flambeau.alias()
        >>> import torch.nn.functional
        >>> torch is flambeau
        True
        >>> from flambeau.alias.finder import uninstall; uninstall()
    """
    install()
    os.environ["FLAMBEAU_ALIAS"] = "1"
    folders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    if STARTUP not in folders:
        os.environ["PYTHONPATH"] = os.pathsep.join([STARTUP, *folders])


def enabled() -> bool:
    """Whether ``torch`` means flambeau in this process."""
    return installed()


class _CallableModule(ModuleType):
    """A module that can be called: ``flambeau.alias()`` is ``flambeau.alias.enable()``."""

    def __call__(self) -> None:
        enable()


sys.modules[__name__].__class__ = _CallableModule
