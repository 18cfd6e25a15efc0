"""Programs that fall back where TensorBoard is not installed ask for ``ModuleNotFoundError``."""

from __future__ import annotations

import importlib
import sys

import pytest


def test_what_is_raised_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("flambeau.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ModuleNotFoundError, match="No module named 'tensorboard'") as caught:
        importlib.import_module("flambeau.utils.tensorboard")
    assert caught.value.name == "tensorboard"
