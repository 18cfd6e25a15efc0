"""A part of an operation's results that is taken after another thread had the operation computed."""

from __future__ import annotations

import pytest

pytest.importorskip("llvmlite")

import flambeau as torch
from flambeau.executors.native.programs.patterns.outline import LEAF, Outline, Reading
from flambeau.graph.node import Node


def test_what_has_several_results_is_read_from_where_it_begins() -> None:
    values, _ = torch.randn(3, 4).max(1)
    part = values._storage.node
    signature, (source,) = part.signature, part.operands
    assert signature.geometries == (None,)
    assert values.shape == (3,)
    values.sum().item()
    reading = Reading([Node(signature, (source,), None)])
    outline = Outline(reading)
    assert outline.sources == [[(LEAF, 0)]]
    assert not outline.reads_parts(reading.signatures)
