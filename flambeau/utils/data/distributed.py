"""DistributedSampler: every process of a group draws its own part of the data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ... import operators as ops
from ...tensor.generator import Generator
from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[Any]):
    """The share of process `rank` among `num_replicas`: every num_replicas-th sample of a common order.

    So that all shares are equally long, indices are repeated, or with `drop_last` the last ones left out.
    Call :meth:`set_epoch` before each epoch, or the order is always the same.

    >>> import flambeau as torch
    >>> sampler = torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False)
    >>> list(sampler)
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise RuntimeError("Requires distributed package to be available")
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        if drop_last and count % num_replicas != 0:
            self.num_samples = math.ceil((count - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[Any]:
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = ops.randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        if self.drop_last:
            indices = indices[: self.total_size]
        else:
            missing = self.total_size - len(indices)
            indices += (indices * math.ceil(missing / max(len(indices), 1)))[:missing]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch: it depends on the seed and this number.

        >>> import flambeau as torch
        >>> sampler = torch.utils.data.DistributedSampler(range(100), num_replicas=2, rank=0)
        >>> first = list(sampler)
        >>> sampler.set_epoch(1); list(sampler) == first
        False
        """
        self.epoch = epoch
