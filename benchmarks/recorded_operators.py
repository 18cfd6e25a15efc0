"""The operators and calls of small scripts, one by one, for ``recording.py --wide``.

Each is called with tensors of a few numbers, which cost PyTorch next to nothing to compute.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

CALLS = 20
REPETITIONS = 30

# By what they are shown as, what is evaluated; ``t`` is torch, ``F`` its functions, other names are operands.
POINTWISE = """
x + y; t.add(x, y); x * 2.0; 1.0 - x; x / y; -x; x.exp(); x ** 2; t.sigmoid(x); x.tanh(); F.relu(x); F.gelu(x)
x.clamp(0.1, 0.9); t.where(mask, x, y); t.where(mask, x, 0.0); x.masked_fill(mask, 0.0); x > 0.5; x.abs()
t.maximum(x, y); t.addcmul(x, y, y, value=0.5); t.lerp(x, y, 0.5); classes.float(); F.leaky_relu(x, 0.1)
"""
REDUCTIONS = """
x.sum(); x.sum(1); x.sum(dim=1, keepdim=True); x.mean(); x.mean(-1, keepdim=True); x.max(); x.max(1)
x.argmax(1); x.var(); x.std(0); t.var_mean(x, 1); x.norm(); F.softmax(x, -1); x.softmax(dim=-1)
F.log_softmax(x, dim=-1); t.logsumexp(x, 1); x.cumsum(0); x.topk(2); x.sort(); mask.all(); x.prod(1)
"""
VIEWS = """
x[2]; x[1:3]; x[:, 0]; x[:, None]; z[:, -1, :]; z[..., :3]; x.view(6, 8); x.reshape(-1); z.permute(2, 0, 1)
x.t(); x.T; b.expand(8, 6); x.unsqueeze(1); z.flatten(1); x.split(2); x.chunk(2, dim=1); z.unbind(0)
x.detach(); x.narrow(0, 1, 2); x.size(0); x.shape; list(x)
"""
INDEXING = """
x[places]; x[rows, classes]; x.gather(1, grid); t.index_select(x, 0, places); F.embedding(classes, table)
t.cat([x, y], dim=1); t.stack([x, y]); x.repeat(2, 1); F.one_hot(classes, 4); t.tril(plain); x.flip(0)
t.roll(x, 1, 0); F.pad(x, (1, 1)); x.clone()
"""
PRODUCTS = """
x @ w; z @ k; z @ w; w @ b; t.dot(b, b); t.einsum("bij,bjk->bik", z, k); F.linear(x, w, b); t.addmm(b, x, w)
t.outer(v, b)
"""
LAYERS = """
F.layer_norm(x, (6,)); F.batch_norm(x, mean, variance, training=True); F.dropout(x, 0.1)
F.conv2d(image, kernel); F.max_pool2d(image, 2); F.adaptive_avg_pool2d(image, 1); F.cross_entropy(x, classes)
F.nll_loss(x, classes); F.mse_loss(x, y); F.binary_cross_entropy_with_logits(x, plain)
F.cosine_similarity(x, y); F.normalize(x); F.scaled_dot_product_attention(q, q, q); linear(x); norm(x); mlp(x)
embed(classes); gru(x, y); lstm(x, (x, y)); attention(z, z, z); batch_norm(x)
"""
FACTORIES = """
t.zeros(8, 6); t.ones(3); t.arange(8); t.arange(8, device="cpu"); t.randn(8, 6); t.rand(8, 6)
t.full((8, 6), 1.0); t.randint(0, 4, (9, 3)); t.zeros_like(plain); t.randn_like(plain)
t.tensor([1.0, 2.0]); t.tensor(1.0)
t.empty(8, 6); plain.new_zeros(3); t.randperm(9); t.bernoulli(plain); t.eye(4); t.zeros(3).requires_grad_()
"""
WRITES = """
written.add_(plain); written.mul_(0.9); written.copy_(plain); written.zero_(); written.fill_(0.5)
written.clamp_(0, 1); written.__setitem__(2, 0.5); written.__setitem__(slice(1, 3), plain[1:3])
written.__setitem__(mask, 0.0)
"""
GROUPS = POINTWISE, REDUCTIONS, VIEWS, INDEXING, PRODUCTS, LAYERS, FACTORIES, WRITES


def calls() -> list[str]:
    """All of them."""
    return [call for group in GROUPS for line in group.splitlines() for call in line.split("; ") if call]


def operands(torch: Any, tape: bool) -> dict[str, Any]:
    """What is called with what: tensors that want gradients, or not, and layers."""
    torch.manual_seed(0)
    nn = torch.nn

    def numbers(*shape: int) -> Any:
        return torch.rand(*shape).requires_grad_(tape)
    layers = {
        "linear": nn.Linear(6, 6), "norm": nn.LayerNorm(6), "embed": nn.Embedding(10, 6),
        "mlp": nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6)), "gru": nn.GRUCell(6, 6),
        "lstm": nn.LSTMCell(6, 6), "attention": nn.MultiheadAttention(6, 2, batch_first=True),
        "batch_norm": nn.BatchNorm1d(6)}
    for layer in layers.values():
        layer.requires_grad_(tape)
    return {
        **layers, "t": torch, "F": nn.functional, "x": numbers(8, 6), "y": numbers(8, 6), "w": numbers(6, 6),
        "b": numbers(6), "v": numbers(8), "z": numbers(4, 8, 6), "k": numbers(4, 6, 8),
        "table": numbers(10, 6), "image": numbers(2, 3, 8, 8), "kernel": numbers(4, 3, 3, 3),
        "q": numbers(2, 2, 4, 8),
        "places": torch.tensor([0, 2, 1]), "rows": torch.arange(8), "grid": torch.zeros(8, 6).long(),
        "classes": torch.zeros(8).long(), "mask": torch.rand(8, 6) > 0.5, "plain": torch.rand(8, 6),
        "written": torch.rand(8, 6), "mean": torch.rand(6), "variance": torch.rand(6) + 1}


def results(torch: Any, out: Any) -> list[Any]:
    """The tensors among results that have a history."""
    if isinstance(out, (tuple, list)):
        return [x for one in out for x in results(torch, one)]
    return [out] if isinstance(out, torch.Tensor) and out.requires_grad else []


def least_time(function: Callable[[], Any], settle: Callable[[], Any]) -> float:
    """Microseconds that a call takes; ``settle`` computes what pends between two rounds."""
    best = float("inf")
    for _ in range(REPETITIONS):
        began = time.perf_counter()
        for _ in range(CALLS):
            function()
        best = min(best, time.perf_counter() - began)
        settle()
    return best * 1e6 / CALLS


def backward_time(torch: Any, function: Callable[[], Any], leaves: list[Any]) -> float:
    """Microseconds that the backward pass of a call takes."""
    best = float("inf")
    for _ in range(REPETITIONS):
        outs = [x for _ in range(CALLS) for x in results(torch, function())]
        gradients = [torch.ones_like(x) for x in outs]
        sum((x.sum() for x in (*outs, *gradients)), torch.zeros(())).item()
        began = time.perf_counter()
        torch.autograd.backward(outs, gradients)
        best = min(best, time.perf_counter() - began)
        sum((x.grad.sum() for x in leaves if x.grad is not None), torch.zeros(())).item()
        for x in leaves:
            x.grad = None
    return best * 1e6 / CALLS


def measure(torch: Any, call: str, plain: dict[str, Any], taped: dict[str, Any]) -> dict[str, float]:
    """What a call takes without a history, with one, and backward."""
    code = compile(call, "<program>", "eval")
    found = {}
    with torch.no_grad():
        given = SimpleNamespace(**plain)
        found["forward"] = least_time(lambda: eval(code, plain), lambda: (given.written.sum() + 0).item())
    if results(torch, eval(code, taped)):
        leaves = [x for x in taped.values() if isinstance(x, torch.Tensor)]
        leaves += [p for x in taped.values() if isinstance(x, torch.nn.Module) for p in x.parameters()]
        found["forward with grad"] = least_time(lambda: eval(code, taped),
                                                lambda: (leaves[0].sum() + 0).item())
        found["backward"] = backward_time(torch, lambda: eval(code, taped), leaves)
    return found


def measure_all(torch: Any) -> dict[str, dict[str, float]]:
    """Every call."""
    plain, taped = operands(torch, False), operands(torch, True)
    return {call: measure(torch, call, plain, taped) for call in calls()}
