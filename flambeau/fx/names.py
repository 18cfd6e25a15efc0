"""Names: where functions and types are found, and names of values in the code of a graph."""

from __future__ import annotations

import builtins
import keyword
import operator
import re
import sys
import types
from functools import lru_cache
from operator import attrgetter
from typing import Any

from .._C import _nn
from ..alias import torch_name
from ..nn import Module

# PyTorch's users know these functions by the module that PyTorch finds them in.
_IN_FUNCTIONAL = frozenset({
    "align_tensors", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes",
    "broadcast_tensors", "cartesian_prod", "cdist", "chain_matmul", "einsum", "lu", "meshgrid", "norm",
    "split", "stft", "tensordot", "unique", "unique_consecutive", "unravel_index"})

_IN_NN_FUNCTIONAL = frozenset({
    "batch_norm", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "group_norm",
    "hinge_embedding_loss", "instance_norm", "kl_div", "layer_norm", "margin_ranking_loss", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool3d", "poisson_nll_loss", "rms_norm",
    "triplet_margin_loss"})

PACKAGE = __name__.partition(".")[0]
_OWN = (PACKAGE, "torch")       # the alias names some by what their users call them
# Where public functions are looked for, in this order.
_HOMES = ("", "nn.functional", "linalg", "fft", "special", "functional")


def bare(function: Any) -> Any:
    """A function without what was wrapped around it: two public names may be the same function."""
    while hasattr(function, "__wrapped__") and str(function.__module__).partition(".")[0] in _OWN:
        function = function.__wrapped__
    return function


@lru_cache(maxsize=1)
def _published() -> dict[Any, str]:
    """By function or class, without wrappers: its first public name."""
    package = sys.modules[PACKAGE]
    found: dict[Any, str] = {}
    homes = {f"torch.{home}".rstrip("."): attrgetter(home)(package) if home else package for home in _HOMES}
    for place, home in [*homes.items(), ("torch.Tensor", package.Tensor)]:
        for name, value in list(vars(home).items()):
            own = getattr(value, "__module__", None) or ""
            if callable(value) and own.partition(".")[0] in _OWN and not name.startswith("_" * 3):
                found.setdefault(bare(value), f"{place}.{name}")
    return found


def public_path(function: Any) -> str:
    """Where a function is found: ``torch.nn.functional.relu``, ``operator.add``, ``builtins.getattr``."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if name is None:
        return str(function)
    module = torch_name(getattr(function, "__module__", None) or "torch")
    if module == "_operator" or getattr(operator, name, None) is function:
        return f"operator.{name}"
    if getattr(builtins, name, None) is function:
        return f"builtins.{name}"
    path = f"{module}.{name}"
    if module.partition(".")[0] == "torch":
        path = f"torch.{name}" if name.startswith("Tensor.") else _published().get(bare(function), path)
        home, _, last = path.rpartition(".")
        if home == "torch" and last in _IN_FUNCTIONAL:
            return f"torch.functional.{last}"
        if home == "torch" and last in _IN_NN_FUNCTIONAL:
            return f"torch.nn.functional.{last}"
        if home == "torch.nn.functional" and last in _nn.NAMES | {"logsigmoid"}:
            return f"torch._C._nn.{last.replace('logsig', 'log_sig')}"
    return path


def type_text(kind: Any) -> str:
    """An annotation as a graph shows it: ``int``, ``torch.Tensor``, ``typing.List[int]``."""
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        if kind.__module__ == "builtins":
            return kind.__qualname__
        path = f"{torch_name(kind.__module__)}.{kind.__qualname__}"
        return _published().get(kind, path) if not issubclass(kind, Module) else path
    parts = [repr(kind)]
    for inner in getattr(kind, "__args__", ()):
        if isinstance(inner, type):
            parts.append(parts.pop().replace(f"{inner.__module__}.{inner.__qualname__}", type_text(inner)))
    return parts[0]


def candidate(target: Any) -> str:
    """The name that a node with this target would like to have."""
    if callable(target):
        return _snake(target.__name__)
    text = str(target)
    if text.startswith("__") and text.endswith("__"):
        text = text[2:-2]
    return _snake(text)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def legal_name(wanted: str, taken: dict[str, int]) -> str:
    """A name that is no keyword, no builtin and not taken, with a number where it has to be."""
    wanted = re.sub(r"[^0-9a-zA-Z_]+", "_", wanted) or "_unnamed"
    if wanted[0].isdigit():
        wanted = "_" + wanted
    found = re.fullmatch(r"(.*)_(\d+)", wanted)
    base, number = (found[1], int(found[2])) if found else (wanted, 0)
    if wanted not in taken and not _reserved(wanted):
        taken[wanted] = 0
        return wanted
    number = max(number, taken.get(base, 0))
    while True:
        number += 1
        made = f"{base}_{number}"
        if made not in taken:
            taken[base] = max(taken.get(base, 0), number)
            taken[made] = 0
            return made


def _reserved(name: str) -> bool:
    return keyword.iskeyword(name) or hasattr(builtins, name) or name in ("torch", "device", "inf", "nan",
                                                                          "NoneType")
