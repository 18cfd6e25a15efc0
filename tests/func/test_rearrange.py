"""Dimensions by name: shapes and values as in PyTorch."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

CALLS: tuple[tuple[str, dict[str, int]], ...] = (
    ("a b c -> c b a", {}), ("a b c -> (a b) c", {}), ("(a d) b c -> d a b c", {"a": 1}),
    ("a (b d) c -> a d b c", {"d": 3}), ("... c -> c ...", {}), ("a ... -> ... a", {}),
    ("a b c -> a 1 (b c)", {}), ("a b c -> ()  a b c", {}), ("a b c->c a b", {}), ("... -> ...", {}),
    ("a b ... -> (a b) ...", {}), ("... b -> (...) b", {}), ("a ... -> (a ...)", {}),
    ("a b (c d) -> a b d c", {"c": 2, "d": 2}), ("A_1 b c -> b c A_1", {}),
    ("a b -> b a", {}), ("a a c -> a c", {}), ("a b c", {}), ("a b c -> -> a", {}),
    ("a b c -> (a (b)) c", {}), ("a b c -> (a b c", {}), ("a b c -> ...", {}), ("a ... b ... -> a b", {}),
    ("(a ...) -> a ...", {}), ("a b c -> a b c", {"z": 2}), ("a b c -> a 2 b c", {}), ("_a b c -> b", {}),
    ("a b c -> a b", {}),
)  # fmt: skip


def answer(torch: ModuleType, pattern: str, sizes: dict[str, int]) -> Any:
    try:
        return torch.func.rearrange(torch.arange(24).reshape(2, 3, 4), pattern, **sizes).tolist()
    except ValueError as error:
        return str(error)


@pytest.mark.oracle
@pytest.mark.parametrize(("pattern", "sizes"), CALLS)
def test_pattern(torch: ModuleType, oracle: ModuleType, pattern: str, sizes: dict[str, int]) -> None:
    assert answer(torch, pattern, sizes) == answer(oracle, pattern, sizes)


def test_several_tensors_are_stacked(torch: ModuleType) -> None:
    x = torch.arange(6).reshape(2, 3)
    assert torch.func.rearrange([x, x + 6], "n a b -> a (n b)").tolist() == [
        [0, 1, 2, 6, 7, 8], [3, 4, 5, 9, 10, 11]]


@pytest.mark.parametrize("sizes", [{}, {"c": 3}, {"c": 2, "d": 3}])
def test_sizes_that_do_not_fit_are_refused(torch: ModuleType, sizes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"infer|fit|match"):
        torch.func.rearrange(torch.zeros(2, 4), "a (c d) -> a c d", **sizes)
