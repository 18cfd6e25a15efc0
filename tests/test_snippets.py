"""Short programs at corners of layers, optimizers and schedules: what they give is what PyTorch gives."""

from __future__ import annotations

import math
import re
import warnings
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.oracle

# A row is statements, and the expression that is compared.
NORMALIZED = """
m = nn.BatchNorm1d(3); m(x[:0]).sum().backward(); [m.weight.grad, m.bias.grad, *m.buffers()]
m = nn.BatchNorm2d(3).eval(); m(torch.ones(0, 3, 2, 2)).sum().backward(); [m.weight.grad, m.bias.grad]
F.batch_norm(x[:0], None, None, torch.ones(0), torch.ones(0), True)
F.instance_norm(x[None], torch.ones(4), torch.ones(4).double())
F.instance_norm(x[None], torch.ones(4).double(), torch.ones(4).double())
F.batch_norm(x, torch.ones(3).double(), torch.ones(3).double(), torch.ones(3))
m = nn.InstanceNorm2d(3, affine=True, track_running_stats=True); m(torch.ones(0, 3, 2, 2))
m = nn.InstanceNorm2d(3, affine=True, track_running_stats=True).eval(); m(torch.ones(0, 3, 2, 2))
m = nn.InstanceNorm2d(3, affine=True, track_running_stats=True); [m(torch.ones(2, 3, 0, 2)), *m.buffers()]
m = nn.InstanceNorm2d(3, affine=True, track_running_stats=True).eval(); m(torch.ones(1, 3, 2, 2).double())
m = nn.InstanceNorm2d(3, affine=True, track_running_stats=True).eval(); m(torch.ones(1, 3, 2, 2).bfloat16())
m = nn.InstanceNorm2d(3, affine=True, track_running_stats=True).double().eval(); m(torch.ones(1, 3, 2, 2))
m = nn.InstanceNorm1d(3, track_running_stats=True); m(torch.ones(1, 3, 2).double())
nn.InstanceNorm2d(3, affine=True)(torch.ones(1, 3, 0, 2))
torch.norm_except_dim(torch.tensor([3.0, -4.0]), 2, 0)
torch.norm_except_dim(torch.tensor([3.0, -4.0]), 2, 1)
torch.norm_except_dim(torch.tensor(2.0), 2, 0)
torch.norm_except_dim(torch.ones(2, 3, 4), 2, -2)
m = nn.utils.parametrizations.weight_norm(nn.BatchNorm1d(3)); [*m.state_dict().values(), m(x)]
m = nn.utils.spectral_norm(nn.BatchNorm1d(3)); [*m.state_dict().values(), m(x), m.eval()(x)]
m = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.BatchNorm1d(3))); list(m.state_dict().values())
"""
POOLED = """
F.adaptive_max_pool2d(torch.ones(0, 3, 4, 4), 2, return_indices=True)
y = torch.ones(0, 3, 4, requires_grad=True); F.adaptive_max_pool1d(y, 2).sum().backward(); y.grad
y = torch.ones(0, 3, 4, requires_grad=True); F.max_unpool1d(y, y.detach().long(), 2).sum().backward(); y.grad
F.max_unpool2d(torch.ones(0, 3, 2), torch.ones(0, 3, 2).long(), 2)
F.max_unpool2d(torch.ones(1, 3, 4, 0), torch.ones(1, 3, 4, 0).long(), 2)
F.max_unpool1d(torch.ones(3, 0), torch.ones(3, 0).long(), 2)
F.max_unpool3d(torch.ones(2, 0, 3, 2, 2), torch.ones(2, 0, 3, 2, 2).long(), 2)
F.max_unpool2d(torch.ones(1, 3, 4, 4), None, 2)
F.embedding_bag(torch.zeros(2, 0).long(), torch.ones(3, 2))
F.embedding_bag(torch.zeros(2, 1).long(), torch.ones(3, 2).to(torch.complex64), mode="max")
F.embedding_bag(torch.zeros(2, 1).long(), torch.ones(3, 2).long())
F.embedding_bag(torch.zeros(2, 1), torch.ones(3, 2))
"""
ELEMENTS = """
F.cross_entropy(x, x.softmax(1), ignore_index=1)
F.cross_entropy(x, x.softmax(1), ignore_index=-1)
F.rrelu(torch.ones(2).half(), training=True)
y = torch.tensor([math.nan, 1.0, -1.0], requires_grad=True); F.rrelu(y).sum().backward(); y.grad
y = torch.tensor([-4.0, 4.0, 1.0], requires_grad=True); F.hardswish(y).backward(y.detach() / 0); y.grad
y = torch.tensor([-3.0, -1.0, 1.0, 3.0], requires_grad=True); y.acosh().sum().backward(); y.grad
y = torch.tensor([-3.0 + 1j, 0.5 - 2j], requires_grad=True); y.acosh().backward(torch.ones_like(y)); y.grad
y = torch.zeros(2, requires_grad=True); (y ** torch.tensor([0.0, 1.0])).backward(1 / torch.zeros(2)); y.grad
torch.index_fill(torch.tensor(2.0), 0, torch.empty(0).long(), 7.0)
torch.index_copy(torch.tensor(2.0), 0, torch.empty(0).long(), torch.empty(0))
torch.tensor(2.0).index_fill_(0, torch.tensor(0), 7.0)
torch.zeros(2).byte().index_fill(0, torch.tensor([0]), torch.tensor(-1.5))
torch.zeros(2).char().index_fill(0, torch.tensor([0]), torch.tensor(200))
"""
STEPPED = """
y = nn.Parameter(torch.tensor(2.0)); y.grad = y.detach().to_sparse(); optim.SparseAdam([y], 0.1).step(); y
y = nn.Parameter(torch.ones(2) * 1j); y.grad = y.detach(); optim.SGD([y], 0.1, fused=True).step()
y = nn.Parameter(torch.ones(2) * 1j); y.grad = y.detach(); optim.AdamW([y], fused=True).step()
L = optim.lr_scheduler; L.ChainedScheduler([L.ReduceLROnPlateau(optim.SGD([torch.ones(1)], 0.1))])
L = optim.lr_scheduler; L.MultiplicativeLR(optim.SGD([torch.ones(1)], 0.1), [1, 2])
"""
MOVED = """
P = nn.utils.parametrize; m, other = nn.Conv2d(4, 6, 3), nn.Linear(3, 2); \
P.register_parametrization(m, "weight", nn.Identity()); P.transfer_parametrizations_and_params(m, other); \
[repr(other), *other.state_dict().values(), \
other.parametrizations.weight.original is m.parametrizations.weight.original]
"""
REFUSED = """
F.max_pool2d(torch.ones(1, 1, 4, 4), 2) + F.max_pool2d(torch.ones(1, 1, 4, 4), 2, dilation=True)
F.conv1d(torch.ones(1, 3, 0), torch.ones(1, 3, 1), padding=1)
F.conv2d(torch.ones(1, 3, 0, 4), torch.ones(1, 3, 1, 1), padding=1)
F.pad(torch.ones(1, 2).bool(), (1, 1), "constant", 1j)
F.pad(torch.ones(1, 2) * 1j, (1, 1), "constant", 1j)
F.pad(torch.ones(1, 2), (1, 1), None)
F.pad(torch.ones(1, 2), (1, 1), "no such", 1.0)
torch.max(x * 1j, 0)
torch.min(x * 1j, dim=1)
torch.linalg.cross(x.bool(), x.bool())
"""
FACTORED = """
torch.cholesky(torch.eye(2).bool())
torch.cholesky(torch.eye(2).half())
torch.linalg.cholesky(torch.eye(2).half())
torch.linalg.cholesky(torch.eye(2).bfloat16())
torch.cholesky_inverse(torch.eye(2).long())
torch.cholesky_inverse(torch.eye(2).half())
torch.linalg.eig(torch.eye(2).half())
torch.linalg.eigh(torch.eye(2).byte())
torch.linalg.eigh(torch.eye(2).bfloat16())
torch.linalg.eigvalsh(torch.eye(2).long())
torch.linalg.svd(torch.eye(2).half())
torch.linalg.svd(torch.eye(2).long())
torch.linalg.svdvals(torch.eye(2).bfloat16())
torch.linalg.svdvals(torch.eye(2).long())
torch.linalg.qr(torch.eye(2).half())
torch.linalg.lu(torch.eye(2).long())
torch.linalg.lu(torch.eye(2).half())
torch.linalg.lu_factor(torch.eye(2).bool())
torch.linalg.lu_factor(torch.eye(2).bfloat16())
torch.linalg.ldl_factor(torch.eye(2).half())
torch.linalg.solve_triangular(torch.eye(2).long(), torch.eye(2).long(), upper=True)
torch.linalg.solve_triangular(torch.eye(2).half(), torch.eye(2).half(), upper=True)
torch.linalg.solve(torch.eye(2).bfloat16(), torch.eye(2).bfloat16())
torch.linalg.det(torch.eye(2).half())
torch.logdet(torch.eye(2).half())
torch.logdet(torch.eye(2).long())
torch.linalg.cond(torch.eye(2).bfloat16())
torch.linalg.norm(torch.eye(2).half(), 2)
torch.linalg.householder_product(torch.eye(2).long(), torch.ones(2).long())
torch.linalg.householder_product(torch.eye(2).half(), torch.ones(2).half())
torch.linalg.svd(torch.eye(2).to(torch.complex32))
torch.linalg.lu_solve(torch.eye(2).half(), torch.ones(2).int(), torch.eye(2).half())
torch.linalg.ldl_solve(torch.eye(2).half(), torch.ones(2).int(), torch.eye(2).half())
"""
TRANSFORMED = """
torch.func.vmap(nn.BatchNorm1d(3))(torch.ones(2, 4, 3))
torch.func.vmap(nn.InstanceNorm1d(3, track_running_stats=True))(torch.ones(2, 4, 3, 3))
torch.func.vmap(lambda y: y.data)(x)
torch.func.grad(lambda y: OldFunction.apply(y).sum())(x)
torch.func.vmap(OldFunction.apply)(x)
torch.func.vmap(lambda y: y + OldFunction.apply(torch.ones(3)))(x)
torch.func.jvp(OldFunction.apply, (x,), (x,))
torch.func.jvp(hiding, (x,), (x,))
torch.func.jacfwd(hiding)(x)
torch.func.linearize(hiding, x)[1](x)
torch.func.grad(hiding)(x)
torch.func.grad(lambda y: torch.func.jvp(hiding, (y,), (x,))[0])(x)
"""
ROWS = [row.strip() for rows in (NORMALIZED, POOLED, ELEMENTS, STEPPED, MOVED, REFUSED, FACTORED, TRANSFORMED)
        for row in rows.strip().split("\n") if row.strip()]


def _plain(torch: ModuleType, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        parts = torch.view_as_real(value.detach()) if value.is_complex() else value.detach()
        return [str(value.dtype).rpartition(".")[2], list(value.shape), *parts.double().flatten().tolist()]
    if isinstance(value, list | tuple):
        return [_plain(torch, each) for each in value]
    return value


def _flat(value: Any) -> list[Any]:
    return [one for each in value for one in _flat(each)] if isinstance(value, list) else [value]


def _definitions(torch: ModuleType) -> dict[str, Any]:
    class OldFunction(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    def hiding(x: Any) -> Any:
        with torch.no_grad():
            y = x.sin()
        return (x * y).sum()
    return {"OldFunction": OldFunction, "hiding": hiding}


def answer(torch: ModuleType, row: str) -> list[Any]:
    torch.manual_seed(0)
    names: dict[str, Any] = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "optim": torch.optim,
                             "math": math, "x": torch.arange(12.0).sin().reshape(4, 3), **_definitions(torch)}
    statements, _, expression = row.rpartition("; ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(statements, names)
            return _flat(_plain(torch, eval(expression, names)))
        except Exception as error:
            text = re.sub(r"\nThis operation was recorded at .*", "", str(error), flags=re.DOTALL)
            return [type(error).__name__, text.replace("flambeau.", "torch.")]


@pytest.mark.parametrize("row", ROWS)
def test_answers_are_those_of_pytorch(torch: ModuleType, oracle: ModuleType, row: str) -> None:
    theirs = [pytest.approx(each, rel=1e-5, abs=1e-6, nan_ok=True) if isinstance(each, float) else each
              for each in answer(oracle, row)]
    assert answer(torch, row) == theirs
