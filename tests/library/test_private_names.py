"""Private functions of PyTorch that packages call."""

from __future__ import annotations

from types import ModuleType


def test_segment_reduce(torch: ModuleType) -> None:
    found = torch._segment_reduce(torch.arange(6.0), "max", offsets=torch.tensor([0, 2, 6]), initial=0)
    assert found.tolist() == [1.0, 5.0]


def test_mutation_of_switches(torch: ModuleType) -> None:
    allow = getattr(torch.backends, "__allow_nonbracketed_mutation")
    before = torch.backends.cudnn.deterministic
    with allow():
        torch.backends.cudnn.deterministic = before
    assert torch.backends.cudnn.deterministic is before
