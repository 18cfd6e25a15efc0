"""A chain of many operators, forward and backward, reporting its memory; a script of its own."""

import gc
import json
import sys
import weakref

import torch


def chain(length: int) -> tuple[float, float]:
    """Apply ``length`` operators one after the other; return the result's and the gradient's value."""
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(length // 2):
        y = (y * 1.0001) - 0.0001
    y.sum().backward()
    return y[0].item(), x.grad[0].item()


def dropped(length: int) -> None:
    """Record a chain and its graph, and let both go without a look."""
    y = torch.ones(2, requires_grad=True)
    for _ in range(length):
        y = y + 1
    del y


def main() -> None:
    """Run both chains again and again with ``sys.argv[1]`` operators; print what is left of them."""
    length = int(sys.argv[1])
    first = chain(length)
    for _ in range(2):      # graphs that come again are remembered, up to a limit: nothing is new afterwards
        chain(length)
        dropped(length)
    gc.collect()
    before = len(gc.get_objects())
    second = chain(length)
    dropped(length)
    gone = torch.ones(3, requires_grad=True)
    watch = weakref.ref(gone)
    (gone * 2).sum().backward()
    del gone
    left = watch() is not None
    gc.collect()
    print(
        json.dumps(
            {"first": first, "second": second, "grown": len(gc.get_objects()) - before, "leaked": left}
        )
    )


if __name__ == "__main__":
    main()
