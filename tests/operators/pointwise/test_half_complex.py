"""Half complex numbers: pairs of float16 in memory, computed with as complex64."""

from __future__ import annotations

import copy
import io
import json

import numpy as np
import pytest

import flambeau as torch

from . import record_promotions


def numbers() -> torch.Tensor:
    return torch.tensor([1 + 2j, 3 - 1j, 0.5], dtype=torch.complex32)


def same(x: torch.Tensor, expected: list[complex]) -> None:
    assert x.dtype is torch.complex32
    assert x.tolist() == expected


def test_promotion_is_pytorchs_for_every_pair() -> None:
    assert record_promotions.answers(torch) == json.loads(record_promotions.PATH.read_text(encoding="utf-8"))


def test_name_and_size() -> None:
    assert torch.chalf is torch.complex32
    assert str(torch.chalf) == "torch.complex32" and torch.chalf.itemsize == 4
    assert repr(numbers()) == "tensor([1.0000+2.j, 3.0000-1.j, 0.5000+0.j], dtype=torch.complex32)"
    assert numbers().type() == "torch.ComplexHalfTensor"


def test_made_by_every_constructor() -> None:
    same(torch.zeros(2, dtype=torch.chalf), [0, 0])
    same(torch.full((2,), 1 + 1j, dtype=torch.chalf), [1 + 1j, 1 + 1j])
    same(torch.tensor(np.ones(2, np.complex64), dtype=torch.chalf), [1, 1])
    same(torch.complex(torch.ones(1).half(), torch.zeros(1).half()), [1])
    same(torch.ones_like(numbers()), [1, 1, 1])


@pytest.mark.parametrize("name", "bool int64 float16 bfloat16 float32 float64 complex64 complex128".split())
def test_converts_both_ways(name: str) -> None:
    kind = getattr(torch, name)
    assert torch.tensor([1, 0], dtype=kind).chalf().tolist() == [1, 0]
    assert numbers().to(kind).tolist() == numbers().cfloat().to(kind).tolist()


def test_parts_are_views_of_float16() -> None:
    x = torch.zeros(2, dtype=torch.chalf)
    x.real[1] = 4
    x.imag.add_(2)
    torch.view_as_real(x)[0, 0] = 7
    same(x, [7 + 2j, 4 + 2j])
    pairs = torch.zeros(2, 2).half()
    torch.view_as_complex(pairs)[1] = 2 + 3j
    assert pairs.tolist() == [[0, 0], [2, 3]]


def test_writes_through_strided_views() -> None:
    x = torch.zeros(2, 3, dtype=torch.chalf)
    x[:, 1].copy_(torch.tensor([1j, 2]))
    x.t()[2].fill_(5j)
    same(x, [[0, 1j, 5j], [0, 2, 5j]])
    same(x.t().contiguous(), [[0, 0], [1j, 2], [5j, 5j]])


def test_computes() -> None:
    x = numbers()
    same(x * x, [-3 + 4j, 8 - 6j, 0.25])
    same(torch.ones(2).half() * 1j, [1j, 1j])
    same(torch.cat([x, x]).sum().reshape(1), [9 + 2j])
    assert (x + torch.ones(3)).dtype is torch.complex64
    assert x.abs().dtype is torch.float16
    assert torch.allclose(x, x) and torch.equal(x, x.clone())


def test_overflows_to_infinity() -> None:
    assert torch.tensor([1e6 + 1j]).chalf().tolist() == [complex("inf+1j")]


def test_gradients_keep_the_type() -> None:
    x = torch.ones(3, dtype=torch.chalf, requires_grad=True)
    torch.view_as_real(x * 2).float().sum().backward()
    same(x.grad, [2 + 2j] * 3)


def test_saved_and_copied() -> None:
    x = torch.arange(12.0).reshape(3, 4).chalf().t()[1:]
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    for y in (torch.load(file), copy.deepcopy(x)):
        assert y.tolist() == x.tolist() and y.stride() == x.stride()
    assert numbers().storage().tolist() == [1 + 2j, 3 - 1j, 0.5]


def test_numpy_has_no_such_numbers() -> None:
    for force in (False, True):
        with pytest.raises(TypeError, match="Got unsupported ScalarType ComplexHalf"):
            numbers().numpy(force=force)


def test_default_half_makes_half_complex() -> None:
    torch.set_default_dtype(torch.half)
    try:
        assert torch.tensor(1j).dtype is torch.complex32
    finally:
        torch.set_default_dtype(torch.float32)
