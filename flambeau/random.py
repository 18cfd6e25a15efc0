"""``torch.random``: the default generator and its seeds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .tensor import Tensor
from .tensor.generator import Generator, default_generator


def manual_seed(seed: int) -> Generator:
    """Start the default stream anew: the same seed gives PyTorch's numbers.

    >>> import flambeau as torch
    >>> _ = torch.manual_seed(0); torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Start the default stream anew from a seed of the system's; returns it.

    >>> import flambeau as torch
    >>> torch.seed() == torch.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed from which the default stream started.

    >>> import flambeau as torch
    >>> _ = torch.manual_seed(7)
    >>> torch.initial_seed()
    7
    """
    return default_generator.initial_seed()


def thread_safe_generator() -> Generator | None:
    """The generator of a data loader's worker thread; None elsewhere: flambeau's workers are processes.

    >>> import flambeau as torch
    >>> torch.randint(0, 1, (2,), generator=torch.random.thread_safe_generator())
    tensor([0, 0])
    """
    return None


def get_rng_state() -> Tensor:
    """The state of the default stream as bytes.

    >>> import flambeau as torch
    >>> torch.get_rng_state().shape
    torch.Size([5056])
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Continue the default stream from a state.

    >>> import flambeau as torch
    >>> state = torch.get_rng_state()
    >>> first = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(first, torch.rand(2))
    True
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, _caller: str = "fork_rng",
             _devices_kw: str = "devices", device_type: str = "cuda") -> Iterator[None]:
    """Let the default stream continue afterwards as if nothing had been drawn inside.

    >>> import flambeau as torch
    >>> state = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     x = torch.rand(3)
    >>> torch.equal(torch.get_rng_state(), state)
    True
    """
    before = default_generator.get_state() if enabled else None
    try:
        yield
    finally:
        if before is not None:
            default_generator.set_state(before)
