"""Samplers: the order in which samples are drawn."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from ... import operators as ops
from ...dtypes import float64, int64
from ...tensor import Tensor
from ...tensor.generator import Generator

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)


def draw_seed(generator: Any = None) -> int:
    """A seed for another generator: one draw, as PyTorch makes it."""
    if generator is not None and not isinstance(generator, Generator):
        kind = type(generator).__name__
        raise TypeError(
            f"random_() received an invalid combination of arguments - got (generator={kind}, ), but "
            "expected one of:\n * (*, torch.Generator generator = None)\n * (int from, int to, *, "
            "torch.Generator generator = None)\n * (int to, *, torch.Generator generator = None)\n"
        )
    return int(ops.empty(1, dtype=int64).random_(generator=generator).item())


def _check_count(num_samples: Any) -> None:
    if not isinstance(num_samples, int) or num_samples <= 0:
        raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")


class Sampler(Generic[T_co]):
    """Base class of the samplers: a subclass implements ``__iter__``, and ``__len__`` if it has a length.

    >>> import flambeau as torch
    >>> class Backwards(torch.utils.data.Sampler):
    ...     def __init__(self, data):
    ...         self.data = data
    ...     def __iter__(self):
    ...         return iter(range(len(self.data) - 1, -1, -1))
    >>> list(torch.utils.data.DataLoader("abc", sampler=Backwards("abc")))
    [['c'], ['b'], ['a']]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError

    # No __len__ that raises: len() of a sampler without one has to be the TypeError of Python.


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ...

    >>> import flambeau as torch
    >>> list(torch.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


_BLOCK = 1 << 13    # indices drawn at once


class RandomSampler(Sampler[int]):
    """Indices in random order; with `replacement`, drawn independently of one another.

    Without a `generator`, each epoch has a generator of its own whose seed is drawn from the default one.
    More samples than there are (`num_samples`) are drawn permutation by permutation.

    >>> import flambeau as torch
    >>> sampler = torch.utils.data.RandomSampler("abc", generator=torch.Generator().manual_seed(0))
    >>> sorted(sampler)
    [0, 1, 2]
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        _check_count(self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many are drawn; the size of the data source, which may change, if not given.

        >>> import flambeau as torch
        >>> torch.utils.data.RandomSampler(range(4)).num_samples
        4
        """
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, given = len(self.data_source), self.generator
        generator = Generator().manual_seed(draw_seed()) if given is None else given
        if self.replacement:
            # Others may draw from a given generator between two blocks, of PyTorch's size.
            size = _BLOCK if given is None else 32
            blocks, rest = divmod(self.num_samples, size)
            for count in [*[size] * blocks, rest]:
                yield from ops.randint(high=n, size=(count,), dtype=int64, generator=generator).tolist()
        else:
            rounds, rest = divmod(self.num_samples, n)
            for _ in range(rounds):
                yield from ops.randperm(n, generator=generator).tolist()
            if rest or given is not None:   # drawn even if nothing of it is used: the state is PyTorch's
                yield from ops.randperm(n, generator=generator)[:rest].tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order.

    >>> import flambeau as torch
    >>> sorted(torch.utils.data.SubsetRandomSampler([5, 3, 9]))
    [3, 5, 9]
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in ops.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with probabilities proportional to weights, which need not sum to one.

    >>> import flambeau as torch
    >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0, 0.0], 3))
    [1, 1, 1]
    """

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if isinstance(num_samples, bool):
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        _check_count(num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        tensor = ops.as_tensor(weights, dtype=float64)
        if tensor.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(tensor.shape)}"
            )
        self.weights = tensor
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = ops.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[Any]]):
    """What another sampler yields, in lists of `batch_size`; the last may be smaller, unless `drop_last`.

    >>> import flambeau as torch
    >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[Any] | Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
