"""Samples are computed as they are made, and are what they would be if they were recorded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau.tensor.samples.at_once import AtOnce
from flambeau.utils.data import DataLoader, Dataset, IterableDataset

TABLE = np.random.default_rng(0).random((1500, 3, 8, 8), np.float32)
BYTES = np.random.default_rng(1).integers(0, 256, (1500, 8, 8), np.uint8)
MEAN = torch.tensor([0.1, 0.2, 0.3]).view(3, 1, 1)

# Where a tier is forced, samples are recorded as everything is.
needs_samples_at_once = pytest.mark.skipif(
    torch.config.settings.executor not in ("auto", "interpreter"), reason="the tier is forced")

MAKERS: dict[str, Callable[[torch.Tensor, torch.Tensor, int], Any]] = {
    "normalized": lambda x, u, i: (x[i] - MEAN) / 0.5,
    "flipped": lambda x, u, i: x[i].flip(-1) if torch.rand(1) < 0.5 else x[i],
    "cropped": lambda x, u, i: torch.nn.functional.pad(x[i], (2, 2, 2, 2))[
        :, torch.randint(0, 4, (1,)).item():][:, :8, 1:9],
    "noisy": lambda x, u, i: x[i] + 0.1 * torch.randn(3, 8, 8),
    "bytes": lambda x, u, i: u[i].float().div(255).unsqueeze(0),
    "joined": lambda x, u, i: torch.stack([x[i], x[i + 1]]) + torch.cat([x[i], x[i + 2]]).sum(),
    "written": lambda x, u, i: x[i].clone().mul_(2).add_(1),
    "a part written": lambda x, u, i: _with_a_hole(x[i]),
    "reduced": lambda x, u, i: (x[i].mean(), x[i].amax((1, 2)), x[i].argmax(), x[i].std()),
    "of a few dimensions": lambda x, u, i: x[i].permute(1, 2, 0).reshape(-1)[::3].clamp(0.1, 0.9),
    "drawn": lambda x, u, i: (torch.rand(3), torch.rand(40), torch.randn(2), torch.randn(40),
                              torch.randint(5, (4,)), torch.randperm(7), torch.rand(2, dtype=torch.float64)),
    "one hot": lambda x, u, i: torch.nn.functional.one_hot(u[i].long() % 4, 4),
    "with a gradient": lambda x, u, i: _gradient(x[i]),
}


def _with_a_hole(x: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[:, 2:4] = 0
    x[0, 1, 1] = 7.0
    return x


def _gradient(x: torch.Tensor) -> torch.Tensor:
    leaf = x.clone().requires_grad_()
    (leaf * leaf).sum().backward()
    return leaf.grad


def _flat(sample: Any) -> list[np.ndarray[Any, Any]]:
    return [part.numpy() for part in (sample if isinstance(sample, tuple) else (sample,))]


def _samples(name: str) -> list[np.ndarray[Any, Any]]:
    torch.manual_seed(3)
    x, u = torch.tensor(TABLE), torch.from_numpy(BYTES)
    return [part for i in (0, 7, 1200, 7, 31) for part in _flat(MAKERS[name](x, u, i))]


@pytest.mark.parametrize("name", MAKERS)
def test_same_as_recorded(name: str) -> None:
    recorded = _samples(name)
    with AtOnce():
        computed = _samples(name)
    for a, b in zip(recorded, computed, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-7)


@needs_samples_at_once
def test_is_known_and_pending_operands_are_recorded() -> None:
    x = torch.rand(5, 4)
    with AtOnce():
        pending = x * 2
        assert pending._storage.node.value is None
        x.sum().item()
        known = x[2] * 2
        assert known._storage.node.value is not None
    assert (x[2] * 2)._storage.node.value is None
    assert torch.equal(known, pending[2])


def test_writing_to_a_row_writes_the_table() -> None:
    x = torch.arange(6000.0).reshape(1500, 4)
    x.sum().item()
    with AtOnce():
        row = x[1300]
        row *= 0
        assert row.tolist() == [0.0] * 4
        later = x[1300] + 1
    assert later.tolist() == [1.0] * 4 and x[1300].sum() == 0 and x[1299, 0] == 5196


def test_memory_that_others_write_is_read_as_it_is_now() -> None:
    array = np.zeros((4, 3), np.float32)
    x = torch.from_numpy(array)
    with AtOnce():
        before, copied = x[1] + 1, x[1].clone()
        array[1] = 5
        after = x[1] + 1
    assert before.tolist() == [1.0] * 3 and copied.tolist() == [0.0] * 3 and after.tolist() == [6.0] * 3


def test_history_is_kept() -> None:
    w = torch.ones(3, requires_grad=True)
    with AtOnce():
        loss = (w * 2).sum()
    loss.backward()
    assert w.grad is not None and w.grad.tolist() == [2.0] * 3


def test_mistakes_raise() -> None:
    x = torch.tensor(TABLE)
    with AtOnce():
        with pytest.raises(RuntimeError, match="The size of tensor a"):
            x[3] + torch.ones(7)
        with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
            torch.stack([x[0], x[1, 0]])
        with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
            torch.cat([x[0], x[1][:, :4]], 0)


@needs_samples_at_once
def test_other_threads_record() -> None:
    x = torch.ones(3)
    x.sum().item()
    found = []
    with AtOnce():
        other = threading.Thread(target=lambda: found.append(x + 1))
        other.start()
        other.join()
        assert (x + 1)._storage.node.value is not None
    assert found[0]._storage.node.value is None and found[0].tolist() == [2.0] * 3


def test_default_dtype_and_modes() -> None:
    x = torch.ones(3, dtype=torch.int64)
    x.sum().item()
    with AtOnce():
        assert (x / 2).dtype is torch.float32
        torch.set_default_dtype(torch.float64)
        try:
            assert (x / 2).dtype is torch.float64
        finally:
            torch.set_default_dtype(torch.float32)
        with torch.inference_mode():
            assert (x + 1).is_inference()
        assert not (x + 1).is_inference()


@needs_samples_at_once
def test_inside_inference_mode_and_after_autocast() -> None:
    with torch.autocast("cpu"):
        torch.ones(2, 2) @ torch.ones(2, 2)
    x = torch.tensor(TABLE)
    x.sum().item(), torch.rand(1).item()
    for mode in (torch.inference_mode, torch.no_grad):
        with mode(), AtOnce():
            made = [(x[5] - MEAN).flip(-1), torch.rand(2), x[5].clone(), torch.stack([x[1], x[7]])]
            assert all(one._storage.node.value is not None for one in made)
            assert all(one.is_inference() == (mode is torch.inference_mode) for one in made)
            made[2][0, 1] = 3.0
            assert made[2][0, 1].sum() == 24
    with torch.autocast("cpu"), AtOnce():
        assert (x[5, 0] @ x[6, 0]).dtype is torch.bfloat16 and (x[5] - MEAN)._storage.node.value is not None


class Turned(Dataset[torch.Tensor]):
    def __init__(self) -> None:
        self.x = torch.tensor(TABLE)

    def __len__(self) -> int:
        return 96

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.x[index].flip(-1) if index % 3 else self.x[index] - MEAN


class Stream(IterableDataset[torch.Tensor]):
    def __iter__(self) -> Iterator[torch.Tensor]:
        x = torch.tensor(TABLE)
        yield from (x[i] * 2 for i in range(64))


@needs_samples_at_once
def test_batches_hold_values() -> None:
    torch.ones(3).add(MEAN.sum()).sum().item()      # so that nothing is pending
    for dataset in (Turned(), Stream()):
        for batch in DataLoader(dataset, batch_size=32):
            assert batch._storage.node.value is not None
    expected = [TABLE[i][..., ::-1] if i % 3 else TABLE[i] - MEAN.numpy() for i in range(96)]
    for workers in (0, 2):
        found = torch.cat(list(DataLoader(Turned(), batch_size=32, num_workers=workers))).numpy()
        assert np.array_equal(found, expected)


def test_views_of_rows_are_views() -> None:
    x = torch.arange(24000.0).reshape(2000, 3, 4).clone()
    x.sum().item()
    with AtOnce():
        parts = [x[1700][1:, :2], x[1700].T, x[1700][None], x[1700].reshape(-1)[2:5], x[1500:1503],
                 x[1500:1503][1]]
        assert all(part._base is x and part.data_ptr() >= x.data_ptr() for part in parts)
        assert [part.storage_offset() for part in parts] == [20404, 20400, 20400, 20402, 18000, 18012]
        parts[4].zero_()
    assert x[1499:1504].sum((1, 2)).tolist() == [float(sum(range(12 * i, 12 * i + 12))) * (i in (1499, 1503))
                                                 for i in range(1499, 1504)]
    w = x.clone().requires_grad_()
    w[1500:1502].sum().backward()
    assert w.grad is not None and w.grad.sum() == 24 and w.grad[1501].sum() == 12
    assert w[1500:1502].grad_fn.name() == "SliceBackward0"


@needs_samples_at_once
def test_lists_of_positions() -> None:
    x = torch.arange(12.0).reshape(4, 3).clone()
    x.sum().item()
    with AtOnce():
        taken = x[[3, 0, 3]]
        assert taken._storage.node.value is not None and x[[-1]].tolist() == [[9.0, 10.0, 11.0]]
        assert x[[True, False, False, True]].tolist() == [[0.0, 1.0, 2.0], [9.0, 10.0, 11.0]]
        with pytest.raises(IndexError):
            x[[4]].sum().item()
        assert x.T[[2]].tolist() == [[2.0, 5.0, 8.0, 11.0]]
        taken[0] = 0
    assert taken.tolist() == [[0.0] * 3, [0.0, 1.0, 2.0], [9.0, 10.0, 11.0]] and x[3, 0] == 9


@needs_samples_at_once
def test_parts_are_written_where_they_lie() -> None:
    with AtOnce():
        x = torch.zeros(4, 3)
        same, copied, column = x._storage.node.value, x.clone(), torch.tensor([1.0, 2.0, 3.0, 4.0])
        x[1:3, 0] = 5.0     # the copy shares the value
        written = id(x._storage.node.value)
        assert copied.sum() == 0 and written != id(same)
        x[:, 2] = column
        assert id(x._storage.node.value) == written and x._version == 2
        x[2] = x[1]
        x[1:] = x[:-1].clone()
        x[0, :2] = torch.tensor([7, 8])
        array = np.zeros((2, 2), np.float32)
        torch.from_numpy(array)[0] = torch.ones(2)
    assert x.tolist() == [[7.0, 8.0, 1.0], [0.0, 0.0, 1.0], [5.0, 0.0, 2.0], [5.0, 0.0, 2.0]]
    assert array.tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_what_backward_needs_is_not_overwritten() -> None:
    with AtOnce():
        x, w = torch.zeros(3), torch.ones(3, requires_grad=True)
        x[0] = 2.0
        y = w * x
        x[1] = 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    assert y.tolist() == [2.0, 0.0, 0.0]


@needs_samples_at_once
@pytest.mark.parametrize("dtype", ["int64", "float32", "uint8", "bfloat16"])
def test_stretches_of_a_sequence(dtype: str) -> None:
    x = torch.arange(2000).to(getattr(torch, dtype)).reshape(1000, 2).clone()
    x.sum().item()
    flat = x.view(-1)
    with AtOnce():
        stacked = torch.stack([flat[i:i + 5] for i in (3, 1990, 10, 3, 1995)])
        assert stacked._storage.node.value is not None
        assert torch.equal(stacked[1], flat[1990:1995]) and torch.equal(stacked[4], flat[1995:])
        assert torch.equal(stacked[2], stacked[2]) and stacked.shape == (5, 5)
        pairs = torch.stack([x[i:i + 2] for i in (1, 4, 2)])
        assert torch.equal(pairs[1], x[4:6]) and pairs.shape == (3, 2, 2)
