"""Every pointwise operator that has a native form gives what the interpreter gives."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import config, dtypes
from flambeau.graph.operator import Operator
from flambeau.tensor import record

pytest.importorskip("llvmlite")

from flambeau.executors.native.fusion import traits

VALUES = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, 7, 100, -100, 1e-3, 0.25, 0.75, np.inf, -np.inf, np.nan, 6.5,
          -3.25]
DTYPES = [flambeau.float32, flambeau.float64, flambeau.bfloat16, flambeau.float16, flambeau.int64,
          flambeau.int32, flambeau.int8, flambeau.uint8, flambeau.bool]
TOLERANCES = {"bfloat16": (1e-2, 1e-6), "float16": (1e-3, 1e-6), "float64": (1e-13, 1e-14)}
# Attributes of operators that have some; the others have none.
ATTRIBUTES: dict[str,
                 list[tuple[Any, ...]]] = {"pow": [(2, int), (3, int), (0.5, float), (-1, float), (0, int)]}


def operators() -> list[Operator]:
    """All pointwise operators, in the order of their names and of their declaration."""
    gc.unfreeze()   # what the import made is kept apart
    found = [o for o in gc.get_objects() if type(o) is Operator and o.kind == "pointwise"]
    gc.freeze()
    return sorted(found, key=lambda o: (o.name, len(o.parameters)))


def arguments(operator: Operator, dtype: dtypes.dtype) -> list[Any]:
    """All pairs of the values, and numbers from the third operand on."""
    numbers = np.array(VALUES)
    if dtype.category < dtypes.FLOATING:
        numbers = np.nan_to_num(numbers, nan=5, posinf=120, neginf=-120)
        numbers = numbers if dtype.is_signed else np.abs(numbers)
    first, second = (v.reshape(-1).copy() for v in np.meshgrid(numbers, numbers))
    tensors = [flambeau.tensor(v).to(dtype) for v in (first, second)]
    flambeau.synchronize()
    return [*tensors, 0.75 if dtype.is_floating_point else 2, 2, 1][:len(operator.parameters)]


def computed(operator: Operator, operands: list[Any], attributes: tuple[Any, ...], tier: str) -> Any:
    """What a tier computes, or the error of recording it."""
    with config.executor(tier), flambeau.no_grad():
        return record(operator, operands, attributes).to(flambeau.float64).numpy()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_agrees_with_the_interpreter(dtype: dtypes.dtype) -> None:
    natives = 0
    for operator in operators():
        for attributes in ATTRIBUTES.get(operator.name, [()]):
            operands = arguments(operator, dtype)
            try:
                want = computed(operator, operands, attributes, "interpreter")
            except Exception:
                continue  # not defined for this type or these attributes
            before = sum(traits._native.values())
            found = computed(operator, operands, attributes, "native")
            natives += sum(traits._native.values()) > before
            relative, absolute = TOLERANCES.get(dtype.name, (2e-6, 1e-5))
            close = np.isclose(found, want, relative, absolute, equal_nan=True)
            named = f"{operator.name}{operator.parameters}"
            assert close.all(), f"{named}: {found[~close][:5]}, not {want[~close][:5]}"
    assert natives > (20 if dtype.is_floating_point else 10)


def test_most_operators_are_native() -> None:
    """The forms that training uses."""
    x = flambeau.randn(1000)
    for function in (flambeau.exp, flambeau.tanh, flambeau.sigmoid, flambeau.relu,
                     flambeau.nn.functional.gelu, flambeau.nn.functional.silu, flambeau.abs, flambeau.sin):
        y = function(x)
        signature = y._storage.node.signature
        assert signature is None or traits.traits_of(signature).fusible, function.__name__
