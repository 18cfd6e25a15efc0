"""``torch.jit.trace``: modules and functions that call the Python code, and look traced."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import flambeau as torch
from flambeau import nn

ONES = torch.ones(1, 2)


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.dropout = nn.Dropout(0.5)
        self.register_buffer("offset", torch.ones(1))

    def forward(self, x: Any) -> Any:
        return self.dropout(self.inner(x)) + self.offset

    def encode(self, x: Any) -> Any:
        return self.inner(x)


@pytest.fixture(autouse=True)
def _deprecated() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def test_a_traced_module_shares_members_and_keeps_its_mode() -> None:
    model = Layers().eval()
    traced = torch.jit.trace(model, ONES)
    assert isinstance(traced, torch.jit.ScriptModule) and not isinstance(traced, Layers)
    assert traced.inner.weight is model.inner.weight
    assert list(traced.state_dict()) == list(model.state_dict())
    expected = model(ONES)
    model.train()
    traced.train()
    assert torch.equal(traced(ONES), expected)
    assert repr(traced) == ("Layers(\n  original_name=Layers\n  (inner): Linear(original_name=Linear)\n"
                            "  (dropout): Dropout(original_name=Dropout)\n)")


def test_what_is_loaded_or_converted_is_computed_with() -> None:
    model = Layers().eval()
    traced = torch.jit.trace(model, ONES)
    traced.load_state_dict({name: torch.zeros_like(x) for name, x in model.state_dict().items()})
    assert traced(ONES).tolist() == [[0.0, 0.0]]
    assert traced.double()(ONES.double()).dtype == torch.float64
    other = copy.deepcopy(traced)
    assert other.inner.weight is not traced.inner.weight
    other.offset.fill_(3.0)
    assert other(ONES.double()).tolist() == [[3.0, 3.0]]


def test_methods_and_functions() -> None:
    model = Layers().eval()
    traced = torch.jit.trace_module(model, {"forward": ONES, "encode": ONES})
    assert torch.equal(traced.encode(ONES), model.encode(ONES))
    with pytest.warns(UserWarning, match="already a ScriptModule"):
        assert torch.jit.trace(traced, ONES) is traced
    double = torch.jit.trace(lambda x: 2 * x, ONES)
    assert isinstance(double, torch.jit.ScriptFunction) and double(x=ONES).tolist() == [[2.0, 2.0]]


def test_the_example_is_run_as_often_as_pytorch_runs_it() -> None:
    seen = []

    def draws(x: Any) -> Any:
        seen.append(torch.jit.is_tracing())
        return x + torch.rand(1)
    torch.manual_seed(5)
    torch.jit.trace(draws, ONES, check_trace=False)
    assert seen == [True] and round(torch.rand(1).item(), 4) == 0.1261
    torch.manual_seed(5)
    with pytest.warns(torch.jit.TracerWarning, match="does not match"):
        torch.jit.trace(draws, ONES)
    assert round(torch.rand(1).item(), 4) == 0.9201
    layer = nn.BatchNorm1d(2)
    torch.jit.trace(layer, torch.ones(2, 2))
    assert layer.num_batches_tracked == 5


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: torch.jit.trace(nn.Tanh()), RuntimeError, "example_kwarg_inputs should be a dict"),
    (lambda: torch.jit.trace(Layers().encode, ONES), AttributeError, "Please use trace_module"),
    (lambda: torch.jit.trace(lambda x: 1, ONES), RuntimeError, "Only tensors, lists, tuples of tensors"),
    (lambda: torch.jit.trace(lambda x: {"a": x}, ONES), RuntimeError, "Encountering a dict"),
    (lambda: torch.jit.trace(lambda x, y: x, (ONES, 2)), RuntimeError, "Type 'Tuple.Tensor, int.' cannot be"),
    (lambda: torch.jit.trace_module(len, {"forward": ONES}), AttributeError, "expected torch.nn.Module"),
    (lambda: torch.jit.trace_module(nn.Tanh(), [ONES]), AttributeError, "expected a dictionary"),
])
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_errors_of_the_code_are_runtime_errors() -> None:
    traced = torch.jit.trace(lambda x: x[1], torch.ones(2))
    with pytest.raises(RuntimeError, match="IndexError: index 1 is out of bounds"):
        traced(torch.ones(1))
    with pytest.raises(RuntimeError, match="missing 1 required positional argument"):
        torch.jit.trace(nn.Tanh(), ONES)()


def test_containers_are_allowed_where_they_were_asked_for() -> None:
    traced = torch.jit.trace(lambda d: {"b": d["a"] + 1}, ({"a": ONES},), strict=False)
    assert traced({"a": ONES})["b"].tolist() == [[2.0, 2.0]]


def test_the_deprecation_is_not_of_the_callers_line() -> None:
    """As PyTorch's: shown to those alone who ask for such warnings."""
    for call in (lambda: torch.jit.trace(nn.Tanh(), torch.zeros(1)),
                 lambda: torch.jit.trace_module(nn.Tanh(), {"forward": torch.zeros(1)})):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            call()
        assert [w.category for w in told if "deprecated" in str(w.message)]
        assert __file__ not in [w.filename for w in told]
