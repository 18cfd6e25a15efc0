"""``ShapeProp`` notes on nodes what PyTorch's does."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch
from flambeau import fx, nn
from flambeau.fx.passes.shape_prop import ShapeProp


class Parts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 3)

    def forward(self, x: Any) -> Any:
        first, second = self.convolution(x).chunk(2, 1)
        return {"sum": first + second, "size": x.shape[0]}


def noted(format: Any) -> dict[str, Any]:
    traced = fx.symbolic_trace(Parts())
    result = ShapeProp(traced).propagate(torch.ones(2, 3, 8, 8).contiguous(memory_format=format))
    assert result["sum"].shape == (2, 2, 6, 6)
    return {node.name: node.meta for node in traced.graph.nodes}


@pytest.mark.parametrize(("format", "stride", "part"), [
    (torch.contiguous_format, (144, 36, 6, 1), None), (torch.channels_last, (144, 1, 24, 4), None)])
def test_tensors_are_described(format: Any, stride: Any, part: Any) -> None:
    meta = noted(format)
    found = meta["convolution"]["tensor_meta"]
    assert found == ((2, 4, 6, 6), torch.float32, True, stride, format, False, {})
    halves = meta["chunk"]["tensor_meta"]
    assert [half.shape for half in halves] == [(2, 2, 6, 6)] * 2
    assert {(half.stride, half.memory_format) for half in halves} == {(stride, part)}
    assert meta["output"]["tensor_meta"]["size"] == 2
    assert "tensor_meta" not in meta["getitem_2"] and meta["getitem_2"]["type"] is int


def test_the_node_that_fails_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 2)))
    with pytest.raises(RuntimeError, match="ShapeProp error for: node=%_1 "):
        ShapeProp(traced).propagate(torch.ones(2, 3))
    assert "mat1 and mat2 shapes cannot be multiplied (2x4 and 5x2)" in capsys.readouterr().err
