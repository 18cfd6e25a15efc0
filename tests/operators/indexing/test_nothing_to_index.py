"""Indices into tensors without elements, in range and out of it: some operators mind, as in PyTorch."""

from types import ModuleType
from typing import Any

import pytest

import flambeau

pytestmark = pytest.mark.oracle

_CALLS = (
    "zeros(s).index_add(d, i, zeros(t))", "zeros(s).index_add(d, i.int(), zeros(t), alpha=2)",
    "zeros(s).index_add_(d, i, zeros(t))", "zeros(s).index_copy(d, i, zeros(t))",
    "zeros(s).index_copy_(d, i, zeros(t))", "zeros(s).index_fill(d, i, 2)", "zeros(s).index_select(d, i)",
    "zeros(s).index_put((i,), zeros(t))", "zeros(s).index_put_((i,), zeros(t), accumulate=True)",
    "torch.take_along_dim(zeros(s), i.view([-1 if k == d else 1 for k in range(len(s))]), d)",
    "torch.autograd.grad(x[i].sum(), x)[0]",
    "torch.autograd.grad(x.index_add(d, i, zeros(t)).sum(), x)[0]",
    "torch.autograd.grad(x.index_copy(d, i, zeros(t)).sum(), x)[0]",
)
_SHAPES = (((3, 0), 0), ((0, 3), 1), ((0, 2), 0), ((2, 0), 1), ((0,), 0), ((0, 0), 0), ((3, 0, 2), 0),
           ((3, 0, 2), 1), ((3, 2), 0))
_INDICES = ((0, 7), (-1, 0), (-9,), (0,), ())
_FIRST = ("index_put", "x[i]")      # of these the indices are of the first dimension


def _outcome(torch: Any, call: str, shape: Any, dim: int, index: Any, pending: bool) -> Any:
    i = torch.tensor(index, dtype=torch.int64)
    i = i + 0 if pending else i
    slices = [*shape[:dim], len(index), *shape[dim + 1:]]
    x = torch.zeros(shape, requires_grad=True)
    try:
        found = eval(call, {"torch": torch, "zeros": torch.zeros, "s": shape, "d": dim, "i": i, "t": slices,
                            "x": x})
        return tuple(found.shape), found.tolist()
    except (IndexError, RuntimeError) as error:
        return type(error) if pending else (type(error), str(error).splitlines()[0])


@pytest.mark.parametrize("call", _CALLS)
@pytest.mark.parametrize("tier", ["interpreter", "native"])
def test_where_nothing_is(tier: str, call: str, oracle: ModuleType) -> None:
    for shape, dim in _SHAPES:
        if dim and any(word in call for word in _FIRST):
            continue
        for index in _INDICES:
            # A tensor of nothing that was written to is never computed.
            for pending in (False,) if "_(d" in call or "_((" in call or "grad" in call else (False, True):
                with flambeau.config.executor(tier):
                    found = _outcome(flambeau, call, shape, dim, index, pending)
                expected = _outcome(oracle, call, shape, dim, index, pending)
                assert found == expected, (shape, dim, index, pending)


def _tried(function: Any) -> Any:
    try:
        return function().tolist()
    except (AssertionError, IndexError, RuntimeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("shape", [(3, 0), (0, 4), (0, 0), (3, 2)])
def test_rows_of_tables_without_any(shape: tuple[int, ...], oracle: ModuleType) -> None:
    def found(torch: Any) -> list[Any]:
        functional, table = torch.nn.functional, torch.ones(shape)
        return [_tried(lambda i=torch.tensor(index, dtype=torch.int64), options=options:
                       functional.embedding(i, table, **options))
                for index in ([0, 7], [-1], [3], [0], [], 9)
                for options in ({}, {"padding_idx": 0}, {"padding_idx": -3}, {"sparse": True},
                                {"max_norm": 1.0})]
    assert found(flambeau) == found(oracle)


@pytest.mark.parametrize("index", [[0, 9, 7], [-1, 5], [-9, 9], [1, 2, 1], [-1, 3]])
@pytest.mark.parametrize("function", ["embedding", "embedding_bag"])
def test_rows_are_scaled_up_to_one_that_is_not_there(function: str, index: list[int],
                                                     oracle: ModuleType) -> None:
    def found(torch: Any) -> Any:
        table = torch.arange(8.0).view(4, 2)
        i = torch.tensor([index])
        tried = _tried(lambda: getattr(torch.nn.functional, function)(i, table, max_norm=1.0))
        return tried if isinstance(tried, tuple) else None, table.flatten().tolist()
    words, rows = found(oracle)
    assert found(flambeau) == (words, pytest.approx(rows, rel=1e-6))


@pytest.mark.parametrize("padding", [0, 3, 4, -4, -5])
@pytest.mark.parametrize("rows", [0, 4])
def test_padding_rows_of_bags(rows: int, padding: int, oracle: ModuleType) -> None:
    def found(torch: Any) -> Any:
        i, offsets = torch.zeros(0, dtype=torch.int64), torch.tensor([0])
        return _tried(lambda: torch.nn.functional.embedding_bag(i, torch.ones(rows, 2), offsets,
                                                                padding_idx=padding))
    assert found(flambeau) == found(oracle)


def test_positions_along_a_dimension_are_taken_modulo_its_extent(oracle: ModuleType) -> None:
    def found(torch: Any) -> Any:
        x = torch.arange(6.0).view(3, 2).requires_grad_()
        taken = torch.take_along_dim(x, torch.tensor([[7], [-9], [-1], [1 << 40]]), 0)
        return taken.tolist(), torch.autograd.grad(taken.sum(), x)[0].tolist()
    assert found(flambeau) == found(oracle)


@pytest.mark.parametrize("call", ["torch.index_put_(x, (None, i), v)", "x.index_put_((i, None), v)",
                                  "x.index_put_([i, 3], v)", "torch.zeros(0).put_(i, v)",
                                  "torch.zeros(0).put(i, v, accumulate=True)"])
def test_what_is_refused(call: str, oracle: ModuleType) -> None:
    def found(torch: Any) -> Any:
        with pytest.raises((IndexError, TypeError)) as error:
            eval(call, {"torch": torch, "x": torch.zeros(2, 3), "i": torch.tensor([0]), "v": torch.ones(1)})
        return error.type, str(error.value)
    assert found(flambeau) == found(oracle)


@pytest.mark.parametrize("call", ["x.index_fill_(d, i, 9)", "x.index_copy_(d, i, v)",
                                  "x.index_add_(d, i, v)"])
def test_where_nothing_is_in_memory_that_is_there(call: str, oracle: ModuleType) -> None:
    def found(torch: Any, cut: tuple[int, int], dim: int, index: list[int]) -> Any:
        whole = torch.zeros(9, 9)
        shape = [*cut]
        shape[dim] = len(index)
        names = {"x": whole[:cut[0], :cut[1]], "d": dim, "i": torch.tensor(index, dtype=torch.int64),
                 "v": torch.ones(shape)}
        return _tried(lambda: (eval(call, names), whole)[1])
    for cut in ((0, 4), (4, 0), (0, 0)):
        for dim in (0, 1):
            for index in ([], [0], [7, 1], [-1]):
                assert found(flambeau, cut, dim, index) == found(oracle, cut, dim, index), (cut, dim, index)
