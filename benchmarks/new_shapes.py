"""Count the modules of kernels that a Transformer compiles when every step brings another sequence length.

    python benchmarks/new_shapes.py [--lengths 200]

Kernels take extents and strides as arguments: after the first few steps the number should be 0. What earlier
processes left on disk is not counted: FLAMBEAU_CACHE_DIR names an empty folder for a cold start.
"""

from __future__ import annotations

import argparse
import random

import flambeau as torch
from flambeau import nn
from flambeau.executors.native.llvm.compiling import code
from flambeau.nn import functional as F

SETTLED = 5     # steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, default=200)
    count = parser.parse_args().lengths
    torch.manual_seed(0)
    random.seed(0)
    embed = nn.Embedding(1000, 128)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 256, batch_first=True), 2)
    head = nn.Linear(128, 2)
    optimizer = torch.optim.AdamW([*embed.parameters(), *encoder.parameters(), *head.parameters()], lr=1e-3)
    settled = 0
    for step, length in enumerate(random.sample(range(2, 2 + 2 * count), count)):
        optimizer.zero_grad()
        x, y = torch.randint(0, 1000, (8, length)), torch.randint(0, 2, (8,))
        F.cross_entropy(head(encoder(embed(x)).mean(1)), y).backward()
        optimizer.step()
        if step + 1 == SETTLED:
            settled = code.compiled
    after = code.compiled - settled
    print(f"{settled} modules of kernels compiled in the first {SETTLED} steps, {after} in the "
          f"{count - SETTLED} steps after, each of another length")


if __name__ == "__main__":
    main()
