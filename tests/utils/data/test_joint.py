"""What is done to the samples of a batch is computed once for all, and gives what it gives for each."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau.graph import pending
from flambeau.tensor.samples.at_once import AtOnce
from flambeau.tensor.samples.chains import load_ahead
from flambeau.tensor.samples.waiting import Habit
from flambeau.utils.data import DataLoader, Dataset, default_collate

TABLE = np.random.default_rng(0).random((64, 3, 8, 8), np.float32)
BYTES = np.random.default_rng(1).integers(0, 256, (64, 8, 8), np.uint8)
MEAN = torch.tensor([0.1, 0.2, 0.3]).view(3, 1, 1)
pad = torch.nn.functional.pad
# Where a tier is forced, samples are recorded as everything is.
needs_samples_at_once = pytest.mark.skipif(
    torch.config.settings.executor not in ("auto", "interpreter"), reason="the tier is forced")

gathering: Any = importlib.import_module("flambeau.executors.gather")
needs_native = pytest.mark.skipif(
    importlib.util.find_spec("llvmlite") is None or torch.config.settings.executor != "auto",
    reason="samples are not read natively")
native = pytest.param(True, marks=needs_native)

SAMPLES: dict[str, Callable[[torch.Tensor, torch.Tensor, int], Any]] = {
    "normalized": lambda x, u, i: (x[i] - MEAN) / 0.5,
    "flipped, some": lambda x, u, i: x[i].flip(-1) if i % 3 else x[i],
    "flipped, or normalized": lambda x, u, i: x[i].flip(-1) if i % 3 else x[i] - MEAN,
    "flipped and flipped again": lambda x, u, i: (x[i] * 2).flip(-1).flip(i % 2, 2) + 1,
    "parts of flipped ones": lambda x, u, i: x[i].flip(2)[:, i % 4:i % 4 + 4, 1:7],
    "flipped in two ways": lambda x, u, i: x[i].flip(-1 - i % 2) - MEAN,
    "flipped, then normalized": lambda x, u, i: ((x[i].flip(2) if i % 3 else x[i]) - MEAN) / MEAN,
    "cropped": lambda x, u, i: pad(x[i], (2, 2, 2, 2))[:, i % 5:i % 5 + 8, i % 3:i % 3 + 8],
    "cropped, then flipped": lambda x, u, i: pad(x[i], (2, 2, 2, 2))[:, i % 2:i % 2 + 8, 1:9].flip(1) * 2,
    "cropped, then some flipped": lambda x, u, i: _some_flipped(
        pad(x[i], (2, 2, 2, 2))[:, 1:9, 1:9], i) - MEAN,
    "cropped, of a border of ones": lambda x, u, i: pad(x[i], (1, 3, 0, 2), value=1)[
        :, i % 2:i % 2 + 8, i % 4:i % 4 + 8],
    "cropped, in all dimensions": lambda x, u, i: pad(x[i], (2, 1, 0, 3, 1, 0))[
        i % 2:i % 2 + 3, 2:10, i % 3:i % 3 + 4].flip(0, 1 + i % 2),
    "cropped and cut": lambda x, u, i: pad(x[i], (-1, 2, 3, -2))[:, i % 5:i % 5 + 4, 1:] * 2,
    "cropped rows": lambda x, u, i: pad(u[i][0], (7, 7), value=3)[i % 9:i % 9 + 12],
    "cropped, of borders that differ": lambda x, u, i: pad(x[i], (1, 1), value=i % 2)[..., i % 2:i % 2 + 9],
    "mirrored with a border": lambda x, u, i: pad(x[i], (2, 0, 0, 1)).flip(-1),
    "cropped, from another order": lambda x, u, i: pad(x[i].permute(2, 1, 0), (1, 1))[i % 4:i % 4 + 4, :, 1:],
    "some settled before": lambda x, u, i: _some_settled(x[i] * 2, i) + 1,
    "read as another type": lambda x, u, i: (x[i] * 2).view(torch.int32) + 1,
    "parts": lambda x, u, i: x[i][:, i % 3:i % 3 + 5, i % 4:i % 4 + 4],
    "parts of other parts": lambda x, u, i: x[i][1:, 1:7][:, i % 3:i % 3 + 4, i % 2:i % 2 + 5],
    "parts, some flipped": lambda x, u, i: _some_flipped(x[i][:, i % 4:i % 4 + 4, :7], i),
    "parts, normalized": lambda x, u, i: (x[i][:, i % 4:i % 4 + 4, 2:7] - MEAN) / MEAN,
    "parts of many": lambda x, u, i: ((x * 1.0 if i % 4 else x)[i][:, i % 4:i % 4 + 4, 2:7] - MEAN) / MEAN,
    "parts of turned ones": lambda x, u, i: x[i].permute(2, 1, 0)[i % 4:i % 4 + 4],
    "parts again and again": lambda x, u, i: x[i][:, :1].expand(3, 4, 8)[..., i % 4:i % 4 + 4],
    "parts of shared memory": lambda x, u, i: u[i][i % 4:i % 4 + 4, 1:6],
    "an array": lambda x, u, i: torch.from_numpy(TABLE[i]),
    "an array, flipped": lambda x, u, i: _some_flipped(torch.from_numpy(TABLE[i]), i),
    "an array, normalized": lambda x, u, i: (torch.from_numpy(TABLE[i]) - MEAN) * torch.from_numpy(TABLE[i]),
    "parts of nothing": lambda x, u, i: x[i][:, i % 4:i % 4],
    "mirrored at borders": lambda x, u, i: pad(x[i], (2, 2, 1, 1), mode="reflect"),
    "a part of what waits": lambda x, u, i: (x[i] * 2)[1],
    "turned": lambda x, u, i: (x[i] + 1).permute(1, 2, 0),
    "rolled": lambda x, u, i: x[i].roll(3, 1).roll((1, 2), (0, 2)),
    "brighter by numbers": lambda x, u, i: x[i] * (0.1 * i) + i,
    "brighter by tensors": lambda x, u, i: x[i] * (torch.ones(1) * (0.1 * i)),
    "rows": lambda x, u, i: x[i],
    "rows of a table, and arrays": lambda x, u, i: x[i] if i % 2 else torch.from_numpy(TABLE[i]),
    "rows of rows": lambda x, u, i: x[i][i % 3],
    "numbers in a table": lambda x, u, i: x[i, 1, 2, 3],
    "made anew": lambda x, u, i: torch.tensor([i, 0.5]),
    "made of arrays and of numbers": lambda x, u, i: (torch.from_numpy(np.arange(2.0) + i) if i % 2
                                                      else torch.tensor([i, 1.0], dtype=torch.float64)),
    "rows read as integers": lambda x, u, i: x[i].view(torch.int32),
    "rows read as bytes": lambda x, u, i: x[i].view(torch.uint8),
    "bytes read as numbers": lambda x, u, i: u[i].view(torch.int32),
    "rows of doubled ones": lambda x, u, i: (x[i] * 2)[None],
    "bytes": lambda x, u, i: u[i].float().div(255).unsqueeze(0),
    "chosen": lambda x, u, i: torch.where(x[i] > 0.5, x[i], 1 - x[i]),
    "read twice": lambda x, u, i: (y := x[i] * 3) * y + y,
    "of one value": lambda x, u, i: x[0] * 2 + x[i],
    "clamped, of another type": lambda x, u, i: x[i].clamp(0.2, 0.7).double(),
    "copied": lambda x, u, i: x[i].permute(2, 0, 1).contiguous(),
    "of many kinds": lambda x, u, i: [x[i] + 1, x[i].sin(), x[i].exp(), x[i] * 2, x[i] - 1][i % 5],
    "of which most is left": lambda x, u, i: [x[i] + 1, x[i].sin(), x[i].exp()][0],
    "as a dictionary": lambda x, u, i: {"x": x[i] - MEAN, "y": (u[i] > 100, i)},
    "written later": lambda x, u, i: (x[i] * 2).mul_(3).add_(1),
    "a part written": lambda x, u, i: _with_a_hole(x[i] * 2),
    "reduced": lambda x, u, i: (x[i] * 2).mean((1, 2)),
    "reduced to a number": lambda x, u, i: (x[i].mean(), u[i].sum(), x[i].max()),
    "standardized": lambda x, u, i: (x[i] - x[i].mean((1, 2), keepdim=True)) / x[i].std(),
    "of its own size": lambda x, u, i: x[i] / (x[i].amax() if i % 2 else x[i].var()),
    "sorted after all": lambda x, u, i: (x[i] * 2).sort()[0],
    "bytes of turned ones": lambda x, u, i: x[i].permute(1, 2, 0).mul(255).to(torch.uint8).float() / 255,
    "turned, then flipped": lambda x, u, i: _some_flipped(x[i].permute(1, 2, 0) * 2, i) + 1,
    "turned, some otherwise": lambda x, u, i: (x[i].permute(1, 2, 0) if i % 3 else x[i].mT.mT.permute(
        1, 2, 0).contiguous()) * 2,
    "again and again the same": lambda x, u, i: (y := x[i] - MEAN) * y.flip(1) + x[i].flip(i % 2) * y[:, :1],
    "long": lambda x, u, i: _chain(x[i], 60),
    "with a number that comes again": lambda x, u, i: x[i] * (1000 + i % 2) + (i % 3 / 3 if i % 2 else 1),
    "parts of what was turned": lambda x, u, i: (x[i].permute(1, 2, 0) * 2)[i % 4:i % 4 + 4, 1:],
}


def _some_flipped(x: torch.Tensor, i: int) -> torch.Tensor:
    return x.flip(-1) if i % 3 else x


def _chain(x: torch.Tensor, count: int) -> torch.Tensor:
    for k in range(count):
        x = x + k
    return x


def _some_settled(x: torch.Tensor, i: int) -> torch.Tensor:
    if i % 3 == 0:
        x.numpy()
    return x


def _with_a_hole(x: torch.Tensor) -> torch.Tensor:
    x[:, 2:4] = 0
    return x


class _Of(Dataset):
    def __init__(self, name: str) -> None:
        self.make = SAMPLES[name]
        self.x, self.u = torch.tensor(TABLE), torch.from_numpy(BYTES)

    def __len__(self) -> int:
        return len(TABLE)

    def __getitem__(self, i: int) -> Any:
        return self.make(self.x, self.u, i)


def _stack(samples: list[torch.Tensor]) -> torch.Tensor:
    return torch.stack(samples)


def _cat(samples: list[torch.Tensor]) -> torch.Tensor:
    return torch.cat([x[None] for x in samples])


def _flat(batch: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(batch, dict):
        return [y for x in batch.values() for y in _flat(x)]
    return [y for x in batch for y in _flat(x)] if isinstance(batch, (list, tuple)) else [batch.numpy()]


def _waited(name: str, size: int = 16, collate: Any = None) -> tuple[list[Any], Any]:
    loader = iter(DataLoader(_Of(name), batch_size=size, collate_fn=collate))
    return [_flat(batch) for batch in loader], loader._fetcher.habit


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("collate", [None, _stack, _cat])
@pytest.mark.parametrize("is_native", [False, native])
def test_same_as_one_by_one(name: str, collate: Any, is_native: bool,
                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "_native", None)
    monkeypatch.setattr(gathering, "_spent", 1e12 if is_native else -1e12)
    if collate is not None and name in ("as a dictionary", "reduced to a number"):
        pytest.skip("collated as what it is alone")
    data = _Of(name)
    batches, _ = _waited(name, collate=collate)
    assert not pending.nodes
    for k, batch in enumerate(batches):
        alone = _flat(default_collate([data[i] for i in range(16 * k, 16 * k + 16)]))
        for a, b in zip(alone, batch, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            # Sums over a whole batch are added up in another order, which the quotient magnifies.
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=5e-7 if name == "standardized" else 1e-7)


@needs_native
def test_what_is_worth_it_is_started_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "_native", None)
    monkeypatch.setattr(gathering, "_spent", 0.0)
    load_ahead(10)
    assert not gathering.is_native()
    load_ahead(10**6)
    assert gathering.is_native()


def test_same_in_worker_processes() -> None:
    here, _ = _waited("flipped, then normalized")
    loader = DataLoader(_Of("flipped, then normalized"), batch_size=16, num_workers=2)
    for a, b in zip(here, map(_flat, loader), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["normalized", "flipped, then normalized", "cropped, then flipped", "bytes",
                                  "brighter by numbers", "reduced", "standardized",
                                  "bytes of turned ones", "of which most is left", "as a dictionary"])
def test_what_is_stacked_goes_on_waiting(name: str) -> None:
    _, habit = _waited(name)
    assert habit.waits


@needs_native
@pytest.mark.parametrize(("name", "size", "collate"), [
    ("normalized", 2, None), ("normalized", 16, list), ("sorted after all", 16, None),
    ("of many kinds", 8, None),
    ("normalized", 16, lambda samples: [x.tolist() for x in samples])])
def test_what_is_not_waits_no_more(name: str, size: int, collate: Any,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "_spent", 1e12)
    data = _Of(name)
    loader = iter(DataLoader(data, batch_size=size, collate_fn=collate))
    first = next(loader)
    assert not loader._fetcher.habit.waits
    assert not pending.nodes
    for i, x in enumerate(first):
        np.testing.assert_allclose(torch.as_tensor(x).numpy(), data[i].numpy(), rtol=2e-6)


def test_samples_are_of_the_time_at_which_they_were_made() -> None:
    array = np.zeros((8, 32), np.float32)
    shared, own, samples = torch.from_numpy(array), torch.zeros(8, 32), []
    own.sum().item()
    with AtOnce(Habit()):
        for i in range(8):
            samples.append((shared[i] + 1, own[i] + 1))
        array[:] = 5
        own += 7
        batch = default_collate(samples)
    assert batch[0].tolist() == batch[1].tolist() == [[1.0] * 32] * 8
    assert own.tolist() == [[7.0] * 32] * 8


@needs_samples_at_once
def test_what_others_recorded_waits_for_them() -> None:
    before = torch.ones(3) * 2
    x = torch.tensor(TABLE)
    with AtOnce(Habit()):
        batch = torch.stack([x[i] * 2 for i in range(8)])
    assert before._storage.node.value is None and len(pending.nodes) == 2
    assert before.tolist() == [2.0] * 3
    np.testing.assert_array_equal(batch.numpy(), TABLE[:8] * 2)


def test_values_that_are_looked_at_are_there() -> None:
    x, seen = torch.tensor(TABLE), []
    with AtOnce(Habit()):
        for i in range(6):
            y = x[i] * 2
            if (y.sum() > 0) and y.max().item() > 1:
                seen.append(y)
        kept = x[9] * 3
        torch.stack(seen)
    np.testing.assert_array_equal(kept.numpy(), TABLE[9] * 3)
    np.testing.assert_array_equal(torch.stack(seen).numpy(), TABLE[:6] * 2)


@needs_samples_at_once
def test_an_exception_leaves_nothing_behind() -> None:
    x = torch.tensor(TABLE)
    with pytest.raises(KeyError), AtOnce(Habit()):
        kept = [x[i] * 2 for i in range(8)]
        raise KeyError("no such sample")
    assert not pending.nodes
    np.testing.assert_array_equal(kept[3].numpy(), TABLE[3] * 2)


def test_what_cannot_be_stacked_is_refused_as_ever() -> None:
    x = torch.tensor(TABLE)
    with AtOnce(Habit()):
        with pytest.raises(TypeError, match="expected Tensor as element 5"):
            default_collate([*[x[i] * 2 for i in range(5)], 3])
        with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
            default_collate([*[x[i] * 2 for i in range(5)], x[0, 1] * 2])
        mixed = torch.cat([*[x[i] * 2 for i in range(5)], x[:, 1].reshape(-1, 8, 8) * 2])
    assert mixed.shape == (79, 8, 8)


def test_samples_that_want_gradients_have_them() -> None:
    w = torch.ones(3, 8, 8, requires_grad=True)
    x = torch.tensor(TABLE)
    with AtOnce(Habit()):
        batch = torch.stack([x[i] * 2 * w for i in range(8)])
    batch.sum().backward()
    assert w.grad is not None
    np.testing.assert_allclose(w.grad.numpy(), TABLE[:8].sum(0) * 2, rtol=1e-6)


def test_random_numbers_come_in_order() -> None:
    def draw() -> list[float]:
        torch.manual_seed(0)
        x = torch.tensor(TABLE)
        samples = []
        for i in range(8):
            y = x[i] + torch.randn(3, 8, 8) * 0.1
            samples.append(y.flip(-1) if torch.rand(1).item() < 0.5 else y)
        return torch.stack(samples).flatten().tolist()
    alone = draw()
    with AtOnce(Habit()):
        jointly = draw()
    np.testing.assert_allclose(alone, jointly, rtol=1e-6, atol=1e-7)


def test_what_is_shared_is_read_when_it_is_used() -> None:
    array, mean = np.zeros((6, 40), np.float32), torch.from_numpy(np.ones(40, np.float32))
    table = torch.from_numpy(array)
    with AtOnce(Habit()):
        samples = [table[i] - mean for i in range(6)]
        whole = table[0] * 2
        array[:] = 9
        mean.numpy()[:] = 9
        batch = torch.stack(samples)
    assert batch.tolist() == [[-1.0] * 40] * 6 and whole.tolist() == [0.0] * 40


def test_arrays_are_read_when_they_are_used() -> None:
    arrays = [np.full((3, 8), float(i), np.float32) for i in range(8)]
    with AtOnce(Habit()):
        samples = [torch.from_numpy(array) for array in arrays]
        flipped = [x.flip(0) for x in samples]
        for array in arrays:
            array += 10
        batch, before = torch.stack(samples), torch.stack(flipped)
    assert batch[:, 0, 0].tolist() == [10.0 + i for i in range(8)]
    assert before[:, 0, 0].tolist() == [float(i) for i in range(8)]
    samples[0] += 1
    assert (arrays[0] == 11).all()


def test_what_waits_is_a_tensor_like_any_other() -> None:
    x = torch.tensor(TABLE)
    with AtOnce(Habit()):
        y = [x[i] * 2 for i in range(8)]
        z = [one + 1 for one in y]
        view = y[0][1]
        y[0].zero_()    # what was made of it before has its values of before
        y[1][0] = 5.0
        y[2].requires_grad_()
        batch = torch.stack(z)
    np.testing.assert_allclose(batch.numpy(), TABLE[:8] * 2 + 1, rtol=1e-6)
    assert view.sum() == 0 and y[0].sum() == 0 and y[1]._version == 1 and (y[1][0] == 5).all()
    assert y[2].requires_grad and y[3].data_ptr() and y[3]._storage.version == 0
    assert torch.equal(y[4].double(), x[4].double() * 2) and y[5].clone().numpy().shape == (3, 8, 8)


def test_long_chains_are_settled() -> None:
    with AtOnce(Habit()):
        x = torch.zeros(40)
        for _ in range(3000):
            x = x + 1
    assert x.tolist() == [3000.0] * 40
