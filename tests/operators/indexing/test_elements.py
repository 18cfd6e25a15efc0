"""Single elements that are assigned numbers: places and values may be tensors, as with PyTorch."""

from types import ModuleType
from typing import Any

import pytest

import flambeau

pytestmark = pytest.mark.oracle

_TENSORS = ("zeros(4)", "zeros(3, 2)", "zeros(4, dtype=torch.long)", "zeros(4, dtype=torch.float64)",
            "zeros(4, dtype=torch.bool)", "zeros(4, dtype=torch.int32)", "zeros(1)")
_KEYS = ("T(2)", "T(-1)", "T(9)", "(T(1),)", "(T(1), T(1))", "(T(1), 0)", "(0, T(1))", "T(True)", "T([1])",
         "1")
_VALUES = ("T(3)", "T(2.5)", "T(float('nan'))", "T(float('inf'))", "T(1 << 60)", "T(True)",
           "T(2.5, dtype=torch.float64)", "T([7.])", "T(-0.0)", "2", "-0.0")


def _assigned(torch: Any, made: str, key: str, value: str) -> Any:
    names = {"T": torch.tensor, "torch": torch}
    x = eval(f"torch.{made}", names)
    before = x.clone()
    try:
        x[eval(key, names)] = eval(value, names)
    except (IndexError, RuntimeError, TypeError, ValueError):
        return "an error"
    return repr(x.tolist()), x._version, before.tolist()


@pytest.mark.parametrize("made", _TENSORS)
def test_places_and_values_that_are_tensors(made: str, oracle: ModuleType) -> None:
    for key in _KEYS:
        for value in _VALUES:
            assert _assigned(flambeau, made, key, value) == _assigned(oracle, made, key, value), (key, value)


def _gradients(torch: Any) -> list[Any]:
    w, y, parts = torch.tensor([2.0, 3.0], requires_grad=True), torch.zeros(3), torch.arange(5.0)
    y[torch.tensor(1)] = w[1]
    y.sum().backward()
    part = parts[3]
    parts[torch.tensor(0)] = part
    parts[3] = parts[1]
    return [w.grad.tolist(), y.tolist(), y.requires_grad, parts.tolist(), part.item()]


def test_values_with_gradients_and_of_the_same_memory(oracle: ModuleType) -> None:
    assert _gradients(flambeau) == _gradients(oracle)
