"""``torch.autograd.functional`` against PyTorch's: values, what stays differentiable, and what is refused."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")]

# Calls on A = autograd.functional, a vector x, a vector y that needs a gradient, f = the sum of cubes, and
# constant, which does not depend on its argument.
CALLS = [
    "A.jacobian(lambda x: x**2, x, strategy='forward-mode')", "A.jacobian(lambda x: 3, x)",
    "A.jacobian(constant, x)", "A.jacobian(constant, x, strict=True)", "A.jacobian(lambda x, y: x, (x, y))",
    "A.jacobian(lambda x, y: x, (x, y), strict=True)", "A.jacobian(lambda x: x.detach(), x, strict=True)",
    "A.jacobian(lambda x: x * 2, x, strict=True, create_graph=True)",
    "A.jacobian(lambda x: x**2, x, strict=True, create_graph=True)",
    "A.jacobian(lambda x: x, x, strategy='q')",
    "A.jacobian(lambda x: x, x, vectorize=True, strict=True)", "A.jacobian(lambda x: [x, x], x)",
    "A.jacobian(lambda x: x**2, x, vectorize=True, strategy='forward-mode')",
    "A.jacobian(lambda x: x**2, x, vectorize=True, strategy='forward-mode', create_graph=True)",
    "A.jacobian(lambda x, y: (x * y, y.sum()), (x, y), vectorize=True)", "A.jacobian(f, [x])",
    "A.hessian(f, x)", "A.hessian(f, y, create_graph=True)", "A.hessian(lambda x: x, x)",
    "A.hessian(lambda x: x.sum(), x, strict=True)", "A.hessian(lambda x: (x.sum(), 1), x)",
    "A.hessian(lambda x: (x.sum(), x.sum()), x)", "A.hessian(lambda x: 3.0, x)",
    "A.hessian(lambda x, y: (x**2).sum(), (x, y))", "A.hessian(constant, x, strict=True)",
    "A.hessian(lambda x, y: (x**2).sum(), (x, y), strict=True)",
    "A.hessian(f, x, strict=True, vectorize=True)",
    "A.hessian(f, x, outer_jacobian_strategy='q')", "A.hessian(f, x, outer_jacobian_strategy='forward-mode')",
    "A.vjp(lambda x: x, x)", "A.vjp(lambda x: x, x, torch.ones(3))", "A.vjp(lambda x: x, x, (x, x))",
    "A.vjp(lambda x: x, x, 3)", "A.vjp(constant, x, x)", "A.vjp(constant, x, x, strict=True)",
    "A.vjp(lambda x, y: x, (x, y), x, strict=True)", "A.vjp(lambda x: x * 2, y, x, create_graph=True)",
    "A.vjp(lambda x: x * 2, x, x, create_graph=True, strict=True)", "A.vjp(lambda x: (x, x.sum()), x, (x,))",
    "A.vjp(lambda x: (x, x.sum()), x)", "A.vjp(lambda x: x.sum(), [x])", "A.jvp(lambda x: x, x)",
    "A.jvp(lambda x: x.sum(), x, torch.ones(3))", "A.jvp(lambda x: x.sum(), x, (x, x))",
    "A.jvp(lambda x: x**2, torch.tensor(2.0))", "A.jvp(constant, x, x, strict=True)",
    "A.jvp(lambda x, y: x, (x, y), (x, x), strict=True)", "A.jvp(lambda x: x**2, y, x, create_graph=True)",
    "A.jvp(lambda x: (x, x**2), x, x)", "A.jvp(lambda x: x * 2, x, x, create_graph=True, strict=True)",
    "A.hvp(lambda x: x, x, x)", "A.hvp(f, x, torch.ones(3))", "A.hvp(f, x)", "A.hvp(f, torch.tensor(2.0))",
    "A.hvp(lambda x: x.sum(), x, x)", "A.hvp(lambda x: x.sum(), x, x, strict=True)",
    "A.hvp(constant, x, x, strict=True)", "A.hvp(f, y, x, create_graph=True)",
    "A.hvp(lambda x, y: (x**2).sum(), (x, y), (x, x), strict=True)",
    "A.hvp(lambda x: (x.sum(), x.sum()), x, x)", "A.vhp(lambda x: x, x, x)", "A.vhp(f, x)",
    "A.vhp(lambda x: x.sum(), x, x, strict=True)", "A.vhp(lambda x, y: (x * y**2).sum(), (x, y), (x, x))",
]  # fmt: skip


def plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return str(value.dtype)[-7:], value.requires_grad, np.asarray(value.tolist())


def outcome(torch: ModuleType, call: str) -> Any:
    names = {
        "torch": torch,
        "A": torch.autograd.functional,
        "x": torch.tensor([1.0, 2.0]),
        "y": torch.tensor([3.0, 4.0], requires_grad=True),
        "f": lambda x: (x**3).sum(),
        "constant": lambda *args: torch.ones(2),
    }
    try:
        return plain(eval(call, names))
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("call", CALLS)
def test_call(torch: ModuleType, oracle: ModuleType, call: str) -> None:
    np.testing.assert_equal(outcome(torch, call), outcome(oracle, call))
