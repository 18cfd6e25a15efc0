"""A program of its own (see test_neon.py): kernels of every kind, made for NEON's registers.

Their LLVM code has no instructions of one processor, so this machine runs it too, and its results must be the
interpreter's. Then LLVM makes code for AArch64 from all of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from flambeau.executors.native.llvm.compiling import machine as facts

HOST = facts.machine()
facts.machine = lambda: facts.Machine("neon", "", 16, 32, 1 << 20, "as if")  # type: ignore[assignment]

import llvmlite.binding as llvm  # noqa: E402

import flambeau as torch  # noqa: E402
import flambeau.nn.functional as F  # noqa: E402
from flambeau import nn  # noqa: E402
from flambeau.config import executor  # noqa: E402
from flambeau.executors.native.llvm.compiling import builders  # noqa: E402
from flambeau.executors.native.llvm.compiling.compiler import object_of  # noqa: E402
from flambeau.executors.native.llvm.compiling.effort import Effort  # noqa: E402

YIELD = 'call void asm sideeffect "yield", ""()'
texts: list[tuple[str, str]] = []


class Job(builders.Job):
    """A module that is compiled for this machine, and kept for the other one."""

    def compile(self) -> None:
        texts.append((self.title, self.text))
        text = self.text.replace(YIELD, "")
        self.content = object_of(text, HOST.name, HOST.features, self.title, Effort.FEW)


builders.submit = lambda text, title, effort: Job(text, title, effort)  # type: ignore[assignment]
builders._settle = lambda: None


def train(module: Any, *shape: int) -> Any:
    """The output, the gradients and the parameters after a step."""
    x = torch.randn(*shape, requires_grad=True)
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.1)
    y = module(x)
    y = y[0] if isinstance(y, tuple) else y
    (y * y).sum().backward()
    nn.utils.clip_grad_norm_(module.parameters(), 1.0)
    gradients = [x.grad, *[p.grad.clone() for p in module.parameters()]]
    optimizer.step()
    return [y, *gradients, *module.parameters()]


def softmax() -> Any:
    logits = torch.randn(40, 30, requires_grad=True)
    loss = F.cross_entropy(F.layer_norm(logits, (30,)), torch.arange(40) % 30)
    loss.backward()
    return [loss, logits.grad]


def attention() -> Any:
    q, k, v = (torch.randn(2, 4, 33, 32, requires_grad=True) for _ in range(3))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    y.sum().backward()
    return [y, q.grad, k.grad, v.grad]


def table() -> Any:
    weight = torch.randn(50, 16, requires_grad=True)
    y = torch.cat([F.embedding(torch.arange(30), weight), weight[:30]], 1)
    y.gather(1, (torch.arange(60) % 32).view(30, 2)).sum().backward()
    return [y, weight.grad]


def rows() -> Any:
    x = torch.randn(100, 10)
    return [*x.sort(), x.argmax(1), x.cumsum(1), x.sum(0), *x.topk(3)]


def images() -> Any:
    x = torch.randn(2, 4, 9, 9, requires_grad=True)
    y = F.avg_pool2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), 2)
    y = F.interpolate(y, scale_factor=2, mode="bilinear")
    y.sum().backward()
    return [y, x.grad]


PROGRAMS: dict[str, Callable[[], Any]] = {
    "functions": lambda: [(torch.randn(50, 60).exp() * torch.randn(60).tanh()).sigmoid().erf().log1p().sin()],
    "random numbers": lambda: [torch.randn(1000), torch.rand(1000), F.dropout(torch.ones(100, 50), 0.3)],
    "products": lambda: [torch.randn(100, 90) @ torch.randn(90, 80), torch.randn(3, 90) @ torch.randn(90, 80),
                         (torch.randn(40, 30).double() @ torch.randn(30, 20).double()).exp(),
                         torch.randn(40, 30).bfloat16() @ torch.randn(30, 20).bfloat16()],
    "softmax": softmax, "attention": attention, "table": table, "rows": rows, "images": images,
    "convolutions": lambda: train(nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 1), nn.Conv2d(32, 32, 3, groups=32), nn.ConvTranspose2d(32, 8, 4, 2, 1)),
        2, 3, 16, 16),
    "LSTM": lambda: train(nn.LSTM(16, 32, batch_first=True), 4, 9, 16),
    "GRU": lambda: train(nn.GRU(16, 32), 9, 4, 16),
}


def results(tier: str, program: Callable[[], Any]) -> Any:
    torch.manual_seed(0)
    with executor(tier):
        return [x.detach().double().numpy() for x in program()]


def main() -> None:
    import numpy as np

    for name, program in PROGRAMS.items():
        for one, other in zip(results("native", program), results("interpreter", program), strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3, err_msg=name)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine(opt=0)
    fused = 0
    for title, text in texts:
        print(title, flush=True)    # LLVM ends the process where it does not know what to do
        module = llvm.parse_assembly(text.replace(YIELD, ""))
        module.verify()
        fused += target.emit_assembly(module).count("fmla")
    assert fused > 100, "products of vectors are added in one instruction"
    print(len(texts), "modules")


if __name__ == "__main__":
    sys.exit(main())
