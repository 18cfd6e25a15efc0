"""``scatter_reduce`` takes ``max`` and ``min``, too, for what needs no gradient."""

import pytest

import flambeau as torch

_INDEX = torch.tensor([0, 0, 1, 1, 2, 0])
_SOURCE = torch.tensor([1., 5., 5., 5., -2., 5.])


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16])
@pytest.mark.parametrize(("name", "other"), [("max", "amax"), ("min", "amin")])
@pytest.mark.parametrize("include_self", [True, False])
def test_values(name: str, other: str, include_self: bool, dtype: torch.dtype) -> None:
    start, source = torch.tensor([5, 0, 0, 9], dtype=dtype), _SOURCE.to(dtype)
    expected = start.scatter_reduce(0, _INDEX, source, other, include_self=include_self)
    assert torch.equal(start.scatter_reduce(0, _INDEX, source, name, include_self=include_self), expected)
    start.scatter_reduce_(0, _INDEX, source, name, include_self=include_self)
    assert torch.equal(start, expected)


@pytest.mark.parametrize("name", ["max", "min"])
def test_there_is_no_gradient(name: str) -> None:
    result = torch.zeros(3, requires_grad=True).scatter_reduce(0, _INDEX, _SOURCE, name)
    with pytest.raises(RuntimeError, match=rf"^Expected 'reduce' to be one of .* but got {name}\.$"):
        result.sum().backward()
    with pytest.raises(RuntimeError, match="reduce argument must be either sum, prod, mean, amax or amin, "
                                           "got most"):
        torch.zeros(3).scatter_reduce(0, _INDEX, _SOURCE, "most")
