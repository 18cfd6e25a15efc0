"""Shapes that come after several others are planned by formula, as they would be from scratch."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flambeau as torch
from flambeau import config
from flambeau.config import settings
from flambeau.executors.native import quantity, templates, tiers
from flambeau.executors.native.fusion import refit
from flambeau.executors.native.programs import known
from flambeau.executors.native.programs.execution import joint, patchwork
from flambeau.executors.native.programs.execution.program import Program
from flambeau.executors.native.programs.execution.segment import Segment
from flambeau.executors.native.programs.patterns.arrangement import form_of
from flambeau.executors.native.programs.patterns.sketches import Sketch, Sketches
from flambeau.executors.native.programs.runtime import runtime
from flambeau.executors.native.quantity import Quantity, Tape, held, least, whole
from flambeau.graph.node import Signature
from flambeau.nn import functional as F
from flambeau.tensor.recording import signing
from tests.executors.native.planning import forget, planned


def _encoder(x: Any) -> Any:
    d = x.shape[-1]
    w = torch.ones(3 * d, d, requires_grad=True)
    q, k, v = F.linear(x, w).unflatten(-1, (3, 2, d // 2)).permute(2, 0, 3, 1, 4)
    y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    y = F.layer_norm(x + y, (d,))
    return F.linear(F.relu(F.linear(y, w)), w.t()).mean(1)


def _rows(x: Any) -> Any:
    y = (x - x.mean(-1, keepdim=True)) * (x.var(-1, correction=0, keepdim=True) + 1).rsqrt()
    return y + x.sum((0, 1)), x.transpose(1, 2).softmax(-1), x.std((0, 1)).exp(), x[:, 1:].tanh().sum(0)


def _table(x: Any) -> Any:
    index = torch.arange(x.shape[1]).repeat(x.shape[0], 1) % 7
    table = x.amax((0, 1)).expand(7, -1) * 2
    return F.embedding(index, table), x.flatten(0, 1)[index.flatten()], torch.bmm(x, x.transpose(1, 2))


def _written(x: Any) -> Any:
    cache = torch.zeros(2, x.shape[0] + 2, x.shape[1] + 5, 8)
    cache[0][1:-1, 2:-3], cache[1][2:, 3:-2] = x.exp(), x * 3
    return cache.tanh().sum(0), x.softmax(-1), x.transpose(1, 2).exp().sum(1)


def _passed_on(x: Any) -> Any:
    index = (x[:, :, 0] * 0).long().flatten()
    rows = x.flatten(0, 1) * torch.ones(8, requires_grad=True)
    sums = torch.zeros(rows.shape).index_add(0, index, rows[index])
    return sums + torch.randn(rows.shape), *torch.autograd.grad(sums.exp().sum(), rows, retain_graph=True)


PROGRAMS = [_encoder, _rows, _table, _written, _passed_on]
# Sizes at which work is cut in another way; an extent of 1, and some that are equal to others.
LENGTHS = [20, 31, 33, 57, 62, 64, 65, 3, 2, 1, 6, 5, 300, 301, 2000, 12, 24, 47, 1030, 40, 19, 310]


@pytest.fixture
def by_formula(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many numbers the sketch had, of each plan that was made by formula."""
    found: list[int] = []
    plan = Sketch.plan

    def counted(sketch: Sketch, stage: int, planned: Any, signatures: Any, numbers: Any) -> Any:
        made = plan(sketch, stage, planned, signatures, numbers)
        if made is not None:
            found.append(len(numbers))
        return made
    monkeypatch.setattr(Sketch, "plan", counted)
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("varies", [(0,), (1,), (0, 1)])
def test_formulas_plan_as_templates_do(program: Callable[[Any], Any], varies: tuple[int, ...],
                                       by_formula: list[int]) -> None:
    lengths = [n for n in LENGTHS if n < 500 or len(varies) == 1]
    shapes = [tuple(n + 3 * d if d in varies else own for d, own in enumerate((4, 9, 8))) for n in lengths]
    with config.executor("native"):
        wanted = {}
        for shape in shapes:
            forget()
            wanted[shape] = planned(program, shape)
        assert not by_formula
        forget()
        compared = 0
        for shape in shapes:
            found = planned(program, shape)
            for stage in found.keys() & wanted[shape].keys():
                assert found[stage] == wanted[shape][stage], (shape, stage)
                compared += 1
    assert len(by_formula) > 2 * len(shapes) and compared > len(by_formula)


def _several(x: Any) -> Any:
    """Products of lengths that are equal by chance."""
    w = torch.ones(13, 11)
    sums = [x.sum([d for d in range(x.ndim) if d != k]) for k in range(x.ndim)]
    return tuple([F.gelu(F.linear(y[:, None] * torch.ones(11), w)).softmax(0) for y in sums])


def _parts(x: Any) -> Any:
    """Parts that lie without gaps where their length is that of the whole by chance."""
    rows = x.sum(1).t().contiguous().t()[:x.shape[1]]
    return rows.cos() * rows, x[:, :, 0].t()[:3].exp().sum(0)


@pytest.mark.parametrize("program, dims", [(_several, 5), (_parts, 2)])
def test_lengths_that_are_equal_by_chance(program: Callable[[Any], Any], dims: int,
                                          by_formula: list[int]) -> None:
    chosen = random.Random(0)
    ends = (8,) if dims == 2 else ()
    shapes = [*dict.fromkeys([(*chosen.choices(range(2, 7), k=dims), *ends) for _ in range(40)])]
    with config.executor("native"):
        wanted = []
        for shape in shapes:
            forget()
            wanted.append(planned(program, shape))
        forget()
        assert not by_formula
        for shape, known_plans in zip(shapes, wanted):
            own = planned(program, shape)
            for stage in own.keys() & known_plans.keys():
                assert own[stage] == known_plans[stage], (shape, stage)
    assert len(by_formula) > 2 * len(shapes)


def test_values_are_right() -> None:
    forget()
    for length in [n for n in LENGTHS if n < 100]:
        x = torch.arange(8.0 * 2 * length).reshape(2, length, 8).sin()
        found = []
        for executor in ("native", "interpreter"):
            with config.executor(executor):
                y = x.clone().requires_grad_()
                _encoder(y).square().sum().backward()
                assert y.grad is not None
                found.append(y.grad.numpy().copy())
        assert abs(found[0] - found[1]).max() < 1e-4 * max(1.0, abs(found[1]).max())


def _words(segment: Segment) -> tuple[Any, ...]:
    """All of a segment that a run depends on, and does not write itself."""
    form, memory = segment.form, segment.memory.copy()
    memory[[*form.addresses, *form.status_words]] -= segment.address
    memory[[runtime.ARRAYS, runtime.SCRATCH, runtime.BOUND, runtime.TEAM, runtime.COMPLETED]] = 0
    memory[[*form.words_at + form.patches[:, 0], *form.arena_words]] = 0
    steps = memory[runtime.PROGRAM_WORDS:form.patches_at].reshape(-1, runtime.STEP_WORDS)
    steps[:, [runtime.TAKEN, runtime.FINISHED, runtime.HELPED]] = 0
    for dtype, own in form.number_words:
        memory.view(dtype)[[at for at, _, _ in own]] = 0
    return (memory.tolist(), segment._arena_offsets.tolist(), [*map(list, segment.fresh)], segment.reused,
            segment.scratch, segment.nanoseconds)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_joint_formulas_fill_memory_as_plans_do(program: Callable[[Any], Any],
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint, "_MOST", 20)
    find, compared = joint.Joints._first, [0]

    def checked(joints: joint.Joints, signatures: Any, made: Any) -> Program | None:
        found = find(joints, signatures, made)
        if found is not None:
            plans = found.pattern.plans(signatures)
            assert plans is not None
            arrangements = [joint.arrangement for joint in joints.known]
            arrangement = next(x for x in arrangements if x.form == form_of(plans))
            wanted = Program(arrangement, signatures, plans)
            for ours, other in zip(found.parts, wanted.parts, strict=True):
                assert isinstance(ours, Segment) and isinstance(other, Segment)
                assert _words(ours) == _words(other) and len(ours.plans) == len(other.plans)
            compared[0] += 1
        return found
    monkeypatch.setattr(joint.Joints, "_first", checked)
    with config.executor("native"):
        forget()
        for length in [20, 31, 57, 62, 3, 2, *range(66, 82), 300, 1030, 9, 47]:
            planned(program, (3, length, 8))
    assert compared[0] > 10


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_patchworks_fill_memory_as_plans_do(program: Callable[[Any], Any],
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint, "_MOST", 0)
    monkeypatch.setattr(tiers.Returns, "are_rare", lambda self: True)
    passing, compared = patchwork.Patchwork.passing, [0]

    def checked(self: patchwork.Patchwork, signatures: Any) -> Program | None:
        found = passing(self, signatures)
        if found is not None:
            plans = found.pattern.plans(signatures)
            assert plans is not None
            wanted = Program(self._arrangement, signatures, plans)
            for ours, other in zip(found.parts, wanted.parts, strict=True):
                assert isinstance(ours, Segment) and isinstance(other, Segment)
                assert _words(ours) == _words(other) and len(ours.plans) == len(other.plans)
            compared[0] += 1
        return found
    monkeypatch.setattr(patchwork.Patchwork, "passing", checked)
    with config.executor("native"):
        forget()
        for length in [20, 31, 57, 62, 3, 2, *range(66, 82), 300, 1030, 9, 47, 83, 67, 301, 84]:
            planned(program, (3, length, 8))
    assert compared[0] > 5


def test_sequences_that_vary_each_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their graphs run as patchworks, and are computed right."""
    passing, ran = patchwork.Patchwork.passing, list[Program | None]()
    monkeypatch.setattr(tiers.Returns, "are_rare", lambda self: True)

    def counted(self: patchwork.Patchwork, signatures: Any) -> Program | None:
        ran.append(passing(self, signatures))
        return ran[-1]
    monkeypatch.setattr(patchwork.Patchwork, "passing", counted)
    forget()
    layer = torch.nn.Linear(8, 8)
    lengths = [[(7 * k * k + 13 * j * k + 5 * j) % 40 + 2 for j in range(6)] for k in range(1, 40)]
    for own in lengths:
        parts = [torch.arange(8.0 * n).reshape(n, 8).sin() for n in own]
        torch.synchronize()
        found = []
        for executor in ("native", "interpreter"):
            with config.executor(executor):
                layer.zero_grad()
                torch.stack([torch.relu(layer(x)).sum(0) for x in parts]).square().mean().backward()
                assert layer.weight.grad is not None
                found.append(layer.weight.grad.numpy().copy())
        assert abs(found[0] - found[1]).max() < 1e-4 * max(1.0, abs(found[1]).max())
    assert len([program for program in ran if program is not None]) > 10


@pytest.mark.parametrize("program", [_rows, _passed_on])
def test_known_formulas_ask_no_template(program: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch,
                                        by_formula: list[int]) -> None:
    with config.executor("native"):
        forget()
        for length in (20, 21, 23, 26, 27, 29, 30, 33):
            planned(program, (3, length, 8))
        by_formula.clear()
        monkeypatch.setattr(refit.Fit, "plan", None)
        asked: list[str] = []
        make = templates.make
        monkeypatch.setattr(templates, "make", lambda s: (asked.append(s.operator.name), make(s))[1])
        planned(program, (3, 25, 8))
        assert not {"index_backward", "normal", "full"}.intersection(asked)
        assert len(by_formula) > 5
    pattern = known._entries[-1].family.pattern
    assert pattern is not None and len(pattern._sketches.sketches) == 1


@pytest.mark.parametrize("program", [_encoder, _rows])
def test_signatures_that_were_forgotten_agree_with_a_sketch(program: Callable[[Any], Any],
                                                            by_formula: list[int]) -> None:
    with config.executor("native"):
        forget()
        for length in (20, 21, 23, 26, 27, 29, 30, 33):
            planned(program, (3, length, 8))
        by_formula.clear()
        planned(program, (3, 25, 8))
        with_them = [*by_formula]
        signing.signatures.clear()      # those that do not vary, too, will be made anew
        signing.projections.clear()
        by_formula.clear()
        found = planned(program, (3, 28, 8))
        assert with_them and by_formula == with_them
        forget()
        assert planned(program, (3, 28, 8)) == found


def test_another_number_of_threads_is_another_sketch(by_formula: list[int]) -> None:
    threads = settings.threads
    try:
        with config.executor("native"):
            forget()
            for length in (20, 21, 23, 26, 27, 29, 30, 33):
                planned(_rows, (3, length, 8))
            assert by_formula
            by_formula.clear()
            settings.threads = threads + 1
            planned(_rows, (3, 25, 8))
            assert not by_formula
    finally:
        settings.threads = threads


@whole
def _halves(n: int, unit: int) -> tuple[int, bool]:
    return n // 2, n % unit == 0


def _template(n: Any, m: Any) -> list[Any]:
    half, even = _halves(n, 2)
    total = 2.0 * n * m - n % 7 + (m if n > m else 1)
    return [half, even, -(-total // 3), least(n, m), abs(-n), sum([n, m, 5])]


def test_a_tape_gives_what_the_function_gives() -> None:
    tape = Tape([10, 3])
    made = _template(*tape.given)
    assert made[1] is True
    function = tape.function((tuple(made), 0.5))
    for n, m in ((10, 3), (4, 2), (100, 99)):
        assert function(n, m) == (tuple(_template(n, m)), 0.5)
    for n, m in ((9, 3), (10, 12)):     # odd; not greater
        assert function(n, m) is None


@pytest.mark.parametrize("use", [
    int, float, range, hash, str, operator.index, list("ab").__getitem__, "{}".format, lambda x: {x: 1},
    lambda x: [0] * x, lambda x: x ** 2, lambda x: x >> 1, round, lambda x: x + "a"])
def test_quantities_are_no_numbers(use: Callable[[Any], Any]) -> None:
    quantity, = Tape([3]).given
    assert isinstance(quantity, Quantity)
    with pytest.raises(TypeError):
        use(quantity)


def test_formulas_are_held_to_numbers_on_which_code_depends() -> None:
    tape = Tape([3, 4])
    n, m = tape.given
    assert held(n) == 3 and held(5) == 5
    function = tape.function((n * m,))
    assert function(3, 7) == (21,) and function(2, 7) is None


def test_other_numbers_of_dimensions_are_no_other_lengths() -> None:
    def signatures(*shape: int) -> list[Signature]:
        torch.synchronize()
        recorded = [steady / 2, torch.ones(shape) * 3, other.exp()]
        nodes = [x._storage.node for x in recorded]
        return [node.signature for node in nodes if node is not None]

    steady, other = torch.ones(7, 9), torch.ones(3, 8)
    formulas = Sketches(signatures(4, 5, 2))
    formulas.shapes = 100
    found = formulas.sketch([[0], [1], [2]], signatures(6))
    assert found is None or 1 not in found[0].members
    formulas = Sketches(signatures(4, 5, 2))
    formulas.shapes = 100
    found = formulas.sketch([[0], [1], [2]], signatures(6, 5, 2))
    assert found is not None and [*found[1]] == [6]
    assert [*(found[0].numbers(signatures(11, 5, 2)) or ())] == [11]


def test_shifts_are_lengths(by_formula: list[int]) -> None:
    """Forwards or backwards, by more than the extent or less."""
    with config.executor("native"):
        forget()
        for shift in (-3, 5, -9, 12, 70, 31, -64):
            planned(lambda x, shift=shift: x.roll((shift, -shift), (0, 1)).exp().roll(shift), (20, 40, 8))
        by_formula.clear()
        planned(lambda x: x.roll((-8, 8), (0, 1)).exp().roll(-8), (20, 40, 8))
        assert len(by_formula) >= 4     # forwards and backwards


def test_long_formulas_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def formula() -> Any:
        tape = Tape([3, 5])
        a, b = tape.given
        results = [a * k + b // k for k in range(2, 80)]
        assert a < b
        return tape.function(tuple(results))

    def refuse(*arguments: Any) -> Any:
        raise AssertionError("compiled again")

    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path))
    wanted = tuple([7 * k + 9 // k for k in range(2, 80)])
    assert formula()(7, 9) == wanted and formula()(9, 7) is None
    monkeypatch.setattr(quantity, "compile", refuse, raising=False)
    assert formula()(7, 9) == wanted and formula()(9, 7) is None
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path / "other"))
    with pytest.raises(AssertionError, match="compiled again"):
        formula()
