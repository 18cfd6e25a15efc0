"""Comparing the native form of an operator with the interpreter's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import config
from flambeau.executors.native import templates
from flambeau.executors.native.fusion import traits
from flambeau.executors.native.llvm.compiling.machine import machine
from flambeau.executors.native.programs import known as programs
from flambeau.tensor import Tensor

TEXTS: set[str] = set()     # of the modules that were written while tests ran (conftest.py)


def leaves(result: Any) -> list[Tensor]:
    """The tensors of a result."""
    return [result] if isinstance(result, Tensor) else [x for part in result for x in leaves(part)]


def value(x: Tensor) -> Any:
    """A tensor as a NumPy array; narrow floating types as float32."""
    return x.detach().to(flambeau.float32).numpy() if x.dtype in (flambeau.bfloat16, flambeau.float16) \
        else x.detach().numpy()


def results(function: Callable[..., Any], operands: Sequence[Any], tier: str) -> list[Any]:
    """What a function returns in a tier."""
    with config.executor(tier):
        found = leaves(function(*operands))
        flambeau.synchronize()
        return [(x.stride(), value(x)) for x in found]


def compiled() -> int:
    """How many kernels of templates have been compiled: which pointwise operators are fused may differ."""
    return sum("@rows_body(" not in text for text in TEXTS)


def is_native(name: str) -> bool:
    """Whether an operator of this name has been planned natively, by a template or to be fused."""
    return any(s.operator.name == name and plan for s, plan in templates._plans.items()) \
        or any(s.operator.name == name and own.fusible for s, own in traits._traits.items())


def forget() -> None:
    """Plans and programs are made anew."""
    templates._plans.clear()
    traits._traits.clear()
    programs.clear()


def check_threads(function: Callable[..., Any], operands: Sequence[Any]) -> None:
    """Any number of threads gives the same bits."""
    before = flambeau.get_num_threads()
    want = results(function, operands, "native")
    try:
        for count in (1, 2, 5):
            flambeau.set_num_threads(count)
            programs.clear()
            found = results(function, operands, "native")
            assert all(np.array_equal(x, y) for (_, x), (_, y) in zip(want, found, strict=True))
    finally:
        flambeau.set_num_threads(before)


def check_other_processor(file: str, selection: str) -> None:
    """Tests of a file pass for AVX2, which has vectors of half the width and half as many of them."""
    if os.environ.get("FLAMBEAU_CPU"):
        pytest.skip("runs itself")
    if "+avx2" not in machine().features:
        pytest.skip("the code could not run here")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", file, "-k", selection]
    environment = {**os.environ, "FLAMBEAU_CPU": "haswell"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def check(function: Callable[..., Any], operands: Sequence[Any], name: str, tolerance: float = 0.0) -> None:
    """Both tiers give the same, and the native one by a template of the operator ``name``."""
    want = results(function, operands, "interpreter")
    forget()
    found = results(function, operands, "native")
    assert is_native(name), f"{name} was interpreted"
    assert len(found) == len(want)
    for (strides, x), (expected_strides, y) in zip(found, want):
        assert strides == expected_strides
        assert x.dtype == y.dtype
        if tolerance and x.dtype.kind == "f":
            np.testing.assert_allclose(x, y, tolerance, tolerance)
        else:
            np.testing.assert_array_equal(x, y)
