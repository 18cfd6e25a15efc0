"""Train for thousands of steps with shapes that change at random; report what grows.

    python benchmarks/soak.py [--steps 10000] [--longest 250]

Prints resident memory, open files, threads and compiled kernels along the way. Fails (exit code 1) if, after
half of the steps, memory grows by more than a tenth, or files or threads grow at all. Memory grows at first:
what is found out about a shape is kept, up to a limit, which the 2988 shapes of the default go beyond.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import threading
import time

import flambeau as torch
from flambeau import nn
from flambeau.nn import functional as F


def resident() -> float:
    """MiB of memory that this process holds."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def compiled() -> int:
    """How many modules were compiled so far, those found on disk not counted."""
    from flambeau.executors.native.llvm.compiling import code

    return code.compiled


def counts() -> dict[str, float]:
    return {"MiB": resident(), "files": len(os.listdir("/proc/self/fd")), "threads": threading.active_count(),
            "compiled": compiled()}


class Model(nn.Module):
    """A convolution, attention, a recurrent layer and a normalization, for any batch and length."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(4, 16, 3, padding=1)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.norm = nn.LayerNorm(16)
        self.recurrent = nn.GRU(16, 12, batch_first=True)
        self.head = nn.Linear(12, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.gelu(self.convolution(x)).transpose(1, 2)
        x = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
        return self.head(F.dropout(self.recurrent(x)[0].mean(1), 0.1, self.training))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--longest", type=int, default=250, help="of the sequences; batches have 1 to 12")
    arguments = parser.parse_args()
    steps, longest = arguments.steps, arguments.longest
    torch.manual_seed(0)
    random.seed(0)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    began, settled = time.perf_counter(), None
    for step in range(steps):
        batch, length = random.randint(1, 12), random.randint(2, longest)
        x, y = torch.randn(batch, 4, length), torch.randint(0, 5, (batch,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % max(steps // 10, 1) == 0 or step == steps - 1:
            now = counts()
            print(f"step {step:6d} {time.perf_counter() - began:7.1f} s  loss {loss.item():.4f}  "
                  + "  ".join(f"{name} {value:.0f}" for name, value in now.items()), flush=True)
            if step >= steps // 2 and settled is None:
                settled = now
    assert settled is not None
    grown = now["MiB"] > 1.1 * settled["MiB"] or any(now[x] > settled[x] for x in ("files", "threads"))
    print("grown" if grown else "nothing grows")
    return int(grown)


if __name__ == "__main__":
    sys.exit(main())
