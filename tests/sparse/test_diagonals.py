"""``torch.sparse.spdiags``."""

from __future__ import annotations

import pytest

import flambeau as torch

S = torch.sparse.spdiags
D = torch.arange(1.0, 10.0).reshape(3, 3)


def test_elements_keep_their_column() -> None:
    found = S(D, torch.tensor([0, -1, 1]), (3, 3))
    assert found.to_dense().tolist() == [[1, 8, 0], [4, 2, 9], [0, 5, 3]] and found._nnz() == 7
    found = S(D, torch.tensor([0, -1, 2]), (4, 5))
    assert found.to_dense().tolist() == [[1, 0, 9, 0, 0], [4, 2, 0, 0, 0], [0, 5, 3, 0, 0], [0, 0, 6, 0, 0]]
    assert S(D, torch.tensor([0, -1, 2]), (2, 2)).to_dense().tolist() == [[1, 0], [4, 2]]
    assert S(D[0], torch.tensor(1), (3, 3)).to_dense().tolist() == [[0, 2, 0], [0, 0, 3], [0, 0, 0]]


def test_layouts() -> None:
    for layout in (torch.sparse_csr, torch.sparse_csc, torch.sparse_coo):
        found = S(D, torch.tensor([0, -1, 1]), (3, 3), layout=layout)
        assert found.layout is layout and found.to_dense()[0].tolist() == [1, 8, 0]


@pytest.mark.parametrize(("offsets", "shape", "message"), [
    ([0, 0, 1], (3, 3), "Offset tensor contains duplicate values"),
    ([0, 1], (3, 3), r"Number of diagonals \(3\) does not match the number of offsets \(2\)"),
    ([0, 1, 2.0], (3, 3), "Offset Tensor must have dtype Long but got Float"),
    ([[0, 1, 2]], (3, 3), "Offsets must be scalar or vector"),
    ([0, 1, 2], (3, 3, 3), "Output shape must be 2d"),
])
def test_what_is_refused(offsets: object, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        S(D, torch.tensor(offsets), shape)
    with pytest.raises(RuntimeError, match=r"Only output layouts .* are supported, got Strided"):
        S(D, torch.tensor([0, 1, 2]), (3, 3), layout=torch.strided)
