"""Submodules that PyTorch has loaded after ``import torch`` are there without an import of their own."""

import subprocess
import sys

import pytest

NAMES = ["_custom_ops", "_functorch", "_higher_order_ops", "_jit_internal", "_subclasses", "_tensor",
         "fx.experimental.proxy_tensor", "nn._reduction", "nn.common_types",
         "nn.utils._named_member_accessor", "optim._functional", "utils._contextlib", "utils._foreach_utils",
         "utils._python_dispatch"]


def test_they_are_attributes() -> None:
    lines = ["import flambeau as torch", *[f"torch.{name}.__name__" for name in NAMES]]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_other_names_are_missing() -> None:
    import flambeau
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = flambeau.utils.nothing
