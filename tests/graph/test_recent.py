"""Caches forget what was not used for a while, and programs that nobody runs."""

from __future__ import annotations

import gc
from importlib import import_module

import numpy as np
import pytest

import flambeau
from flambeau import config
from flambeau.graph import geometry, room
from flambeau.graph.recent import Recent


def test_what_is_in_use_stays() -> None:
    cache: Recent[int, str] = Recent(10)
    cache.keep(-1, "used")
    for k in range(1000):
        cache.keep(k, str(k))
        assert (cache.get(-1) or cache.recall(-1)) == "used"
        assert cache.get(k) == cache[k] == str(k) and len(cache) <= 10
    assert all(cache[k] == str(k) for k in range(995, 1000))
    assert cache.recall(0) is None
    with pytest.raises(KeyError):
        cache[0]
    cache.clear()
    assert cache.recall(-1) is None and cache.recall(999) is None


def test_a_cached_none_is_found() -> None:
    cache: Recent[int, str | None] = Recent(2)
    cache.keep(1, None)
    cache.keep(2, "two")
    cache.keep(3, "three")
    assert cache.get(1, "absent") == "absent" and cache[1] is None


def test_geometries_live_while_somebody_holds_them() -> None:
    x = flambeau.zeros(3, 41)
    for k in range(20_000):
        flambeau.empty(1, k, device="meta")
    assert flambeau.zeros(3, 41)._geometry is x._geometry
    del x
    gc.collect()
    assert len(room.families) < 60_000


def test_rows_that_are_held_stay_while_others_come_and_go() -> None:
    table = flambeau.arange(5000 * 613).reshape(5000, 613)    # a length that no other test holds
    held = {k: table[k] for k in range(0, 5000, 97)}
    geometries = {k: row._geometry for k, row in held.items()}
    rows = table._geometry.family.rows
    for k in range(5000):
        row = table[k]
        assert (row.storage_offset(), row.shape, row._geometry.extent) == (613 * k, (613,), 613 * k + 613)
        if k % 500 == 0:
            room.sweep()
            assert len(rows) <= len(held) + 1
    for k, row in held.items():
        assert row._geometry is geometries[k] is table[k]._geometry
        assert row.tolist() == [*range(613 * k, 613 * k + 613)]
    assert len({id(g) for g in geometries.values()}) == len(held)
    del held, geometries, row
    room.sweep()
    assert not rows


def test_rows_of_many_pass() -> None:
    """A row that nobody holds is made another one; those that somebody holds stay what they are."""
    count = geometry.LINE + 100
    table = flambeau.arange(count * 61).reshape(count, 61)      # a length that no other test has
    held = {k: table[k] for k in range(0, count, 97)}
    geometries = {k: row._geometry for k, row in held.items()}
    rows = table._geometry.family.rows
    for k in range(count):
        row = table[k]
        assert (row.storage_offset(), row.shape, row._geometry.extent) == (61 * k, (61,), 61 * k + 61)
        assert row._geometry is table[k]._geometry
    assert len(rows) <= 2 * len(held) + geometry._LATELY
    for k, row in held.items():
        assert row._geometry is geometries[k] is table[k]._geometry
        assert row.tolist() == [*range(61 * k, 61 * k + 61)]
    room.sweep()
    assert len(rows) <= len(held) + 1
    del held, geometries, row
    assert [table[k].tolist()[0] for k in range(200)] == [*range(0, 200 * 61, 61)]


def test_families_go_when_nobody_holds_them() -> None:
    table = flambeau.zeros(3000, 43, device="meta")
    table[5].sum()
    key = ((43,), (1,), flambeau.float32, flambeau.device("meta"))
    assert key in room.families
    room.sweep()
    assert room.families[key] is table._geometry.family.rows
    family = geometry.Family(flambeau.Size((7, 47)), (47, 1), flambeau.float32, flambeau.device("meta"))
    room.families[family.shape, family.strides, family.dtype, family.device] = family
    key = (family.shape, family.strides, family.dtype, family.device)
    family[3], family[8]
    shape = family.shape
    gc.disable()    # its members refer to it, and it keeps them for others: it must not wait for a collection
    try:
        del family
        room.sweep()
        assert key not in room.families
        assert not any(type(x) is geometry.Family and x.shape is shape for x in gc.get_objects())
    finally:
        gc.enable()


def _step(rows: int) -> float:
    x = flambeau.arange(float(rows)).reshape(rows, 1).requires_grad_()
    (flambeau.tanh(x) * x).sum().backward()
    assert x.grad is not None
    return float(x.grad.sum())


def _wanted(rows: int) -> float:
    x = np.arange(float(rows))
    return float((np.tanh(x) + x * (1 - np.tanh(x) ** 2)).sum())


def test_programs_for_ever_new_shapes_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    from flambeau.executors.native.programs import known

    known.clear()
    monkeypatch.setattr(known, "_LIMIT", 300)
    with config.executor("native"):
        made: list[set[int]] = []
        for rows in range(2, 120):
            assert _step(rows) == pytest.approx(_wanted(rows), rel=1e-5)
            assert _step(7) == pytest.approx(_wanted(7), rel=1e-5)
            made.append({id(entry.program) for entry in known._entries})
            assert known._remembered <= 300
            assert known._remembered == sum(len(entry.signatures) for entry in known._entries)
            families = known._families.values()
            assert {*known._entries} == {entry for family in families for entry in family.entries.values()}
        # The one that is used all the time stays.
        assert made[20] & made[60] & made[-1]
    known.clear()


@pytest.mark.parametrize("small", [4, 64])
def test_results_do_not_depend_on_what_is_remembered(monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    signing, views, readings = map(import_module, (
        "flambeau.tensor.recording.signing", "flambeau.tensor.aliasing.views", "flambeau.autograd.readings"))
    caches = (signing.signatures, signing.projections, views.signatures, readings._readings,
              readings.sums)
    for cache in caches:
        monkeypatch.setattr(cache, "size", small)
        cache.clear()
    for rows in [*range(2, 40)] * 3:
        assert _step(rows) == pytest.approx(_wanted(rows), rel=1e-5)
    assert all(len(cache) <= small for cache in caches)
