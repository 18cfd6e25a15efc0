"""Signatures of operands that lie elsewhere are those of the first place, all of them."""

from __future__ import annotations

import pytest

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


def test_signatures_of_new_shapes_say_what_the_first_says() -> None:
    def of_each(*shape: int) -> list[Signature]:
        x, whole, truth = torch.ones(shape), torch.ones(shape, dtype=torch.int64), torch.ones(shape) > 0
        half = x.bfloat16()
        results = [
            x + x,
            x + whole,
            whole / whole,
            whole * 2,
            whole * 2.5,
            x > 0.5,
            truth | truth,
            truth + truth,
            half * half,
            half * x,
            half * 2,
            2 - x,
            1 / whole,
            x.clamp(min=0),
            torch.where(truth, x, x),
            torch.complex(x, x),
            torch.complex(x, x).abs(),
            x.exp(),
            whole.exp(),
            x[1:] + x[1:],
            x.lerp(x, 2),
        ]
        return [result._storage.node.signature for result in results]

    first, later = of_each(3, 4), of_each(5, 7)
    for a, b in zip(first, later, strict=True):
        assert all(hasattr(b, name) for name in Signature.__slots__)
        assert (a.operator, a.attributes, a.compute, a.rounds, a.form) == (
            b.operator,
            b.attributes,
            b.compute,
            b.rounds,
            b.form,
        )
        out = b.outputs[0]
        assert out.dtype is a.outputs[0].dtype and out.is_contiguous and not out.offset
        assert b.nbytes == out.numel * out.dtype.itemsize and b.single and b.usual and not b.on_meta
    torch.set_default_dtype(torch.float64)
    try:
        assert (torch.ones(11, 3, dtype=torch.int64) / 2).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_results_of_parts_lie_without_gaps() -> None:
    for rows, columns in ((6, 8), (5, 9), (7, 6)):
        x = torch.arange(float(rows * columns)).reshape(rows, columns)
        inner, other = x[1:-1, 2:5], torch.ones(rows, columns)[2:, :3]
        for result in (inner + 0.5, inner + other, inner > other, -inner, inner * inner[0]):
            assert result.stride() == (3, 1) and result.storage_offset() == 0
        assert (inner + other).tolist() == (inner.clone() + 1).tolist()
        assert (inner.T * 2).stride() == (1, 3) and (inner[:, :1] * 2).stride() == (1, 1)
        x[1:-1, 2:5] += 0.5
        assert x[2, 3].item() == 2 * columns + 3.5 and x[0, 3].item() == 3


def test_results_of_operands_that_are_broadcast_lie_in_order() -> None:
    for n in (3, 5, 8):
        x, column, row, one = torch.ones(n, 4), torch.ones(n, 1), torch.ones(4), torch.ones(())
        spread = torch.ones(()).expand(n, 4)
        for result in (x + column, column + x, x * row, row - x, column * row, x + one, one + x,
                       x[:, None, 2:][:, 0] + column, spread * x, spread + spread,
                       torch.where(column > 0, x, row), x.masked_fill(column > 0, 1.0),
                       torch.where(x > 0, one, 0.0)):
            assert result.is_contiguous() and not result.storage_offset() and len(result) == n
        assert (column + column.T).stride() == (n, 1) and (x[:, None, 2:] - x[None, :, 2:]).shape == (n, n, 2)
        whole = torch.ones(n, 4, dtype=torch.int64)
        assert (whole + one).dtype is torch.float32 and (whole + one.double()).dtype is torch.float64
        assert (x + one.double()).dtype is torch.float32 and (x + row.double()).dtype is torch.float64
        assert (column + 1).stride() == (1, 1) and (x[:1] + 1).stride() == (4, 1)
        with pytest.raises(RuntimeError, match="must match the size of tensor b"):
            x + torch.ones(3, 1, 3)


def test_errors_of_shapes_and_types_are_raised_for_new_shapes() -> None:
    for n in (3, 5, 7):
        x, truth = torch.ones(n, 2), torch.ones(n, 2) > 0
        x - x
        with pytest.raises(RuntimeError, match="Subtraction, the `-` operator"):
            truth - truth
        with pytest.raises(RuntimeError, match="must match the size of tensor b"):
            x + torch.ones(n, 3)
        assert (x.T + x.T).stride() == (1, 2) and (torch.ones(n, 1) + 1).stride() == (1, 1)
