"""Normalizations folded into layers, and dropout taken out, of traced modules."""

from typing import Any

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.fx.experimental.optimization import fuse, remove_dropout


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), nn.Dropout())
        self.last, self.norm = nn.Linear(8, 4), nn.BatchNorm1d(4)
        self.apart, self.shared = nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2)

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        y = self.apart(x)
        return self.norm(self.last((self.shared(y) + y).flatten(1)))


def _kinds(module: Any) -> list[str]:
    return [type(module.get_submodule(node.target)).__name__ for node in module.graph.nodes
            if node.op == "call_module"]


def _layers() -> Layers:
    torch.manual_seed(0)
    layers = Layers()
    for _ in range(2):
        layers(torch.randn(3, 1, 2, 2))
    return layers.eval()


def test_normalizations_are_folded_where_no_one_else_reads() -> None:
    layers, x = _layers(), torch.randn(3, 1, 2, 2)
    fused = fuse(layers)
    assert _kinds(fused) == ["Conv2d", "Dropout", "Conv2d", "BatchNorm2d", "Linear"]
    torch.testing.assert_close(fused(x), layers(x))
    assert isinstance(layers.first[1], nn.BatchNorm2d)
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        fuse(layers.train())


def test_dropout_is_taken_out() -> None:
    assert "Dropout" not in _kinds(remove_dropout(_layers()))
