"""Linear algebra on small matrices gives what the interpreter gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.config import executor

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import TEXTS, check, check_other_processor, results

L = flambeau.linalg
# Fewer matrices than a vector has lanes, as many, and more, of few and of many elements; also one alone.
SHAPES = [(3, 3), (24, 24), (5, 4, 4), (17, 1, 1), (40, 8, 8), (2, 3, 5, 5), (33, 16, 16), (16, 31, 31)]
DTYPES = [(flambeau.float32, 2e-4), (flambeau.float64, 1e-9)]


def matrices(shape: Any, dtype: Any = flambeau.float32) -> Tensor:
    flambeau.manual_seed(sum(shape))
    return flambeau.randn(*shape, dtype=dtype) + (2 + shape[-1] / 4) * flambeau.eye(*shape[-2:], dtype=dtype)


def positive(x: Tensor) -> Tensor:
    return x @ x.mT + x.shape[-1] * flambeau.eye(x.shape[-1], dtype=x.dtype)


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_general(shape: Any, dtype: Any, tolerance: float) -> None:
    x = matrices(shape, dtype)
    wide = matrices((*shape[:-2], shape[-2] + 1, shape[-1] + 1), dtype)[..., :-1]
    part = matrices((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]
    for a in (x, x.mT, wide, wide.mT, part):
        check(lambda a: tuple(L.lu_factor_ex(a)), [a], "linalg_lu_factor_ex", tolerance)
    for a in (x, x.mT, part + x):
        check(lambda a: tuple(L.inv_ex(a)), [a], "linalg_inv_ex", 20 * tolerance)
        check(L.det, [a], "linalg_det", tolerance)
        check(lambda a: tuple(L.slogdet(a)), [a], "linalg_slogdet", tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_solutions(shape: Any, dtype: Any, tolerance: float) -> None:
    x, b = matrices(shape, dtype), matrices((*shape[:-1], 3), dtype)
    q, shared = positive(x), matrices((shape[-1], 2), dtype)
    for sides in (b, b.mT.contiguous().mT, shared):
        check(lambda a, b: tuple(L.solve_ex(a, b)), [x, sides], "linalg_solve_ex", 20 * tolerance)
        for upper in (False, True):
            for unit in (False, True):
                a = q / q.abs().amax() if unit else q
                check(lambda a, b, upper=upper, unit=unit: L.solve_triangular(
                    a, b, upper=upper, unitriangular=unit), [a, sides], "linalg_solve_triangular", tolerance)
            check(lambda a, b, upper=upper: flambeau.cholesky_solve(b, a, upper=upper), [q, sides],
                  "cholesky_solve", tolerance)
        for adjoint in (False, True):
            check(lambda a, pivots, b, adjoint=adjoint: L.lu_solve(a, pivots, b, adjoint=adjoint),
                  [*L.lu_factor(x), sides], "linalg_lu_solve", 20 * tolerance)
    for upper in (False, True):
        check(lambda a, upper=upper: tuple(L.cholesky_ex(a, upper=upper)), [q], "linalg_cholesky_ex",
              tolerance)
        check(lambda a, upper=upper: flambeau.cholesky_inverse(a, upper=upper), [q], "cholesky_inverse",
              tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(30, 30), (2, 40, 40), (17, 33, 33), (130, 130)], ids=str)
def test_large_and_single_matrices_by_a_library(shape: Any, dtype: Any, tolerance: float) -> None:
    test_general(shape, dtype, 5 * tolerance)
    test_solutions(shape, dtype, 5 * tolerance)
    x = positive(matrices(shape, dtype)) / shape[-1]
    for sides in (matrices((*shape[:-1], 70), dtype), x[..., :1], x.mT):     # more than vectors take
        for a in (x, x.mT.contiguous().mT):
            check(lambda a, b: L.solve_triangular(a, b, upper=True), [a, sides], "linalg_solve_triangular",
                  50 * tolerance)
            check(flambeau.cholesky_solve, [sides, a], "cholesky_solve", 50 * tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (4, 5, 2), (2, 3, 4, 6), (40, 16, 16), (70, 33)], ids=str)
def test_pseudoinverses(shape: Any, dtype: Any, tolerance: float) -> None:
    x = matrices((*shape[:-2], max(shape[-2:]), max(shape[-2:])), dtype)[..., :shape[-2], :shape[-1]]
    of_one = x[..., :1] @ x[..., :1, :]
    for a in (x, x.mT, of_one, of_one * 0):
        for rtol in (None, 0.2):
            check(lambda a, rtol=rtol: L.pinv(a, rtol=rtol), [a], "linalg_pinv", tolerance)
            check(lambda a, rtol=rtol: L.pinv(a, rtol=rtol, atol=0.0), [a], "linalg_pinv", tolerance)


def test_what_a_library_lets_pass_is_found() -> None:
    x = positive(matrices((2, 40, 40))).contiguous()
    zero, nan, negative = x.clone(), x.clone(), x.clone()
    zero[1], nan[1, 5, 3], negative[1, 7, 7] = 0.0, flambeau.nan, -1.0
    for a in (zero, nan, negative):
        for function in (L.cholesky_ex, L.inv_ex, L.lu_factor_ex):
            with executor("interpreter"):
                wanted = function(a)
            with executor("native"):
                found = function(a)
            np.testing.assert_array_equal(wanted[-1].numpy(), found[-1].numpy())
    singular = x.tril()
    singular[0, 3, 3] = 0.0
    for tier in ("native", "interpreter"):
        with executor(tier):
            assert not L.solve_triangular(singular, x, upper=False)[0].isfinite().all()


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64], ids=str)
@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (4, 5, 2), (2, 3, 4, 6), (40, 16, 16), (70, 33)], ids=str)
def test_factors_of_the_library_are_the_interpreters(shape: Any, dtype: Any) -> None:
    x = matrices((*shape[:-2], max(shape[-2:]), max(shape[-2:])), dtype)[..., :shape[-2], :shape[-1]]
    for a in (x, x.mT):
        for mode in ("reduced", "complete", "r"):
            check(lambda a, mode=mode: tuple(L.qr(a, mode)), [a], "linalg_qr", 0)
        for full in (True, False):
            check(lambda a, full=full: tuple(L.svd(a, full_matrices=full)), [a], "linalg_svd", 0)
        check(L.svdvals, [a], "linalg_svdvals", 0)
        for sides in (matrices((*a.shape[:-1], 3), dtype), matrices((*a.shape[:-1], 1), dtype)):
            check(lambda a, b: (L.lstsq(a, b).solution, L.lstsq(a, b, rcond=0.1).rank), [a, sides],
                  "linalg_lstsq", 0)
    square = x @ x.mT
    for uplo in "LU":
        check(lambda a, uplo=uplo: tuple(L.eigh(a, UPLO=uplo)), [square], "linalg_eigh", 0)
        check(lambda a, uplo=uplo: L.eigvalsh(a, UPLO=uplo), [square], "linalg_eigvalsh", 0)


def test_what_does_not_converge_is_an_error_in_both_tiers() -> None:
    x = flambeau.full((5, 4), flambeau.nan)
    for tier in ("native", "interpreter"):
        with executor(tier), pytest.raises(L.LinAlgError, match="converge"):
            L.svdvals(x)


def test_irregular_matrices_are_left_to_the_interpreter() -> None:
    x = matrices((20, 3, 3))
    x[4], x[7, 1] = 0.0, x[7, 0]
    functions: list[Callable[..., Any]] = [
        lambda a: tuple(L.lu_factor_ex(a)), lambda a: tuple(L.inv_ex(a)), L.det,
        lambda a: tuple(L.slogdet(a)), lambda a: tuple(L.cholesky_ex(a))]
    for function in functions:
        with executor("interpreter"):
            wanted = function(x)
        with executor("native"):
            found = function(x)
        for a, b in zip(wanted, found):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    with executor("native"), pytest.raises(RuntimeError, match=r"\(Batch element 4\).*singular"):
        L.inv(x)


def test_another_shape_compiles_nothing() -> None:
    def run(shape: Any) -> set[str]:
        results(lambda a: L.inv_ex(a)[0], [matrices(shape)], "native")
        return {text for text in TEXTS if "matrices" in text}
    known = run((4, 3, 3))
    for shape in SHAPES:
        assert run(shape) == known


def test_other_processors() -> None:
    check_other_processor(__file__, "test_general or test_solutions")
