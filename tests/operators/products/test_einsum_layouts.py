"""How results of ``einsum`` lie in memory: the labels in the order of their strides, as PyTorch's."""

from __future__ import annotations

import pytest

import flambeau as torch

SIZES = dict(zip("abcdijkn", (2, 3, 5, 6, 4, 7, 8, 9)))


@pytest.mark.parametrize(("equation", "order"), [
    ("ij,jk->ik", "ik"), ("ij,kj->ki", "ki"), ("ij,jk->ki", "ki"), ("abi,cdi->acbd", "abcd"),
    ("abi,cdi->cadb", "abcd"), ("abi,cdi->cdab", "cdab"), ("abi,cdi->abdc", "abdc"),
    ("abi,cdi->bacd", "bacd"),
    ("nab,ncb->cna", "nca"), ("nab,ncb->anc", "nac"), ("i,j->ji", "ji"), ("ib,kb->bki", "kib"),
])
def test_order_in_memory(equation: str, order: str) -> None:
    terms, wanted = equation.split("->")
    operands = [torch.rand(*(SIZES[label] for label in term)) for term in terms.split(",")]
    result = torch.einsum(equation, *operands)
    assert "".join(sorted(wanted, key=lambda label: -result.stride(wanted.index(label)))) == order


def test_an_operand_that_stays_as_it_is_gives_a_view_of_it() -> None:
    x = torch.ones(2, 3)
    found = torch.einsum("ij->ij", x)
    assert found is not x
    assert found.data_ptr() == x.data_ptr()


def test_an_equation_is_read_anew_for_other_shapes() -> None:
    for rows, inner in ((2, 3), (1, 3), (2, 1), (0, 3), (2, 0)):
        a, b = torch.ones(rows, inner), torch.ones(2, 3)
        if inner and rows:
            assert torch.equal(torch.einsum("ij,kj->ik", a, b), torch.full((rows, 2), 3.0))
        elif not rows:
            assert torch.einsum("ij,kj->ik", a, b).shape == (0, 2)
