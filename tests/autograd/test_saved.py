"""What PyTorch's rules save: who may go twice through an operation, and whose gradients require gradients."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.oracle

# x is (2, 6), y is (2, 6), i is (1, 2, 4, 6), w is (2, 2, 3, 3): all want gradients.
EXPRESSIONS = [
    "F.avg_pool1d(x, 2)", "F.avg_pool2d(i, 2)", "F.avg_pool3d(i[None], 2)", "F.adaptive_avg_pool1d(x, 4)",
    "F.adaptive_avg_pool2d(i, 3)", "F.adaptive_avg_pool3d(i[None], (1, 2, 2))", "F.max_pool1d(x, 2)",
    "F.max_pool2d(i, 2)", "F.max_pool2d(i, 2, return_indices=True)[0]", "F.adaptive_max_pool2d(i, 3)",
    "F.interpolate(i, scale_factor=2)", "F.interpolate(i, scale_factor=2, mode='bilinear')",
    "F.interpolate(i, scale_factor=2, mode='bicubic')", "F.interpolate(i, size=(2, 3), mode='area')",
    "F.interpolate(x[None], scale_factor=2, mode='linear')", "F.pad(x[None], (1, 1), mode='reflect')",
    "F.pad(x[None], (1, 1), mode='replicate')", "F.pad(x[None], (1, 1))", "F.conv2d(i, w, x[:, 0])",
    "F.conv2d(i, w.detach())", "F.conv2d(i.detach(), w)", "F.conv2d(i.detach(), w.detach(), x[:, 0])",
    "F.conv_transpose2d(i, w.detach())", "F.layer_norm(x, (6,), y[0], y[1])",
    "F.layer_norm(x.detach(), (6,), y[0].detach(), y[1])",
    "F.batch_norm(x.detach(), None, None, y[0].detach(), y[1], training=True)", "x * 2", "x / 2",
    "x ** 1", "x ** 0", "x.clone().div_(2)", "x.clone().mul_(2)",
    "x * y", "x * y.detach()", "x / y.detach()", "x + 2", "x - y",
    "torch.addcdiv(x, y.detach(), y.detach() + 3)", "torch.addcmul(x, y.detach(), y.detach())",
    "torch.complex(x, y).real", "torch.copysign(x.detach(), y)", "torch.div(x, y, rounding_mode='floor')",
    "torch.div(x, 2, rounding_mode='trunc')", "torch.fft.fft(x).real", "torch.fft.fft2(x).real",
    "torch.fft.rfft(x).real", "torch.fft.ifft(torch.complex(x, y).detach() * x).real", "x.sum()",
    "x.mean(1)", "x.expand(3, 2, 6)", "x[:, 1:]", "torch.cat([x, y])", "F.relu(x)", "F.relu6(x)",
    "F.leaky_relu(x)", "F.elu(x)", "F.hardtanh(x)", "F.hardshrink(x)", "F.softshrink(x)",
    "F.hardsigmoid(x)", "F.threshold(x, 0.1, 1.0)", "F.prelu(x, y[0, :1].detach())",
    "F.prelu(x.detach(), y[0, :1])", "F.rrelu(x, training=True)", "x.abs()", "x.clamp(0, 1)",
    "torch.maximum(x, y)", "x.amax(1)", "F.nll_loss(x, torch.tensor([0, 1]))",
    "F.grid_sample(i, y.reshape(1, 3, 2, 2).detach(), align_corners=False)",
    "F.grid_sample(i.detach(), y.reshape(1, 3, 2, 2), align_corners=False)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_what_is_saved_is_what_pytorch_saves(
    torch: ModuleType, oracle: ModuleType, expression: str
) -> None:
    def run(framework: ModuleType) -> Any:
        def numbers(*shape: int) -> Any:
            count = framework.Size(shape).numel()
            values = framework.arange(count, dtype=framework.float64) * 0.37 % 2 - 0.9
            return values.reshape(shape).requires_grad_()

        leaves = [numbers(2, 6), numbers(2, 6), numbers(1, 2, 4, 6), numbers(2, 2, 3, 3)]
        names = {"torch": framework, "F": framework.nn.functional, **dict(zip("xyiw", leaves))}
        y = eval(expression, names)
        grads = framework.autograd.grad(y.sum(), leaves, create_graph=True, allow_unused=True)
        found: list[Any] = [None if g is None else g.requires_grad for g in grads]
        y = eval(expression, names)
        y.sum().backward()
        try:
            y.sum().backward()
        except RuntimeError as error:
            found.append(str(error))
        return found

    assert run(torch) == run(oracle)


@pytest.mark.parametrize("layer", ["ReLU()", "LeakyReLU()", "ReLU6()", "Hardtanh()", "Softshrink(0.1)",
                                   "Threshold(0.1, 1)", "ELU()", "Tanh()", "Hardshrink()"])
def test_second_derivatives_of_networks_of_straight_pieces_are_zero(
    torch: ModuleType, oracle: ModuleType, layer: str
) -> None:
    def run(framework: ModuleType) -> Any:
        nn = framework.nn
        network = nn.Sequential(nn.Linear(1, 4), eval(f"nn.{layer}", {"nn": nn}), nn.Linear(4, 1)).double()
        with framework.no_grad():
            for p in network.parameters():
                p.copy_(framework.linspace(-1, 1, p.numel(), dtype=p.dtype).reshape(p.shape) + 0.1)
        x = framework.tensor([[-0.7], [0.2], [0.9]], dtype=framework.float64, requires_grad=True)
        slope, = framework.autograd.grad(network(x).sum(), x, create_graph=True)
        wanted = [x, *network.parameters()]
        found = framework.autograd.grad(slope.sum(), wanted, retain_graph=True, allow_unused=True)
        curvature, = framework.autograd.grad(slope.square().sum(), x)
        return [None if g is None else g.flatten().tolist() for g in (*found, curvature)]

    for ours, theirs in zip(run(torch), run(oracle), strict=True):
        assert ours == (None if theirs is None else pytest.approx(theirs))


@pytest.mark.parametrize("expression", ["x.prod()", "x.prod(1)", "x.cumprod(1)", "x.exp()", "x.amax(1)",
                                        "x.cumsum(1)", "x.sum(1)", "x.sin()"])
def test_who_keeps_a_result_sees_that_it_was_written(torch: ModuleType, oracle: ModuleType,
                                                     expression: str) -> None:
    def run(framework: ModuleType) -> str:
        x = framework.arange(1.0, 7.0).reshape(2, 3).requires_grad_()
        y = eval(expression, {"x": x})
        y.mul_(0.5)
        try:
            y.sum().backward()
        except RuntimeError as error:
            return str(error)[:70]
        return "accepted"

    assert run(torch) == run(oracle)


# Of leaves x and y, positive, and a result: which may be written before backward.
WRITTEN = [
    "x.erfinv()", "x.sgn()", "torch.ldexp(x, y)", "torch.ldexp(x, y.detach())", "torch.ldexp(x.detach(), y)",
    "torch.special.log_ndtr(x)", "torch.kron(x, y)", "torch.complex(x, y)", "torch.complex(x, y.detach())",
    "torch.copysign(x.detach(), y)", "torch.cummax(x, 0)[0]", "torch.cummin(x, 0)[0]", "x ** y",
    "x ** y.detach()", "torch.div(x, y, rounding_mode='floor')",
    "torch.div(x, y.detach(), rounding_mode='trunc')",
    "torch.addcdiv(x, y.detach(), y.detach())", "torch.lerp(x.detach(), y.detach(), x * y)",
    "x.index_add(0, torch.tensor([0, 1]), y)", "x.index_copy(0, torch.tensor([0, 1]), y)",
    "x.masked_select(y > 0)", "x.take(torch.tensor([1]))", "x.put(torch.tensor([0, 1, 2, 3]), y)",
    "x.gather(0, torch.tensor([[0, 1]]))", "torch.cholesky_solve(x, y)", "torch.linalg.lstsq(x, y)[0]",
    "F.binary_cross_entropy(x.detach(), y, reduction='none')", "F.rrelu(x, training=True)",
    "F.prelu(x.detach(), y[0])", "x.prod()", "x * y", "x / y", "x.exp()", "x.sin()",
]


@pytest.mark.parametrize("expression", WRITTEN)
def test_what_may_be_written_before_backward(
    torch: ModuleType, oracle: ModuleType, expression: str
) -> None:
    def refused(framework: ModuleType, number: int) -> bool:
        leaves = [framework.tensor([[0.5, 0.2], [0.1, a]], dtype=framework.float64) for a in (0.7, 0.6)]
        names = {"torch": framework, "F": framework.nn.functional,
                 **dict(zip("xy", [leaf.requires_grad_() for leaf in leaves]))}
        result = eval(expression, names)
        with framework.no_grad():
            [*leaves, result][number].mul_(1)
        try:
            result.real.sum().backward()
        except RuntimeError as error:
            assert "modified by an inplace operation" in str(error)
            return True
        return False

    assert [refused(torch, i) for i in range(3)] == [refused(oracle, i) for i in range(3)]


# Functions of x and w that write in place what a derivative needs.
IN_PLACE = ["(x * 1).mul_(w).sin_()", "F.elu_(x * 1)", "(x * 1).pow_(3)", "(x * 1)[0].mul_(w)",
            "(x * w).relu_()", "F.silu(x * w, inplace=True)", "(x * 1).cumprod_(1)"]


@pytest.mark.parametrize("expression", IN_PLACE)
def test_hooks_get_what_was_before_it_was_written(torch: ModuleType, oracle: ModuleType,
                                                  expression: str) -> None:
    def run(framework: ModuleType) -> Any:
        x = framework.tensor([[0.2, -0.4], [0.9, 0.5]], dtype=framework.float64, requires_grad=True)
        w = framework.tensor([0.3, 0.7], dtype=framework.float64, requires_grad=True)
        unpacked: list[Any] = []

        def function(x: Any) -> Any:
            return eval(expression, {"x": x, "w": w, "F": framework.nn.functional}) * 2

        with framework.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: (unpacked.append(t), t)[1]):
            y = function(x)
        found = framework.autograd.grad(y.sum(), (x, w), allow_unused=True)
        y = framework.utils.checkpoint.checkpoint(function, x, use_reentrant=False)
        again = framework.autograd.grad(y.sum(), (x, w), allow_unused=True)
        return len(unpacked), [None if g is None else g.tolist() for g in (*found, *again)]

    (count, ours), (expected, theirs) = run(torch), run(oracle)
    assert count == expected
    for one, other in zip(ours, theirs, strict=True):
        assert one is other is None or one == [pytest.approx(row) for row in other]


def test_a_checkpoint_runs_again_once(torch: ModuleType) -> None:
    runs = []
    norm = torch.nn.BatchNorm1d(2)

    def function(x: Any) -> Any:
        runs.append(1)
        return norm(x)

    x = torch.tensor([[0.2, -0.4], [0.9, 0.5]], requires_grad=True)
    torch.utils.checkpoint.checkpoint(function, x, use_reentrant=False).square().sum().backward()
    assert len(runs) == 2 and norm.num_batches_tracked == 2
