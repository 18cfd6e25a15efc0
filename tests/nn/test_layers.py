"""Every layer of the table: it runs, its state is saved, loaded and copied, and it does as PyTorch's does."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import pytest

from .harness import build, compare, run
from .layer_cases import CASES, ERRORS


@pytest.mark.parametrize(("constructor", "call"), CASES)
def test_layer_runs(torch: Any, constructor: str, call: str) -> None:
    """The layer computes, and copies of it have the same state and print the same."""
    seen = run(torch, constructor, call)
    assert any(key.startswith("output") for key in seen)
    layer = build(torch, constructor)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert repr(other) == repr(layer)
        assert list(other.state_dict()) == list(layer.state_dict())
        assert repr(other.load_state_dict(layer.state_dict())) == "<All keys matched successfully>"


@pytest.mark.oracle
@pytest.mark.parametrize(("constructor", "call"), CASES)
def test_layer_agrees_with_pytorch(torch: Any, oracle: Any, constructor: str, call: str) -> None:
    """Printed form, state for a seed, outputs and all gradients are PyTorch's."""
    compare(run(torch, constructor, call), run(oracle, constructor, call))


@pytest.mark.oracle
@pytest.mark.parametrize(("constructor", "call"), CASES)
def test_layer_agrees_in_evaluation_and_double_precision(
    torch: Any, oracle: Any, constructor: str, call: str
) -> None:
    """The same in eval mode, in float64."""
    ours, theirs = (run(each, constructor, call, training=False, dtype="float64") for each in (torch, oracle))
    compare(ours, theirs, 1e-8)  # some constants of PyTorch's are of single precision


@pytest.mark.oracle
def test_every_layer_of_pytorch_is_here(torch: Any, oracle: Any) -> None:
    """Each public class of torch.nn is in the table, or has programs of its own."""
    elsewhere = {
        "Buffer", "Container", "DataParallel", "Module", "ModuleDict", "ModuleList", "Parameter",
        "ParameterDict", "ParameterList", "RNNBase", "RNNCellBase", "UninitializedBuffer",
        "UninitializedParameter",
        "LinearCrossEntropyLoss", "LinearCrossEntropyOptions",
    }  # fmt: skip
    text = " ".join(constructor for constructor, _ in CASES)
    classes = [name for name in dir(oracle.nn) if isinstance(getattr(oracle.nn, name), type)]
    assert not [name for name in classes if not hasattr(torch.nn, name)]
    missing = {name for name in classes if not re.search(rf"\b{name}\(", text)}
    assert not missing - elsewhere


def error_of(torch: Any, expression: str) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        build(torch, expression)
    return caught.type.__name__, str(caught.value).replace("flambeau.", "torch.")


@pytest.mark.parametrize("expression", ERRORS)
def test_mistake_is_refused(torch: Any, expression: str) -> None:
    """A wrong argument raises, and not by accident."""
    kind, message = error_of(torch, expression)
    assert kind in ("ValueError", "RuntimeError", "AssertionError", "TypeError")
    assert message


@pytest.mark.oracle
@pytest.mark.parametrize("expression", ERRORS)
def test_mistake_has_the_text_of_pytorch(torch: Any, oracle: Any, expression: str) -> None:
    """The exception's type and text are PyTorch's."""
    assert error_of(torch, expression) == error_of(oracle, expression)
