"""Normal numbers drawn for samples before they are asked for are the stream's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch
from flambeau.utils.data import DataLoader, Dataset

Draw = Callable[[torch.Generator], torch.Tensor]


def _normal(*shape: int) -> Draw:
    return lambda generator: torch.randn(shape, generator=generator)


# What a sample draws, one after the other; each sample the next, in turn.
ROWS: dict[str, list[list[Draw]]] = {
    "alike": [[_normal(32)]],
    "two lengths": [[_normal(32), _normal(2, 8)], [_normal(64)]],
    "whole and not": [[_normal(32)], [_normal(20)], [_normal(32)], [_normal(32)]],
    "few between": [[_normal(16), lambda g: torch.rand(1, generator=g)], [_normal(16), _normal(16)]],
    "pairs between": [[_normal(3), _normal(48), _normal(48)]],
    "integers between": [[_normal(16)]] * 9 + [[lambda g: torch.randint(9, (2,), generator=g)]],
    "long": [[_normal(512)], [_normal(512)], [_normal(528)], [_normal(512)]],
    "another deviation": [[_normal(32), lambda g: torch.empty(32).normal_(1.0, 2.0, generator=g)]],
}


class _Drawn(Dataset[Any]):
    def __init__(self, rows: list[list[Draw]], generator: torch.Generator) -> None:
        self.rows, self.generator = rows, generator

    def __len__(self) -> int:
        return 300

    def __getitem__(self, index: int) -> list[list[float]]:
        return [draw(self.generator).reshape(-1).tolist() for draw in self.rows[index % len(self.rows)]]


@pytest.mark.parametrize("name", ROWS)
def test_samples_draw_what_is_drawn_elsewhere(name: str) -> None:
    generator, same = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    dataset = _Drawn(ROWS[name], generator)
    found = list(DataLoader(dataset, batch_size=50, collate_fn=lambda samples: samples))
    samples = [sample for batch in found for sample in batch]
    alone = _Drawn(ROWS[name], same)
    assert samples == [alone[index] for index in range(len(alone))]
    assert torch.equal(generator.get_state(), same.get_state())


def test_what_is_drawn_may_be_written_to() -> None:
    class Scaled(_Drawn):
        def __getitem__(self, index: int) -> Any:
            return torch.randn(32, generator=self.generator).mul_(index % 3)

    generator, same = torch.Generator().manual_seed(1), torch.Generator().manual_seed(1)
    found = torch.cat(list(DataLoader(Scaled([], generator), batch_size=20)))
    expected = torch.stack([torch.randn(32, generator=same) * (i % 3) for i in range(300)])
    assert torch.equal(found, expected)
