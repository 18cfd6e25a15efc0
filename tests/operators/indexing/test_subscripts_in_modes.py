"""Parts of tensors read and written where no history is recorded: the same parts, and no less is refused."""

from __future__ import annotations

from typing import Any

import pytest

KEYS = [
    0, -1, slice(1, 2), slice(0, 3), (slice(None), 1), (0, slice(1, 3)), (2, 1, slice(None)),
    (slice(0, 2), slice(None), slice(1, 2)), (slice(None), slice(0, 0)),
]


def filled(torch: Any) -> Any:
    return torch.arange(24.0).reshape(3, 2, 4).clone()


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("mode", ["inference_mode", "no_grad"])
def test_parts_are_as_with_history(torch: Any, key: Any, mode: str) -> None:
    expected = filled(torch)[key]
    with getattr(torch, mode)():
        x = filled(torch)
        part = x[key]
        assert part.tolist() == expected.tolist() and part.stride() == expected.stride()
        assert part.storage_offset() == expected.storage_offset()
        assert part.is_inference() is x.is_inference() is (mode == "inference_mode")
        x[key] = -(part + 100)
    with torch.no_grad():
        assert part.tolist() == (-(expected + 100)).tolist()
        assert x.sum().item() == 276 - 2 * expected.sum().item() - 100 * expected.numel()


@pytest.mark.parametrize("key", KEYS[:-1], ids=str)
def test_writes_count(torch: Any, key: Any) -> None:
    x, y = filled(torch), filled(torch)
    with torch.no_grad():
        x[key] = y[key] * 2
    assert x._version == 1
    with torch.inference_mode():
        x[key] = y[key] * 2
    assert x._version == 2


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_inference_tensors_are_not_written_outside(torch: Any, key: Any) -> None:
    with torch.inference_mode():
        x = filled(torch)
    for value in (1.0, filled(torch)[key]):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            x[key] = value
        with torch.no_grad(), pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            x[key] = value


def test_a_leaf_is_written_where_no_history_is_recorded(torch: Any) -> None:
    x = filled(torch).requires_grad_()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x[0] = filled(torch)[1]
    with torch.no_grad():
        x[0] = filled(torch)[1]
    assert x[0].tolist() == x[1].tolist() and x.grad_fn is None and x.requires_grad
