"""Texts of tensors under print options that leave nothing of them but their size, and of limits of types."""

from __future__ import annotations

from types import ModuleType

import pytest

# With edgeitems=0 the size is told, as if the elements were not all there.
ROWS = [
    ("torch.ones(2)", "tensor([1., 1.], size=(2,))"),
    ("torch.tensor(2)", "tensor(2, size=())"),
    ("torch.ones(0)", "tensor([])"),
    ("torch.ones(40, 40)", "tensor([...], size=(40, 40))"),
    ("torch.ones(1, 2, dtype=torch.float64)", "tensor([[1., 1.]], size=(1, 2), dtype=torch.float64)"),
    ("torch.ones(1, requires_grad=True)", "tensor([1.], size=(1,), requires_grad=True)"),
]


def _text(torch: ModuleType, call: str) -> str:
    torch.set_printoptions(edgeitems=0)
    try:
        return repr(eval(call, {"torch": torch}))
    finally:
        torch.set_printoptions(profile="default")


@pytest.mark.parametrize(("call", "text"), ROWS)
def test_size_is_told_where_no_edges_are_shown(torch: ModuleType, call: str, text: str) -> None:
    assert _text(torch, call) == text


@pytest.mark.oracle
def test_rows_are_pytorchs(oracle: ModuleType) -> None:
    assert [_text(oracle, call) for call, _ in ROWS] == [text for _, text in ROWS]


def test_a_history_is_told_without_its_namespace(torch: ModuleType) -> None:
    x = torch.ones(2, requires_grad=True) * 1
    x[0] = 5
    assert x.grad_fn.name() == "torch::autograd::CopySlices"
    assert repr(x) == "tensor([5., 1.], grad_fn=<CopySlices>)"


LIMITS = [
    ("torch.iinfo(torch.int8)", "iinfo(min=-128, max=127, dtype=int8)"),
    ("torch.iinfo(torch.int32)", "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)"),
    ("torch.iinfo(torch.uint64)", "iinfo(min=0, max=1.84467e+19, dtype=uint64)"),
    ("torch.finfo(torch.float16)", "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, "
     "smallest_normal=6.10352e-05, tiny=6.10352e-05, dtype=float16)"),
]


@pytest.mark.parametrize(("call", "text"), LIMITS)
def test_limits_are_told_in_six_digits(torch: ModuleType, call: str, text: str) -> None:
    assert repr(eval(call, {"torch": torch})) == text


@pytest.mark.oracle
def test_limits_are_pytorchs(oracle: ModuleType) -> None:
    assert [repr(eval(call, {"torch": oracle})) for call, _ in LIMITS] == [text for _, text in LIMITS]
