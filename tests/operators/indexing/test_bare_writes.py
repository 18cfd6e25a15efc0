"""Parts that are written where there is no history: as with PyTorch, and with one node each."""

from types import ModuleType
from typing import Any

import pytest

import flambeau
from flambeau.graph import pending

_MADE = ("zeros(4, 5)", "zeros(4, 5, dtype=torch.bfloat16)", "zeros(4, 5, dtype=torch.uint8)",
         "zeros(4, 5, dtype=torch.bool)", "zeros(5, 4).t()", "zeros(4, 1).expand(4, 5)", "zeros(6, 5)[1:-1]",
         "zeros(4, 5, dtype=torch.complex64)", "zeros(4, 0)", "zeros(4, 5, device='meta')")
_KEYS = ((slice(1, -1), 0), (slice(-3, None), slice(None, -2)), (0, slice(-2, -1)), (slice(-9, 2), 1),
         (slice(-1, 1), 0), (slice(2, 9), slice(-5, None)), (slice(-1, None),), (slice(None), -1), (-1, -6),
         (..., 0), (slice(1, 3), ...), (0, ..., -1), (0, 1, ...), (..., 0, 0, 0),
         (..., 0, ...), (..., None, 1))
_VALUES = ("2", "-0.5", "True", "T(3)", "T(3.5)", "ones(2)", "ones(3, 3)", "ones(1, 5)")


def _written(torch: Any, made: str, key: tuple[Any, ...], value: str, is_known: bool) -> Any:
    names = {"T": torch.tensor, "torch": torch, "ones": torch.ones}
    x = eval(f"torch.{made}", names)
    if not is_known and "expand" not in made:
        x *= True
    before = x.clone()
    version = x._version
    try:
        x[key] = eval(value, names)
    except (IndexError, RuntimeError, TypeError, ValueError):
        return "an error"
    seen = None if x.is_meta else (x.tolist(), before.tolist())
    return seen, x._version - version, x.stride()


@pytest.mark.oracle
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("made", _MADE)
def test_parts_are_written_as_with_pytorch(made: str, is_known: bool, oracle: ModuleType) -> None:
    for key in _KEYS:
        for value in _VALUES:
            own, theirs = (_written(torch, made, key, value, is_known) for torch in (flambeau, oracle))
            assert own == theirs, (key, value)


def _differentiated(torch: Any) -> list[Any]:
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = torch.zeros(3, 5)
    x[:, 1] = w
    x[1:-1, :-2] = 7.0
    x[-1:, -2] = (2 * w)[:1]
    (x * torch.arange(15.0).reshape(3, 5)).sum().backward()
    saved = torch.ones(4, 4)
    product = saved * torch.ones(4, 4, requires_grad=True)
    saved[1:-1, 0] = 0.0
    try:
        product.sum().backward()
        error = None
    except RuntimeError:
        error = "modified"
    return [x.tolist(), w.grad.tolist(), x[1:-1, -1].grad_fn.name(), error, saved.tolist()]


@pytest.mark.oracle
def test_histories_are_kept(oracle: ModuleType) -> None:
    assert _differentiated(flambeau) == _differentiated(oracle)


@pytest.mark.parametrize("value", [0.0, "tensor"])
def test_a_part_is_written_with_one_node(value: Any) -> None:
    x = flambeau.rand(6, 5) + 1
    written = flambeau.rand(4) if value == "tensor" else value
    view = x[1:-1]
    before = len(pending.nodes)
    x[1:-1, 0] = written
    assert len(pending.nodes) == before + 1
    assert view[:, 0].tolist() == (written.tolist() if value == "tensor" else [0.0] * 4)


def test_bounds_from_the_end_are_cut_in_one_step() -> None:
    x = flambeau.rand(6, 5)
    part = x[1:-1, -4:-1]
    assert part._view.__class__ is not list     # as of several steps
    assert part.tolist() == x[1:5][:, 1:4].tolist()
