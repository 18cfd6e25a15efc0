"""Sobol sequences: every bit of the points is PyTorch's, scrambled ones too."""

from __future__ import annotations

import copy
import hashlib

import pytest

import flambeau as torch
from flambeau.quasirandom import SobolEngine
from flambeau.quasirandom.directions import direction_numbers

# Recorded with PyTorch 2.13: dimension, scrambled with seed 4 or not, MD5 of nine points and of the next 300.
DRAWN = [
    (1, False, "ce8d5c5d261151b71e45d43a059186e0", "ac9a20ada13700445ea1e9aae3e05088"),
    (1, True, "265253440850d40ced21174d718b6c32", "6492f995a6a579d25ca8b38c8d906000"),
    (2, False, "c258514a51590149724d26b866b4a696", "9036faf68ccc8982780e5a7d7b33b24a"),
    (2, True, "d95ebc1e2efe9c7a9867161be41612e0", "67ee8c04e9de583abf56eebaf780ada1"),
    (7, False, "1b1d44c8a9450f1d4fdfc86849eafb04", "241cb9fc47ec32395801bd789722fb4d"),
    (7, True, "d9da5904881ce76eb389a8f9a6d26566", "c45f8d454405875b1f111dfbfcd91ff9"),
    (100, False, "988980956a247634fb3571c0ed9dcdf7", "9dcf88e1e2821eee3216b862224e4ac8"),
    (100, True, "ef3e44929cfd9e17cfcded17352446a5", "0d8fe7267af1f2b8c3308af05069fe0b"),
    (1111, False, "b667e481dbd6b3554abce2994eebcd2a", "54174f712630d48ff5a993dd05a1b9f3"),
    (1111, True, "17dc7103abd680ae3fa42f82a300a58f", "9514f6159e7790915b748787f73dfe1f"),
    (21201, False, "27a535821699087307ffd288091c5064", "c03ffb8e35e80aab0a9e796d1278b7ae"),
    (21201, True, "6ba4ec7ab883d076676ac09886dc6375", "d78885b75cd95d4eab0dae4f6af1d230"),
]


@pytest.mark.parametrize("row", DRAWN, ids=lambda row: f"{row[0]}{'s' * row[1]}")
def test_points_are_pytorchs(row: tuple[int, bool, str, str]) -> None:
    dimension, scrambled, first, later = row
    engine = SobolEngine(dimension, scrambled, 4)
    for count, expected in ((9, first), (300, later)):
        assert hashlib.md5(engine.draw(count).numpy().tobytes()).hexdigest() == expected


def test_all_direction_numbers() -> None:
    numbers = direction_numbers(SobolEngine.MAXDIM)
    assert hashlib.md5(numbers.tobytes()).hexdigest() == "749d0e591a2d30849f871bc7d7d8b985"


def test_without_a_seed_the_global_generator_scrambles() -> None:
    torch.manual_seed(1)
    points = SobolEngine(2, True).draw(2)
    assert torch.allclose(points, torch.tensor([[0.2677, 0.3618], [0.8434, 0.9918]]), atol=1e-4)
    assert torch.rand(1).item() == pytest.approx(0.4351, abs=1e-4)


def test_drawing_in_parts_forward_and_again() -> None:
    whole = SobolEngine(3, True, seed=2).draw(8)
    engine = SobolEngine(3, True, seed=2)
    assert torch.equal(torch.cat([engine.draw(), engine.draw(3), engine.draw_base2(2)]), whole)
    assert engine.num_generated == 8 and torch.equal(engine.reset().draw(8), whole)
    assert torch.equal(SobolEngine(3, True, seed=2).fast_forward(5).draw(3), whole[5:])
    engine.reset().draw(3)
    assert torch.equal(copy.deepcopy(engine).draw(5), whole[3:])


def test_results_types_and_repr() -> None:
    engine, out = SobolEngine(2), torch.empty(0)
    assert engine.draw(3, out=out) is out and out.tolist() == [[0, 0], [0.5, 0.5], [0.75, 0.25]]
    assert engine.draw(1, dtype=torch.float64).dtype is torch.float64 and engine.draw(0).shape == (0, 2)
    assert repr(SobolEngine(2, True, 3)) == "SobolEngine(dimension=2, scramble=True, seed=3)"
    assert repr(SobolEngine(2)) == "SobolEngine(dimension=2)"


def test_errors() -> None:
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match=r"Supported range of dimensionality for SobolEngine is \[1, 21"):
            SobolEngine(dimension)
    with pytest.raises(RuntimeError, match=r"negative dimension -2: \[-2, 3\]"):
        SobolEngine(3).draw(-1)
    engine = SobolEngine(3)
    engine.draw(3)
    with pytest.raises(ValueError, match="balance properties of Sobol' points require n to be a power of 2"):
        engine.draw_base2(2)
    with pytest.raises(NotImplementedError, match="not implemented for 'Half'"):
        engine.draw(2, dtype=torch.float16)
