"""Factorizations by LAPACK's routines, and without them, step by step in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.executors.interpreter import factorizations, lapack
from flambeau.operators.linalg.ldl import LDL_FACTOR, LDL_SOLVE

KINDS = "fdFD"
SQUARE = [(1, 1), (5, 5), (3, 33, 33), (2, 2, 40, 40), (0, 3, 3), (2, 0, 0)]


def _random(shape, kind, seed=0):
    generator = np.random.default_rng(seed)
    a = generator.standard_normal(shape)
    if kind in "FD":
        a = a + 1j * generator.standard_normal(shape)
    return a.astype(kind)


def _close(a, b):
    single = a.dtype.char in "fF"
    np.testing.assert_allclose(a, b, rtol=2e-3 if single else 1e-9, atol=2e-3 if single else 1e-9)


def _twice(monkeypatch, compute):
    """What LAPACK gives, and what NumPy gives where there is no LAPACK."""
    one = compute()
    with monkeypatch.context() as without:
        without.setattr(lapack, "has", lambda name, x: False)
        return one, compute()


@pytest.fixture(autouse=True)
def _one_by_one(monkeypatch):
    monkeypatch.setattr(factorizations, "_pays_alone", lambda count, rows: True)


def test_numpy_has_a_lapack():
    x = np.zeros((2, 2), np.float32)
    assert lapack.has("getrf", x) and lapack.has("trsm", x) and not lapack.has("getrf", x.astype(np.float16))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [*SQUARE, (30, 7), (2, 7, 30), (0, 4), (4, 0)], ids=str)
def test_lu(monkeypatch, kind, shape):
    a = _random(shape, kind)
    (packed, pivots, info), stepped = _twice(monkeypatch, lambda: factorizations.lu(a))
    _close(packed, stepped[0])
    assert (pivots == stepped[1]).all() and (info == stepped[2]).all()
    assert pivots.shape == stepped[1].shape and pivots.dtype == np.int32 and info.shape == shape[:-2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("columns", [False, True], ids=["by rows", "by columns"])
def test_triangular_systems(monkeypatch, kind, upper, unit, columns):
    for shape in SQUARE:
        a = (_random(shape, kind) / max(shape[-1], 1) + 4 * np.eye(shape[-1])).astype(kind)
        if columns:
            a = np.swapaxes(np.ascontiguousarray(np.swapaxes(a, -1, -2)), -1, -2)
        b = _random((*shape[:-1], 3), kind, 1)
        x, stepped = _twice(monkeypatch, lambda a=a, b=b: factorizations.solve_triangular(a, b, upper, unit))
        _close(x, stepped)


def test_a_zero_on_the_diagonal_gives_infinities():
    a, b = np.diag(np.float32([1, 0])), np.ones((2, 1), np.float32)
    assert np.isinf(factorizations.solve_triangular(a, b, True, False)).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("conjugated", [False, True])
def test_systems_from_packed_factors(monkeypatch, kind, conjugated):
    for shape in SQUARE:
        a, b = _random(shape, kind), _random((*shape[:-1], 3), kind, 1)
        packed, pivots, _ = factorizations.lu(a)
        x, stepped = _twice(monkeypatch,
                            lambda p=packed, v=pivots, b=b: factorizations.lu_solve(p, v, b, conjugated))
        _close(x, stepped)
        _close((np.conj(np.swapaxes(a, -1, -2)) if conjugated else a) @ x, b)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hermitian", [False, True])
def test_symmetric_indefinite_systems(monkeypatch, kind, hermitian):
    for shape in SQUARE:
        a = _random(shape, kind)
        turned = np.swapaxes(a, -1, -2)
        a, b = a + (turned.conj() if hermitian else turned), _random((*shape[:-1], 3), kind, 1)
        found, stepped = _twice(monkeypatch, lambda a=a: LDL_FACTOR.kernel(np, a, hermitian))
        _close(found[0], stepped[0])
        assert (found[1] == stepped[1]).all() and (found[2] == stepped[2]).all()
        LD, pivots = found[:2]
        _close(*_twice(monkeypatch, lambda f=LD, p=pivots, b=b: LDL_SOLVE.kernel(np, f, p, b, hermitian)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (2, 6, 6), (0, 4, 3)], ids=str)
def test_least_squares(kind, shape):
    a, b = _random(shape, kind), _random((*shape[:-1], 2), kind, 1)
    x, ranks, _ = factorizations.least_squares(a, b, None)
    _close(x, np.linalg.pinv(a) @ b)
    assert (ranks == min(shape[-2:])).all() and ranks.shape == shape[:-2]


def test_cholesky_reads_the_lower_triangle_and_names_the_minor():
    a = np.array([[[4.0, 9.0], [2.0, 5.0]], [[1.0, 0.0], [3.0, 1.0]]])
    factors, info = factorizations.cholesky(a)
    np.testing.assert_allclose(factors[0], [[2, 0], [1, 2]])
    assert info.tolist() == [0, 2]
