"""torchaudio's operators: against their definitions, written out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import pytest

import flambeau as torch
from flambeau.library import torchaudio_operators as ta


@pytest.fixture(autouse=True)
def known() -> None:
    torch.manual_seed(0)
    torch.ops.load_library("/somewhere/torchaudio/lib/libtorchaudio.abi3.so")


def test_the_libraries_are_known_by_their_paths() -> None:
    torch.ops.load_library("/somewhere/torchaudio/lib/_torchaudio.so")
    assert torch.ops._torchaudio.is_align_available() and torch.ops._torchaudio.cuda_version() is None
    with pytest.raises(OSError, match="Could not load this library"):
        torch.ops.load_library("/somewhere/torchaudio/lib/torchaudio_prefixctc.abi3.so")


def test_a_filter_goes_on_from_what_came_before() -> None:
    x, taps = torch.randn(2, 3, 20), torch.rand(3, 3) * 0.4
    taps[:, -1] = 1
    padded = torch.zeros(2, 3, 22)
    padded[:, :, :2] = torch.randn(2, 3, 2)
    wanted = padded.clone()
    for t in range(20):
        wanted[:, :, t + 2] = x[:, :, t] - wanted[:, :, t] * taps[:, 0] - wanted[:, :, t + 1] * taps[:, 1]
    assert torch.ops.torchaudio._lfilter_core_loop(x, taps, padded).data_ptr() == padded.data_ptr()
    torch.testing.assert_close(padded, wanted)


def test_overdrive_writes_its_state_too() -> None:
    clean, distorted, out = torch.randn(2, 8), torch.randn(2, 8), torch.zeros(2, 8)
    before, last = torch.randn(2), torch.randn(2)
    old, slow = before.clone(), last.clone()
    torch.ops.torchaudio._overdrive_core_loop(clean, distorted, before, last, out)
    for t in range(8):
        slow = distorted[:, t] - old + 0.995 * slow
        old = distorted[:, t]
        torch.testing.assert_close(out[:, t], clean[:, t] * 0.5 + slow * 0.75)
    torch.testing.assert_close((before, last), (old, slow))


def collapsed(path: tuple[int, ...]) -> list[int]:
    """What a CTC path spells: repeats once, blanks (0) not at all."""
    return [c for i, c in enumerate(path) if c and (i == 0 or path[i - 1] != c)]


@pytest.mark.parametrize("labels", [[1, 2], [1, 1], [2]])
def test_the_likeliest_path_is_found(labels: list[int]) -> None:
    log_probs = torch.randn(1, 5, 3).log_softmax(-1)
    scores = log_probs[0].tolist()
    paths = [p for p in product(range(3), repeat=5) if collapsed(p) == labels]
    best = max(paths, key=lambda p: sum(scores[t][c] for t, c in enumerate(p)))
    targets = torch.tensor([labels])
    path, same = torch.ops.torchaudio.forced_align(
        log_probs, targets, torch.tensor([5]), torch.tensor([len(labels)]), 0)
    assert path[0].tolist() == list(best) and same is log_probs


def test_what_cannot_be_aligned_is_refused() -> None:
    log_probs, one = torch.zeros(1, 2, 3), torch.tensor([2])
    with pytest.raises(RuntimeError, match=r"targets length is too long for CTC\. Found log_probs length: 2"):
        ta.forced_align(log_probs, torch.tensor([[1, 1]]), one, one, 0)
    with pytest.raises(RuntimeError, match="batch dimension for log_probs must be 1"):
        ta.forced_align(torch.zeros(2, 2, 3), torch.tensor([[1], [1]]), one, one, 0)


def ways(log_probs: Any, labels: list[int], blank: int) -> Iterator[Any]:
    """The log probability of each way through a lattice, whose last step is a blank."""
    steps = log_probs.shape[0]
    for emits in combinations(range(steps - 1 + len(labels)), len(labels)):
        t = u = 0
        total: Any = 0.0
        for move in range(steps - 1 + len(labels)):
            if move in emits:
                total, u = total + log_probs[t, u, labels[u]], u + 1
            else:
                total, t = total + log_probs[t, u, blank], t + 1
        yield total + log_probs[t, u, blank]


@pytest.mark.parametrize("fused", [True, False])
def test_the_transducer_loss_sums_over_all_ways(fused: bool) -> None:
    logits = torch.randn(2, 3, 3, 4, dtype=torch.float64, requires_grad=True)
    targets, steps, emitted = torch.tensor([[1, 2], [3, 0]]), torch.tensor([3, 2]), torch.tensor([2, 1])
    given = logits if fused else logits.log_softmax(-1).detach().requires_grad_()
    normal = given.log_softmax(-1) if fused else given
    wanted = torch.stack([
        -torch.stack(list(ways(normal[n, :t, :u + 1], targets[n, :u].tolist(), 0))).logsumexp(0)
        for n, (t, u) in enumerate(zip(steps.tolist(), emitted.tolist()))])
    gradient, = torch.autograd.grad(wanted.sum(), given)
    found, saved = torch.ops.torchaudio.rnnt_loss_forward(given, targets, steps, emitted, 0, -1.0, fused)
    torch.testing.assert_close(found, wanted.detach())
    torch.testing.assert_close(saved, gradient)
    _, held = torch.ops.torchaudio.rnnt_loss_forward(given, targets, steps, emitted, 0, 0.1, fused)
    torch.testing.assert_close(held, gradient.clamp(-0.1, 0.1))
