"""A few numbers are drawn one by one, and are the stream's."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch
from flambeau.random_streams import Stream, seed_state
from flambeau.random_streams.integers import randint
from flambeau.random_streams.normal import normal
from flambeau.random_streams.uniform import uniform


@pytest.mark.parametrize("seed", [0, 7, 2**40])
def test_streams_continue(seed: int) -> None:
    state = expected_state = seed_state(seed)
    counts = [0, 1, 2, 3, 8, 9, 100, 7, 1] * 40     # over several blocks of 624
    for count in counts:
        floats, state = uniform(state, (count,), 0.0, 1.0, np.dtype(np.float32))
        integers, state = randint(state, (1, count), -3, 9, np.dtype(np.int64))
        stream = Stream(expected_state)
        expected = stream.floats(count)
        expected_integers = stream.random32(count).astype(np.int64) % 12 - 3
        expected_state = stream.close()
        assert np.array_equal(floats, expected) and floats.dtype == expected.dtype
        assert np.array_equal(integers, [expected_integers]) and integers.dtype == np.int64
        assert bytes(state) == bytes(expected_state)


def test_states_that_others_have_stay() -> None:
    generator = torch.Generator().manual_seed(5)
    torch.rand(2, generator=generator)
    kept, expected = generator.get_state(), []
    array = kept.numpy().copy()
    for _ in range(3):
        number = torch.rand(1, generator=generator).item()
        expected.append((number, torch.randint(9, (2,), generator=generator)))
        between = generator.clone_state()
    assert np.array_equal(kept.numpy(), array)
    generator.set_state(kept)
    for number, integers in expected:
        assert torch.rand(1, generator=generator).item() == number
        assert torch.equal(torch.randint(9, (2,), generator=generator), integers)
    assert torch.equal(between.get_state(), generator.get_state())
    assert np.array_equal(kept.numpy(), array)


def test_pending_draws_keep_their_state() -> None:
    def draw(generator: torch.Generator) -> list[torch.Tensor]:
        few = torch.rand(1, generator=generator)
        many = torch.rand(50, generator=generator)
        torch.rand(3, generator=generator).sum().item()
        return [few, many, torch.rand(1, generator=generator), torch.rand(20, generator=generator)]
    first, second = draw(torch.Generator().manual_seed(1)), draw(torch.Generator().manual_seed(1))
    together = torch.rand(75, generator=torch.Generator().manual_seed(1))
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a, b)
    assert torch.equal(first[1], together[1:51]) and torch.equal(first[3], together[55:])


def test_few_after_few_are_the_stream() -> None:
    """Outputs are made ahead, more each time, up to the end of a block."""
    generator = torch.Generator().manual_seed(2)
    words = iter(Stream(seed_state(2)).random32(3 * (5 + 300 * 3)).tolist())
    for _ in range(3):
        torch.rand(5, generator=generator).sum().item()
        for _ in range(5):
            next(words)
        for _ in range(300):
            assert torch.rand(1, generator=generator).item() == (next(words) & 0xFFFFFF) * 2.0**-24
            assert torch.randint(7, (2,), generator=generator).tolist() == [next(words) % 7, next(words) % 7]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (0.3, 2.5)])
def test_few_normals_are_the_streams(dtype: torch.dtype, mean: float, std: float) -> None:
    generator = torch.Generator().manual_seed(4)
    state = seed_state(4)
    for count in [3, 1, 1, 2, 8, 5, 0, 7, 16, 1, 6] * 30:
        out = torch.empty(count, dtype=dtype).normal_(mean, std, generator=generator)
        expected, state = normal(state, (count,), mean, std, dtype.numpy)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6 if dtype is torch.float32 else 1e-14)
        if count == 5:
            number, state = uniform(state, (1,), 0.0, 1.0, np.dtype(np.float32))
            assert torch.rand(1, generator=generator).item() == number[0]
    assert generator.get_state().numpy()[:5024].tobytes() == state[:5024].tobytes()
    assert generator.get_state().numpy()[5040:].tobytes() == state[5040:].tobytes()
