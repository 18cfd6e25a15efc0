"""A training loop that reports its memory; a script for a process of its own."""

import gc
import json
import sys

import torch


def resident() -> int:
    """Return the process's resident bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def main() -> None:
    """Train ``sys.argv[1]`` steps, with the collector ``on`` or ``off``; print objects and bytes."""
    steps, collector, looking = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(32, 16), torch.randint(0, 4, (32,))
    total = torch.zeros(())
    objects, sizes = [], []
    gc.collect()
    if collector == "off":
        gc.disable()
    for step in range(steps + 1):
        if step % (steps // 8) == 0:
            if collector == "on":
                gc.collect()
            objects.append(len(gc.get_objects()))
            sizes.append(resident())
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if looking == "item":
            loss.item()
        else:
            total += loss.detach()
    print(json.dumps({"objects": objects, "bytes": sizes, "total": float(total), "loss": loss.item()}))


if __name__ == "__main__":
    main()
