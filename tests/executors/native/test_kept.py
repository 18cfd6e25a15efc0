"""Plans on disk: what they give back, and what they do when they are not what they should be."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau import config, nn
from flambeau.executors.native.llvm.compiling import code, notes
from flambeau.executors.native.programs import known as programs
from flambeau.executors.native.programs.patterns import kept, pattern, planning
from flambeau.executors.native.programs.patterns.pattern import Pattern
from flambeau.nn import functional as F


def _losses() -> list[float]:
    """Two layers with what fuses, what follows a product, random numbers, and an optimizer's states."""
    flambeau.manual_seed(0)
    with config.executor("native"):
        model = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.1), nn.Linear(8, 3))
        optimizer = flambeau.optim.AdamW(model.parameters(), lr=0.01)
        losses = []
        for rows in (5, 5, 7, 40):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(flambeau.randn(rows, 6)), flambeau.randint(0, 3, (rows,)))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Notes as the disk holds them."""
    held: dict[str, str] = {}
    monkeypatch.setattr(kept, "_written", 0)
    monkeypatch.setattr(notes, "find", lambda key: json.loads(held[key]) if key in held else None)
    monkeypatch.setattr(notes, "keep", lambda key, note: held.update({key: json.dumps(note)}))
    return held


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The graphs that were planned, by their sizes."""
    found: list[int] = []
    plain = planning.planned

    def counted(nodes: list[Any]) -> list[Any]:
        found.append(len(nodes))
        return plain(nodes)

    monkeypatch.setattr(planning, "planned", counted)
    return found


def test_a_later_process_plans_nothing_and_computes_the_same(disk: dict[str, str],
                                                             planned: list[int]) -> None:
    flambeau.ones(1).item()     # until the first look, draws are graphs of their own
    want = _losses()
    assert planned
    planned.clear()
    programs.clear()
    assert _losses() == want
    assert not planned


@pytest.fixture
def refitted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The stages that were planned for other shapes than the first."""
    found: list[int] = []
    plain = Pattern._fit

    def counted(self: Pattern, stage: int) -> Any:
        found.append(stage)
        return plain(self, stage)

    monkeypatch.setattr(Pattern, "_fit", counted)
    return found


def _rounds(*rows: int) -> list[float]:
    """A graph for each number of rows."""
    found = []
    with config.executor("native"):
        for n in rows:
            x = flambeau.arange(6.0 * n).reshape(n, 6) / n
            flambeau.synchronize()
            found.append(F.gelu(x @ flambeau.ones(6, 5)).softmax(1).square().sum().item())
    return found


@pytest.mark.parametrize("rows, small, plans_again", [
    ((5, 7), True, False),
    ((5, 1, 7), True, False),
    ((5, 7, 9), True, True),
    ((5, 7, 9, 11), False, False),
    ((5, 7, 9, 11, 13), False, True),     # of so many shapes a formula is found
    ((5, 7, 9, 11, 13, 15, 17, 19, 21, 23), False, True),
], ids=str)
def test_plans_of_other_shapes_are_kept(rows: tuple[int, ...], small: bool, plans_again: bool,
                                        disk: dict[str, str], refitted: list[int],
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    if not small:
        monkeypatch.setattr(pattern, "_NOTED", 0)
    flambeau.ones(1).item()
    programs.clear()
    want = _rounds(*rows)
    assert refitted
    held = dict(disk)
    refitted.clear()
    programs.clear()
    assert _rounds(*rows) == want
    assert bool(refitted) == plans_again
    assert disk == held


@pytest.mark.parametrize("damage", [
    lambda note: note.pop("stages"),
    lambda note: note["stages"].pop(),
    lambda note: [stage.__setitem__(1, None) for stage in note["stages"]],
], ids=["no stages", "a stage that is gone", "stages without plans"])
def test_a_damaged_note_on_other_shapes_is_none(damage: Callable[[dict[str, Any]], Any], disk: dict[str, str],
                                                refitted: list[int]) -> None:
    programs.clear()
    _rounds(5)
    first = set(disk)
    programs.clear()
    want = _rounds(5, 7)
    count = len(refitted)
    for key in disk.keys() - first:
        note = json.loads(disk[key])
        if isinstance(note, dict):
            damage(note)
            disk[key] = json.dumps(note)
    programs.clear()
    assert _rounds(5, 7) == want
    assert len(refitted) > count > 0


def _converted() -> float:
    x = flambeau.arange(24).reshape(4, 6)
    return (x.float() > 3).to(flambeau.float64).mean().item()


def _sparse_gradient() -> float:
    embedding = nn.Embedding(10, 4, sparse=True)
    embedding(flambeau.tensor([1, 3, 3, 8])).sum().backward()
    assert embedding.weight.grad is not None
    return embedding.weight.grad.coalesce().values().sum().item()


@pytest.mark.parametrize("run", [_converted, _sparse_gradient], ids=lambda run: run.__name__)
def test_what_is_kept(run: Callable[[], float], disk: dict[str, str], planned: list[int]) -> None:
    found = []
    for _ in range(2):
        programs.clear()
        planned.clear()
        with config.executor("native"):
            found.append(run())
    assert found[0] == found[1]
    assert not planned


_DAMAGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "no stages": lambda note: note.pop("stages"),
    "an object that is gone": lambda note: note["objects"].__setitem__(0, ["0" * 64, ["f"]]),
    "no object": lambda note: note["objects"].clear(),
    "a function of another name": lambda note: note["plans"][0][0][0][0].__setitem__(1, "other"),
    "a plan that is short": lambda note: note["plans"][0].pop(),
    "a call that is short": lambda note: note["plans"][0][0][0].pop(3),
    "text": lambda note: note.update(plans="no"),
    "an unknown element type": lambda note: note["plans"][0][0][0].__setitem__(5, [[0, "float7", 0, 0]]),
}


@pytest.mark.parametrize("damage", _DAMAGES.values(), ids=_DAMAGES)
def test_a_note_that_does_not_read_as_it_should_is_none(damage: Callable[[dict[str, Any]], None],
                                                        disk: dict[str, str], planned: list[int]) -> None:
    want = _losses()
    sound = dict(disk)
    for key, text in sound.items():
        note = json.loads(text)
        if isinstance(note, dict):
            damage(note)
            disk[key] = json.dumps(note)
    count = len(planned)
    programs.clear()
    assert _losses() == want
    assert len(planned) == 2 * count
    assert disk == sound


def test_what_a_note_depends_on(disk: dict[str, str], planned: list[int],
                                monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(held: bool, dim: int = 1) -> None:
        x = flambeau.ones(4, 5)
        flambeau.synchronize()
        between = x * 2
        total = (between + 1).sum(dim)
        if not held:
            del between
        total.tolist()

    with config.executor("native"):
        for held, dim in ((False, 1), (True, 1), (False, 0), (False, 1)):
            compute(held, dim)
        found = len(planned)
        programs.clear()
        compute(False)
        assert len(planned) == found
        programs.clear()
        monkeypatch.setattr(config.settings, "threads", config.settings.threads + 1)
        compute(False)
        assert len(planned) == found + 2    # and that of the ones


def test_what_cannot_be_said_is_not_kept(disk: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "origin_of", lambda function: None)
    before = copy.copy(disk)
    with config.executor("native"):
        (flambeau.ones(4, 5).exp() + 1).sum().item()
    assert not [key for key in disk.keys() - before.keys() if isinstance(json.loads(disk[key]), dict)]


def test_a_process_keeps_so_many(disk: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_written", 0)
    monkeypatch.setattr(kept, "_MOST", 2)
    with config.executor("native"):
        for rounds in range(4):
            x = flambeau.ones(3)
            for _ in range(rounds):
                x = x + 1
            x.sum().item()
    assert len([text for text in disk.values() if isinstance(json.loads(text), dict)]) == 2


_SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from tests.executors.native.test_kept import _losses
print(_losses())
"""

_TWO_SHAPES = """
import sys, flambeau
for n in (4, 9):
    print((flambeau.ones(n, 5).exp() + 1).sum().item(), 'flambeau.executors.native.fusion' in sys.modules)
"""


def _run(script: str, cache: Path, tier: str = "native") -> str:
    environment = {**os.environ, "FLAMBEAU_TIER": tier, "FLAMBEAU_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True,
                          text=True).stdout


def test_between_processes(tmp_path: Path) -> None:
    folder = str(Path(__file__).parents[3])
    want = _run(_SCRIPT.format(folder=folder), tmp_path)
    assert _run(_SCRIPT.format(folder=folder), tmp_path) == want
    first, second = [_run(_TWO_SHAPES, tmp_path).split() for _ in range(2)]
    assert first[::2] == second[::2]
    assert first[1::2] == ["True"] * 2 and second[1::2] == ["False"] * 2


_BEFORE_STEPS = """
import flambeau
from flambeau.executors.native.programs.runtime import runtime
flambeau.optim.SGD([flambeau.ones(2, requires_grad=True)], lr=0.1)
print(runtime.entries.cache_info().currsize)
with flambeau.config.executor("native"):
    print((flambeau.ones(4, 5).exp() + 1).sum().item() > 0)
"""


def test_loop_is_loaded_before_steps_if_it_is_on_disk(tmp_path: Path) -> None:
    found = [_run(_BEFORE_STEPS, tmp_path, tier="auto").split() for _ in range(2)]
    assert found == [["0", "True"], ["1", "True"]]
