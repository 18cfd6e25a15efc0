"""What the roofline measures: operators, with the operations and bytes that they cannot do without."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

POOL = 128 << 20    # bytes of operands of a kernel that memory binds, and of its results


class Row(NamedTuple):
    """An operator on operands: ``make(torch)`` gives a function of no arguments.

    ``most``: how many calls may lie between two looks; calls on the same operand would become one kernel.
    ``held``: of so many calls the results are kept, so that these are not in the caches either.
    ``looks``: each call computes what it records.
    """

    name: str
    make: Callable[[Any], Callable[[], Any]]
    flops: float = 0.0
    traffic: float = 0.0
    most: int = 64
    held: int = 0
    looks: bool = False


def product(m: int, k: int, n: int, layout: str = "nn") -> Row:
    """C = A B; a ``t`` says that the operand is a transposed view."""
    def make(torch: Any) -> Callable[[], Any]:
        a = torch.randn(k, m).t() if layout[0] == "t" else torch.randn(m, k)
        b = torch.randn(n, k).t() if layout[1] == "t" else torch.randn(k, n)
        return lambda: torch.mm(a, b)

    return Row(f"mm {m}x{k}x{n} {layout}", make, 2.0 * m * n * k, 4.0 * (m * k + k * n + m * n))


def linear(m: int, k: int, n: int, dtype: str = "float32") -> Row:
    """Linear layer with a bias."""
    def make(torch: Any) -> Callable[[], Any]:
        kind = getattr(torch, dtype)
        x, w, b = torch.randn(m, k).to(kind), torch.randn(n, k).to(kind), torch.randn(n).to(kind)
        return lambda: torch.nn.functional.linear(x, w, b)

    size = 4.0 if dtype == "float32" else 2.0
    return Row(f"linear {m}x{k}x{n} {dtype}", make, 2.0 * m * n * k, size * (m * k + k * n + m * n))


def batched(count: int, m: int, k: int, n: int) -> Row:
    """A batch of products."""
    def make(torch: Any) -> Callable[[], Any]:
        a, b = torch.randn(count, m, k), torch.randn(count, k, n)
        return lambda: torch.bmm(a, b)

    return Row(f"bmm {count} of {m}x{k}x{n}", make, 2.0 * count * m * n * k,
               4.0 * count * (m * k + k * n + m * n))


def convolution(count: int, channels: int, size: int, filters: int, kernel: int, stride: int,
                wanted: str = "", groups: int = 1) -> Row:
    """A convolution, or its gradient with respect to the ``input`` or the ``weight``."""
    out = (size + 2 * (kernel // 2) - kernel) // stride + 1

    def make(torch: Any) -> Callable[[], Any]:
        x = torch.randn(count, channels, size, size, requires_grad=wanted == "input")
        w = torch.randn(filters, channels // groups, kernel, kernel, requires_grad=wanted == "weight")
        apply = torch.nn.functional.conv2d
        if not wanted:
            return lambda: apply(x, w, stride=stride, padding=kernel // 2, groups=groups)
        y = apply(x, w, stride=stride, padding=kernel // 2, groups=groups)
        grad = torch.randn(*y.shape)
        of = x if wanted == "input" else w
        return lambda: torch.autograd.grad(y, of, grad, retain_graph=True)

    apart = f"groups {groups} " if groups > 1 else ""
    name = f"conv {count}x{channels}x{size} k{kernel} s{stride} to {filters} {apart}{wanted}".strip()
    taps = channels // groups * kernel * kernel
    return Row(name, make, 2.0 * count * filters * out * out * taps,
               4.0 * (count * channels * size ** 2 + count * filters * out ** 2 + filters * taps))


def attention(count: int, heads: int, length: int, size: int, causal: bool, backward: bool = False,
              queries: int = 0) -> Row:
    """Scaled dot-product attention on heads as a projection leaves them, or its three gradients."""
    queries = queries or length

    def make(torch: Any) -> Callable[[], Any]:
        q, k, v = (torch.randn(count, n, heads, size).transpose(1, 2) for n in (queries, length, length))
        apply = torch.nn.functional.scaled_dot_product_attention
        if not backward:
            return lambda: apply(q, k, v, is_causal=causal)
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        y = apply(*leaves, is_causal=causal)
        grad = torch.randn(*y.shape)
        return lambda: torch.autograd.grad(y, leaves, grad, retain_graph=True)

    part = 0.5 if causal else 1.0
    name = f"attention {count}x{heads}x{length}x{size}{' causal' if causal else ''}"
    name += f" queries {queries}" if queries != length else ""
    arrays = 2.0 * (length + queries) * (1.75 if backward else 1.0)
    return Row(name + " backward" * backward, make,
               part * (10.0 if backward else 4.0) * count * heads * queries * length * size,
               4.0 * arrays * count * heads * size)


def pool_size(shape: tuple[int, ...]) -> int:
    """How many operands take turns: together they are larger than the caches."""
    return max(2, min(64, POOL // (4 * prod(shape))))


def pointwise(name: str, shape: tuple[int, ...], function: Callable[[Any, Any], Any],
              passes: float = 2.0) -> Row:
    """An operator bound by memory that reads a tensor and writes one like it."""
    count = pool_size(shape)

    def make(torch: Any) -> Callable[[], Any]:
        turn = itertools.cycle([torch.randn(*shape) for _ in range(count)])
        return lambda: function(torch, next(turn))

    return Row(f"{name} {'x'.join(map(str, shape))}", make, 0.0, 4.0 * passes * prod(shape), count,
               count)


def gradient(name: str, shape: tuple[int, ...], function: Callable[[Any, Any], Any], bias: bool = False,
             passes: float = 3.0) -> Row:
    """The gradient of an operator bound by memory, and of a bias that was added before it."""
    count = pool_size(shape)

    def make(torch: Any) -> Callable[[], Any]:
        cases = []
        for _ in range(count):
            leaves = [torch.randn(*shape).requires_grad_()]
            if bias:
                leaves.append(torch.randn(shape[-1]).requires_grad_())
            y = function(torch, leaves[0] + leaves[1] if bias else leaves[0])
            cases.append((y, leaves, torch.randn(*y.shape)))
        turn = itertools.cycle(cases)

        def call() -> Any:
            y, leaves, grad = next(turn)
            return torch.autograd.grad(y, leaves, grad, retain_graph=True)
        return call

    return Row(f"{name} gradient {'x'.join(map(str, shape))}{' and bias' if bias else ''}", make, 0.0,
               4.0 * passes * prod(shape), count, count)


def adamw(parameters: int, size: int) -> Row:
    """A step of AdamW, which reads four tensors and writes three."""
    def make(torch: Any) -> Callable[[], Any]:
        found = [torch.nn.Parameter(torch.randn(size)) for _ in range(parameters)]
        for p in found:
            p.grad = torch.randn(size)
        return torch.optim.AdamW(found).step

    return Row(f"adamw {parameters} of {size}", make, 0.0, 28.0 * parameters * size, looks=True)


def embedding(count: int, rows: int, size: int) -> Row:
    """Rows of a table at random."""
    def make(torch: Any) -> Callable[[], Any]:
        table = torch.randn(rows, size)
        turn = itertools.cycle([torch.randint(0, rows, (count,)) for _ in range(8)])
        return lambda: torch.nn.functional.embedding(next(turn), table)

    return Row(f"embedding {count} of {rows}x{size}", make, 0.0, 8.0 * count * size, 8, 8)


def layer_norm(torch: Any, x: Any) -> Any:
    """Over the last dimension."""
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


ROWS = [
    *[product(n, n, n) for n in (256, 512, 1024, 2048, 4096)],
    *[product(2048, 256, 1024, layout) for layout in ("nn", "nt", "tn", "tt")],
    product(256, 2048, 1024, "tn"), linear(128, 784, 512), linear(2048, 256, 1024),
    linear(2048, 256, 1024, "bfloat16"),
    product(32, 16, 32), linear(32, 64, 64), linear(16, 64, 96), linear(64, 64, 10),
    linear(1, 256, 1024), linear(8, 256, 1024), linear(1, 4096, 4096), product(1, 1024, 1024),
    product(60000, 784, 10), product(4096, 16, 4096), batched(64, 32, 32, 32), batched(96, 128, 64, 128),
    convolution(16, 3, 224, 64, 7, 2), convolution(16, 64, 56, 64, 3, 1), convolution(16, 64, 56, 256, 1, 1),
    convolution(16, 128, 28, 128, 3, 1), convolution(16, 256, 28, 256, 3, 2),
    convolution(16, 512, 7, 512, 3, 1),
    convolution(16, 128, 28, 128, 3, 1, "input"), convolution(16, 128, 28, 128, 3, 1, "weight"),
    *[convolution(*shape, wanted) for wanted in ("", "weight")
      for shape in ((64, 1, 28, 32, 3, 1), (64, 3, 32, 64, 3, 1), (32, 64, 32, 128, 1, 2))],
    *[convolution(*shape, wanted) for wanted in ("", "input", "weight")
      for shape in ((32, 128, 16, 256, 3, 2), (16, 256, 14, 512, 3, 2))],
    *[convolution(16, 256, 28, 512, 1, 2, wanted) for wanted in ("", "input", "weight")],
    convolution(32, 64, 32, 128, 1, 2, "input"),
    convolution(16, 3, 224, 64, 7, 2, "weight"), convolution(16, 3, 224, 64, 7, 2, "input"),
    convolution(64, 3, 32, 64, 3, 1, "input"),
    *[convolution(16, 96, 28, 96, 3, 1, wanted, 96) for wanted in ("", "input", "weight")],
    attention(8, 8, 256, 64, True), attention(2, 12, 1024, 64, False),
    *[attention(*shape, backward) for backward in (False, True)
      for shape in ((8, 8, 256, 32, True), (16, 4, 24, 32, False), (16, 4, 77, 32, False),
                    (16, 4, 200, 32, False), (2, 12, 1024, 64, True))],
    attention(4, 8, 512, 64, False, queries=1), attention(1, 8, 64, 32, False, queries=1),
    pointwise("softmax", (2048, 1024), lambda torch, x: torch.softmax(x, -1)),
    pointwise("layer_norm", (4096, 768), layer_norm),
    pointwise("dropout", (4096, 1024), lambda torch, x: torch.nn.functional.dropout(x, 0.1)),
    embedding(8192, 20_000, 512),
    pointwise("gelu", (4096, 1024), lambda torch, x: torch.nn.functional.gelu(x)),
    pointwise("relu", (4096, 1024), lambda torch, x: x.relu()),
    pointwise("log_softmax", (2048, 512), lambda torch, x: torch.log_softmax(x, -1)),
    pointwise("sum", (4096, 1024), lambda torch, x: x.sum(), 1.0),
    pointwise("sum of columns", (2048, 1024), lambda torch, x: x.sum(0), 1.0),
    pointwise("sum of columns", (8192, 256), lambda torch, x: x.sum(0), 1.0),
    pointwise("sum of rows", (100_000, 10), lambda torch, x: x.sum(1), 1.1),
    pointwise("max of rows", (100_000, 10), lambda torch, x: x.amax(1), 1.1),
    pointwise("sum of middle", (64, 256, 100), lambda torch, x: x.sum(1), 1.0),
    pointwise("sum", (100, 100), lambda torch, x: x.sum(), 1.0),
    pointwise("sum of rows", (100, 100), lambda torch, x: x.sum(1), 1.0),
    pointwise("sum of columns", (100, 100), lambda torch, x: x.sum(0), 1.0),
    pointwise("sum of columns", (512, 256), lambda torch, x: x.sum(0), 1.0),
    pointwise("cummax", (1024, 512), lambda torch, x: torch.cummax(x, 1)[0], 4.0),
    pointwise("sort", (100_000, 10), lambda torch, x: torch.sort(x, 1)[0], 4.0),
    pointwise("cat", (2048, 256), lambda torch, x: torch.cat([x, x, x], 1), 4.0),
    pointwise("heads", (16, 128, 4, 32), lambda torch, x: x.transpose(1, 2).contiguous()),
    gradient("gelu", (2048, 1024), lambda torch, x: torch.nn.functional.gelu(x)),
    gradient("gelu", (2048, 1024), lambda torch, x: torch.nn.functional.gelu(x), True),
    gradient("softmax", (2048, 1024), lambda torch, x: torch.softmax(x, -1)),
    gradient("layer_norm", (4096, 768), layer_norm), gradient("layer_norm", (2048, 256), layer_norm),
    gradient("relu", (1760, 256), lambda torch, x: x.relu(), True),
    pointwise("transpose", (2048, 2048), lambda torch, x: x.t().contiguous()),
    adamw(50, 100_000), adamw(200, 1000),
]
