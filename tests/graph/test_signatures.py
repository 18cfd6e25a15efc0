"""Signatures of operands that lie elsewhere are those of the first place, all of them."""

from __future__ import annotations

import flambeau as torch
from flambeau.graph.node import Signature


def test_parts_of_a_tensor_have_signatures_with_all_that_one_has() -> None:
    x = torch.arange(40.0).reshape(4, 10)
    found = [(row * 2)._storage.node.signature for row in (x[1], x[2], x[3])]
    assert len(set(map(id, found))) == 3
    for signature in found:
        assert isinstance(signature, Signature)
        assert all(hasattr(signature, name) for name in Signature.__slots__)
        assert signature.outputs == found[0].outputs and signature.form == found[0].form
        assert signature.geometries != found[0].geometries or signature is found[0]
