"""Results without a derivative require gradients as PyTorch's do, and backward tells that there is none."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

NOT_IMPLEMENTED = {
    "torch.unique(x)": "the derivative for '_unique2' is not implemented.",
    "x.unique(return_counts=True)[0]": "the derivative for '_unique2' is not implemented.",
    "torch.unique(x, dim=0)": "the derivative for 'unique_dim' is not implemented.",
    "torch.unique_consecutive(x)": "the derivative for 'unique_consecutive' is not implemented.",
    "torch.geqrf(m).a": "the derivative for 'geqrf' is not implemented.",
    "torch.special.zeta(x, x.detach())": "the derivative for 'zeta' is not implemented.",
    "torch.igamma(x, x.detach())": "the derivative for 'igamma: input' is not implemented.",
}
RUNTIME = {
    "torch.histogram(x, 4).hist": "histogram",
    "torch.histogram(x.detach(), 4, weight=x).bin_edges": "histogram",
    "torch.histogramdd(m, [2, 2]).hist": "_histogramdd_from_bin_cts",
    "torch.histogramdd(m, [2, 2]).bin_edges[0]": "_histogramdd_bin_edges",
    "torch.histogramdd(m[:, :1], [torch.tensor([0., 9.])]).hist": "_histogramdd_from_bin_tensors",
    "torch.binomial(x.detach(), x / 9)": "binomial",
    "torch.linalg.ldl_factor(m @ m.T).LD": "linalg_ldl_factor_ex",
    "torch.linalg.ldl_solve(m.detach(), pivots, m)": "linalg_ldl_solve",
    "torch.heaviside(x, x)": "heaviside",
    "torch.floor_divide(x, 2)": "floor_divide",
}


def _operands(torch: ModuleType) -> dict[str, Any]:
    x = torch.tensor([1.0, 2.0, 2.0, 3.0], requires_grad=True)
    return {"torch": torch, "x": x, "m": x.reshape(2, 2), "pivots": torch.tensor([1, 2], dtype=torch.int32)}


@pytest.mark.parametrize("expression", NOT_IMPLEMENTED)
def test_no_formula(torch: ModuleType, expression: str) -> None:
    result = eval(expression, _operands(torch))
    assert result.requires_grad
    with pytest.raises(NotImplementedError) as caught:
        result.sum().backward()
    assert str(caught.value) == NOT_IMPLEMENTED[expression]


@pytest.mark.parametrize("expression", RUNTIME)
def test_not_implemented(torch: ModuleType, expression: str) -> None:
    result = eval(expression, _operands(torch))
    assert type(result.grad_fn).__name__ == "NotImplemented"
    with pytest.raises(RuntimeError) as caught:
        result.sum().backward()
    assert str(caught.value) == f"derivative for aten::{RUNTIME[expression]} is not implemented"


def test_without_gradients(torch: ModuleType) -> None:
    names = _operands(torch)
    with torch.no_grad():
        assert not any(eval(e, names).requires_grad for e in (*NOT_IMPLEMENTED, *RUNTIME))
    assert not torch.unique(names["x"].detach()).requires_grad
    assert not torch.unique(names["x"], return_inverse=True)[1].requires_grad
