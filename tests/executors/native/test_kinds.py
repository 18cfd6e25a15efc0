"""A new shape of a known program is planned as it would be from scratch (Note: kinds)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch
from flambeau import config
from flambeau.executors.native.fusion import refit
from flambeau.executors.native.programs import known
from flambeau.executors.native.programs.patterns import sketches
from flambeau.nn import functional as F
from tests.executors.native.planning import forget, planned

Shape = tuple[int, int, int]


def _encoder(x: Any) -> Any:
    d = x.shape[-1]
    w = torch.ones(2 * d, d, requires_grad=True)
    y = F.layer_norm(x + x.transpose(0, 1).contiguous().transpose(0, 1), (d,))
    y = F.linear(F.relu(F.linear(y, w)), w.t()) + x
    return F.softmax(y, -1).mean(1)


def _rows(x: Any) -> Any:
    variance = x.var(-1, correction=0, keepdim=True)
    return (x - x.mean(-1, keepdim=True)) * (variance + 1).rsqrt() + x.sum((0, 1))


def _columns(x: Any) -> Any:
    return (x * x.amax(0)).sum(1) + x.std((0, 1), unbiased=False).exp()


def _gaps(x: Any) -> Any:
    return x[:, ::2].tanh().sum(0), x[:, -1:].exp() * x, x.transpose(1, 2)[1:] + x.permute(0, 2, 1)[:-1]


def _broadcast(x: Any) -> Any:
    row, column = x[0, 0], x[:1, :, :1]
    return (x + row) * column, row.expand(x.shape[1], -1).sum(0) + row, (column - row).sigmoid().sum(-1)


def _products(x: Any) -> Any:
    y = torch.bmm(x, x.transpose(1, 2)).softmax(-1)
    return torch.bmm(y, x), torch.cat((x, x * 2), 1).flatten(1) @ torch.ones(2 * x.shape[1] * x.shape[2], 3)


PROGRAMS = [_encoder, _rows, _columns, _gaps, _broadcast, _products]
# Extents of 1, some that coincide with others, and sizes at which work is cut in another way.
SHAPES: list[Shape] = [(2, 5, 8), (3, 7, 8), (8, 8, 8), (16, 16, 8), (2, 1, 8), (1, 6, 8),
                       (1, 1, 8), (5, 2, 1), (40, 300, 8), (2, 4000, 8), (300, 3, 24), (3, 3, 700), (6, 5, 4),
                       (7, 11, 12)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_plans_do_not_depend_on_the_shapes_before(program: Callable[[Any], Any],
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketches, "_SHAPES", 1000)
    with config.executor("native"):
        wanted = {}
        for shape in SHAPES:
            forget()
            wanted[shape] = planned(program, shape)
        compared = 0
        for turn in range(2):
            forget()
            for shape in random.Random(turn).sample(SHAPES, len(SHAPES)):
                found = planned(program, shape)
                # Which nodes are one kernel may depend on the shapes that came first.
                for stage in found.keys() & wanted[shape].keys():
                    assert found[stage] == wanted[shape][stage], (shape, stage)
                    compared += 1
        assert compared > 2 * len(SHAPES)


def test_another_length_is_of_a_known_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    examined = []
    examine = refit.Fit._mold

    def counted(fit: refit.Fit, signatures: Any) -> Any:
        examined.append(fit)
        return examine(fit, signatures)
    monkeypatch.setattr(refit.Fit, "_mold", counted)
    with config.executor("native"):
        forget()
        planned(_encoder, (3, 20, 8))
        planned(_encoder, (3, 21, 8))
        count = len(examined)
        for length in (22, 23, 50):
            planned(_encoder, (3, length, 8))
    assert len(examined) == count > 0


def test_shorter_sequences_lie_where_longer_ones_did() -> None:
    """Not where ones more than twice as long did; and values are right wherever they lie."""
    forget()
    offsets: dict[int, Any] = {}
    for length in (40, 60, 64, 50, 45, 200, 180, 10, 11, 9):
        x = torch.arange(8.0 * 2 * length).reshape(2, length, 8).sin()
        with config.executor("native"):
            found = _encoder(x).detach().numpy().copy()
            assert known._latest is not None
            program = known._latest.program
        assert program is not None
        offsets[length] = program.offsets, program.size
        with config.executor("interpreter"):
            assert abs(found - _encoder(x).detach().numpy()).max() < 1e-5
    for one, other in ((64, 50), (64, 45), (200, 180), (11, 9)):
        assert offsets[one][0] is offsets[other][0]
    for one, other in ((60, 64), (64, 200), (200, 11)):
        assert offsets[one][0] is not offsets[other][0]
    assert offsets[9][1] < offsets[64][1] < offsets[200][1]
