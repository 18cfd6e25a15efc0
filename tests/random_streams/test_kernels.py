"""The kernels against PyTorch's recorded numbers and, where it is installed, against PyTorch itself."""

from __future__ import annotations

import importlib
import importlib.util
import json
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from flambeau import random_streams as streams

from .oracle import digest, run_reference, starting_state
from .random_stream_cases import Array, Case, cases

EXPECTED: dict[str, str] = json.loads(Path(__file__).with_name("expected.json").read_text())["digests"]
CASES = list(cases())
FLOAT32 = np.dtype(np.float32)
_spec = importlib.util.find_spec("torch")
HAS_TORCH = _spec is not None and Path(str(_spec.origin)).parent.name == "torch"
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="compares with PyTorch, which is not installed")


def test_every_exact_case_is_recorded() -> None:
    assert {case.name for case in CASES if not case.ulps} == set(EXPECTED)
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", [c for c in CASES if not c.ulps], ids=lambda c: c.name)
def test_recorded(case: Case) -> None:
    assert digest(*case.kernel(starting_state())) == EXPECTED[case.name]


@needs_torch
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_oracle(case: Case) -> None:
    torch = importlib.import_module("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, expected_state = run_reference(torch, case)
    values, state = case.kernel(starting_state())
    assert values.dtype == expected.dtype
    assert values.shape == expected.shape
    if case.ulps:
        np.testing.assert_array_max_ulp(values, expected, case.ulps)
    else:
        assert _bits(values) == _bits(expected)
    np.testing.assert_array_equal(state, expected_state)


def _bits(values: Array) -> bytes:
    return np.ascontiguousarray(values).tobytes()


@needs_torch
@pytest.mark.parametrize("seed", [0, 1, 42, 2**32 - 1, 2**40 + 5, 2**64 - 3])
def test_seeding_is_pytorch_s(seed: int) -> None:
    torch = importlib.import_module("torch")
    expected = torch.Generator().manual_seed(seed).get_state().numpy()
    np.testing.assert_array_equal(streams.seed_state(seed), expected)
    assert streams.seed_of(streams.seed_state(seed)) == seed


@needs_torch
@pytest.mark.parametrize("count", [0, 1, 3, 623, 624, 625, 1247, 1248])
def test_pytorch_continues_from_our_state(count: int) -> None:
    torch = importlib.import_module("torch")
    stream = streams.Stream(streams.seed_state(9))
    stream.random32(count)
    state = stream.close()
    generator = torch.Generator()
    generator.set_state(torch.from_numpy(state.copy()))
    for n in (3, 1, 30, 2):
        values, state = streams.normal(state, (n,), 0.0, 1.0, FLOAT32)
        np.testing.assert_array_equal(values, torch.randn(n, generator=generator).numpy())
    np.testing.assert_array_equal(state, generator.get_state().numpy())


def test_a_state_is_never_written() -> None:
    state = streams.seed_state(3)
    before = state.copy()
    first, after = streams.normal(state, (5,), 0.0, 1.0, FLOAT32)
    again, _ = streams.normal(state, (5,), 0.0, 1.0, FLOAT32)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(state, before)
    assert not after.flags.writeable
    with pytest.raises(ValueError):
        state[0] = 1


def test_nothing_drawn_gives_the_same_state() -> None:
    state = starting_state()
    assert streams.uniform(state, (0,), 0.0, 1.0, FLOAT32)[1] is state


def test_two_open_streams_in_a_thread_are_refused() -> None:
    first = streams.Stream(streams.seed_state(0))
    second = streams.Stream(streams.seed_state(1))
    with pytest.raises(RuntimeError, match="another random stream"):
        first.random32(1)
    second.random32(1)


def test_threads_do_not_disturb_each_other() -> None:
    expected = [streams.uniform(streams.seed_state(s), (50000,), 0.0, 1.0, FLOAT32)[0] for s in range(4)]
    found: dict[int, Array] = {}

    def draw(seed: int) -> None:
        for _ in range(5):
            found[seed] = streams.uniform(streams.seed_state(seed), (50000,), 0.0, 1.0, FLOAT32)[0]

    threads = [threading.Thread(target=draw, args=(s,)) for s in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, values in enumerate(expected):
        np.testing.assert_array_equal(found[seed], values)


@pytest.mark.parametrize(("offset", "value"), [(8, 0), (9, 3), (12, 0), (17, 3)])
def test_damaged_states_are_refused(offset: int, value: int) -> None:
    state = streams.seed_state(0).copy()
    streams.check_state(state)
    state[offset] = value
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        streams.check_state(state)


def test_states_of_another_size_are_refused() -> None:
    with pytest.raises(RuntimeError, match="of size 5056 but found the input RNG state size to be 16"):
        streams.check_state(np.zeros(16, np.uint8))


@pytest.mark.parametrize("n", [1, 2, 5, 200, 3000])
def test_the_longest_permutations(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # From 214,748,364 elements on: the inside-out shuffle, here against its definition.
    module = importlib.import_module("flambeau.random_streams.permutation")
    monkeypatch.setattr(module, "_WIDE", 0)
    outputs = streams.Stream(streams.seed_state(n)).random64(n)
    expected = list(range(n))
    for i, output in enumerate(outputs.tolist()):
        j = output % (i + 1)
        expected[i], expected[j] = expected[j], expected[i]
    values, _ = streams.randperm(streams.seed_state(n), n, np.dtype(np.int64))
    assert values.tolist() == expected


def test_without_direct_access_to_numpys_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("flambeau.random_streams.state")
    expected, expected_state = streams.normal(starting_state(), (700,), 0.0, 1.0, FLOAT32)
    monkeypatch.setattr(module._sources.source, "direct", False)
    values, state = streams.normal(starting_state(), (700,), 0.0, 1.0, FLOAT32)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(state, expected_state)
