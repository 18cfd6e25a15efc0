"""How close to what the machine can do the native kernels come, and to PyTorch's.

    python benchmarks/roofline.py [--oracle PYTHON] [--only REGEX] [--processor] [--json FILE]

The peak of arithmetic is measured with a loop of fused multiply-adds on registers, that of memory by copying
64 MiB, both on all threads. Each row is one operator on tensors that exist already, called through the public
API so many times that recording is a small part; the least time over the rounds counts: noise only ever adds.
``--oracle`` names an interpreter with PyTorch, which computes the same rows in a process of its own, in turn.
A row's bytes are those that its operands and results have: what a perfect kernel moves. ``--processor``: one
thread each, and the processor time that it uses, which other programs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import itertools
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 0.4       # for a row, at most, in one process and round
LEAST = 1e-3        # seconds of work between two looks
ROUNDS = 2
POOL = 128 << 20    # bytes of operands of a kernel that memory binds


class Row(NamedTuple):
    """An operator on operands: ``make(torch)`` gives a function of no arguments.

    ``most``: how many calls may lie between two looks; calls on the same operand would become one kernel.
    """

    name: str
    make: Callable[[Any], Callable[[], Any]]
    flops: float = 0.0
    traffic: float = 0.0
    most: int = 64


# --- what is measured ---------------------------------------------------------------------------------------


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
                wanted: str = "") -> Row:
    """A convolution, or its gradient with respect to the ``input`` or the ``weight``."""
    out = (size + 2 * (kernel // 2) - kernel) // stride + 1

    def make(torch: Any) -> Callable[[], Any]:
        x = torch.randn(count, channels, size, size, requires_grad=wanted == "input")
        w = torch.randn(filters, channels, kernel, kernel, requires_grad=wanted == "weight")
        apply = torch.nn.functional.conv2d
        if not wanted:
            return lambda: apply(x, w, stride=stride, padding=kernel // 2)
        y = apply(x, w, stride=stride, padding=kernel // 2)
        grad = torch.randn(*y.shape)
        of = x if wanted == "input" else w
        return lambda: torch.autograd.grad(y, of, grad, retain_graph=True)

    name = f"conv {count}x{channels}x{size} k{kernel} s{stride} to {filters} {wanted}".strip()
    taps = channels * kernel * kernel
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

    return Row(f"{name} {'x'.join(map(str, shape))}", make, 0.0, 4.0 * passes * prod(shape), count)


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
               4.0 * passes * prod(shape), count)


def adamw(parameters: int, size: int) -> Row:
    """A step of AdamW, which reads four tensors and writes three."""
    def make(torch: Any) -> Callable[[], Any]:
        found = [torch.nn.Parameter(torch.randn(size)) for _ in range(parameters)]
        for p in found:
            p.grad = torch.randn(size)
        return torch.optim.AdamW(found).step  # type: ignore[no-any-return]

    return Row(f"adamw {parameters} of {size}", make, 0.0, 28.0 * parameters * size)


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
    attention(8, 8, 256, 64, True), attention(2, 12, 1024, 64, False), attention(2, 12, 1024, 64, True),
    *[attention(*shape, backward) for backward in (False, True)
      for shape in ((8, 8, 256, 32, True), (16, 4, 24, 32, False), (16, 4, 77, 32, False),
                    (16, 4, 200, 32, False), (2, 12, 1024, 64, True))],
    attention(4, 8, 512, 64, False, queries=1), attention(1, 8, 64, 32, False, queries=1),
    pointwise("softmax", (2048, 1024), lambda torch, x: torch.softmax(x, -1)),
    pointwise("layer_norm", (4096, 768), layer_norm),
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
    pointwise("cat", (2048, 256), lambda torch, x: torch.cat([x, x, x], 1), 6.0),
    pointwise("heads", (16, 128, 4, 32), lambda torch, x: x.transpose(1, 2).contiguous()),
    gradient("gelu", (2048, 1024), lambda torch, x: torch.nn.functional.gelu(x)),
    gradient("gelu", (2048, 1024), lambda torch, x: torch.nn.functional.gelu(x), True),
    gradient("layer_norm", (2048, 256), layer_norm),
    gradient("relu", (1760, 256), lambda torch, x: x.relu(), True),
    pointwise("transpose", (2048, 2048), lambda torch, x: x.t().contiguous()),
    adamw(50, 100_000), adamw(200, 1000),
]


# --- one process --------------------------------------------------------------------------------------------


def measure(torch: Any, row: Row, clock: Callable[[], float]) -> float:
    """Seconds of one call."""
    torch.manual_seed(0)
    call = row.make(torch)
    look = getattr(torch, "synchronize", lambda: None)

    def run(times: int) -> float:
        start = clock()
        results = [call() for _ in range(times)]
        look()
        elapsed = clock() - start
        del results
        return elapsed

    run(1)
    run(1)
    times = max(1, min(row.most, int(LEAST / run(1))))
    for _ in range(8):      # what comes back often is compiled
        run(times)
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        best = min(best, run(times))
    return best / times


def serve(framework: str, clock: Callable[[], float]) -> None:
    """Answer the names of rows with seconds, until there are none."""
    torch = importlib.import_module(framework)
    rows = {row.name: row for row in ROWS}
    for line in sys.stdin:
        try:
            print(measure(torch, rows[line.strip()], clock), flush=True)
        except Exception as error:  # the other rows can still be measured
            print(f"nan {type(error).__name__}: {error}", file=sys.stderr)
            print("nan", flush=True)


class Process:
    """A framework in a process of its own."""

    def __init__(self, python: str, framework: str, processor: bool) -> None:
        environment = {**os.environ, "FLAMBEAU_TIER": "native", "PYTHONPATH": str(ROOT)}
        command = [python, str(Path(__file__).resolve()), "--serve", framework]
        if processor:
            command.append("--processor")
            environment["OMP_NUM_THREADS"] = "1"
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                         env=environment, cwd=ROOT if framework == "flambeau" else "/")

    def seconds(self, name: str) -> float:
        """The time of a row."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline() or "nan")


# --- what the machine can do --------------------------------------------------------------------------------


def peaks(processor: bool) -> tuple[float, float]:
    """Floating operations and bytes per second, on all threads or one."""
    sys.path.insert(0, str(ROOT))
    from flambeau.executors.native.llvm.code import kernel

    text, count = _multiply_adds()
    address = kernel("peak")(lambda: text)()
    native = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 2)(address)
    steps = 1 << 17
    words = (ctypes.c_float * 2)()
    sums = [(ctypes.c_float * 1024)() for _ in range(1 if processor else _threads())]
    best = _alone if processor else _at_once
    arithmetic = best(lambda i: native(0, steps, ctypes.addressof(words), ctypes.addressof(sums[i])))
    size = 64 << 20
    blocks = [(ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)) for _ in sums]
    part = size // len(sums)
    moved = best(lambda i: ctypes.memmove(blocks[i][0], blocks[i][1], part))
    return count * steps * len(sums) / arithmetic, 2 * part * len(sums) / moved


def _threads() -> int:
    import flambeau

    return flambeau.get_num_threads()  # type: ignore[no-any-return]


def _multiply_adds() -> tuple[str, float]:
    """A loop that keeps the multiply-add units busy; how many operations a step does."""
    from flambeau.executors.native.llvm.build import Module
    from flambeau.executors.native.products.microkernel import tile_of

    tile = tile_of()
    count = tile.rows * tile.vectors
    module = Module()
    with module.kernel("peak") as f:
        factor = f.splat(f.word(0, "float"), tile.lanes)
        places = [f.at(f.scratch, i * tile.lanes) for i in range(count)]  # else equal sums would be one
        acc = [f.variable(tile.vector, f.read(tile.vector, place)) for place in places]
        with f.loop(f.begin, f.end):
            for x in acc:
                x.set(f.fma(tile.vector, factor, factor, x.get()))
        for place, x in zip(places, acc):
            f.write(tile.vector, x.get(), place)
    return module.text(), 2.0 * count * tile.lanes


def _at_once(work: Callable[[int], Any]) -> float:
    """Seconds of the fastest of several rounds of a thread for each core."""
    best, count = float("inf"), _threads()
    for _ in range(20):
        threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        best = min(best, time.perf_counter() - start)
    return best


def _alone(work: Callable[[int], Any]) -> float:
    """Seconds of processor time of the fastest of several rounds."""
    best = float("inf")
    for _ in range(20):
        start = time.thread_time()
        work(0)
        best = min(best, time.thread_time() - start)
    return best


# --- report -------------------------------------------------------------------------------------------------


def report(rows: list[Row], oracle: str | None, processor: bool) -> list[dict[str, Any]]:
    """Measure and print."""
    arithmetic, copying = peaks(processor)
    threads = 1 if processor else _threads()
    print(f"peak {arithmetic / 1e9:.0f} GFLOP/s, copying {copying / 1e9:.1f} GB/s, {threads} threads\n")
    print(f"{'':44}{'us':>10}{'GFLOP/s':>9}{'peak':>6}{'GB/s':>7}{'copy':>6}{'PyTorch us':>12}{'ratio':>7}")
    own = Process(sys.executable, "flambeau", processor)
    other = Process(oracle, "torch", processor) if oracle else None
    found = []
    for row in rows:
        seconds, reference = float("inf"), float("inf")
        for _ in range(ROUNDS if other else 1):
            seconds = min(seconds, own.seconds(row.name))
            if other is not None:
                reference = min(reference, other.seconds(row.name))
        found.append({"name": row.name, "seconds": seconds, "pytorch": reference, "flops": row.flops,
                      "bytes": row.traffic, "peak": arithmetic, "copy": copying})
        print(_line(row, seconds, reference if other else None, arithmetic, copying), flush=True)
    return found


def _line(row: Row, seconds: float, reference: float | None, arithmetic: float, copying: float) -> str:
    flops, traffic = row.flops / seconds, row.traffic / seconds
    text = f"{row.name:44}{seconds * 1e6:10.1f}"
    text += f"{flops / 1e9:9.1f}{flops / arithmetic:6.0%}" if row.flops else " " * 15
    text += f"{traffic / 1e9:7.1f}{traffic / copying:6.0%}"
    return text if reference is None else text + f"{reference * 1e6:12.1f}{reference / seconds:7.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", help="an interpreter with PyTorch")
    parser.add_argument("--only", default="", help="a regular expression of the rows' names")
    parser.add_argument("--processor", action="store_true", help="processor time of one thread")
    parser.add_argument("--json", help="also write the figures here")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, time.process_time if options.processor else time.perf_counter)
        return
    found = report([row for row in ROWS if re.search(options.only, row.name)], options.oracle,
                   options.processor)
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
