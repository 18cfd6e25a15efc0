"""Saving and loading against PyTorch: values, errors, warnings."""

from __future__ import annotations

import collections
import copy
import datetime
import functools
import io
import os
import pathlib
import pickle
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.utils.data.programs import outcome, programs

FILE = "../../serialization/programs.txt"


class C1:
    def __init__(self, x: Any) -> None:
        self.x = x


def names(framework: ModuleType, folder: Path) -> dict[str, Any]:
    """What the programs use."""

    def saved(obj: Any, **options: Any) -> Any:
        file = io.BytesIO()
        framework.save(obj, file)
        file.seek(0)
        return framework.load(file, **options)

    def moved(location: Any) -> Any:
        return saved(framework.arange(3.0), map_location=location)

    path: Callable[[str], Path] = folder.joinpath
    config = import_module(f"{framework.__name__}.utils.serialization").config
    return {"t": framework, "P": path, "wo": saved, "ml": moved, "C1": C1, "np": np, "io": io, "os": os,
            "copy": copy, "pickle": pickle, "pathlib": pathlib, "datetime": datetime, "functools": functools,
            "collections": collections, "config": config, "__name__": __name__}  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize("program", list(programs(FILE)))
def test_program(torch: ModuleType, oracle: ModuleType, program: str, tmp_path: Path) -> None:
    framework_known = names(torch, tmp_path), names(oracle, tmp_path)
    assert outcome(torch, program, framework_known[0]) == outcome(oracle, program, framework_known[1])
