"""Factorizations of small matrices leave BLAS's other threads alone, and give them back."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.executors.interpreter import blas, linalg


def test_small_matrices_take_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = [4]
    seen: list[int] = []
    monkeypatch.setattr(blas, "_threads", lambda: (lambda: threads[0], lambda n: threads.__setitem__(0, n)))
    watched = linalg._by_one_thread(lambda a: seen.append(threads[0]))
    watched(np.eye(300))
    watched(np.eye(3)[None])
    watched(np.broadcast_to(1.0, (700, 700)))
    assert seen == [1, 1, 4] and threads == [4]


def test_errors_give_the_threads_back(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = [2]
    monkeypatch.setattr(blas, "_threads", lambda: (lambda: threads[0], lambda n: threads.__setitem__(0, n)))
    with pytest.raises(np.linalg.LinAlgError):
        linalg.cholesky(-np.eye(3))
    assert threads == [2]
    a = np.diag([1.0, 4.0])
    assert linalg.solve(a, np.ones((2, 1))).tolist() == [[1], [0.25]] and linalg.det(a) == pytest.approx(4)
