"""Texts of tensors under print options that leave nothing of them but their size."""

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
