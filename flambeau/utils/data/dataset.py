"""Datasets: what a DataLoader draws samples from, and how they are combined."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ... import operators as ops
from ...tensor import Tensor
from ...tensor.generator import Generator, default_generator

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Dataset(Generic[T_co]):
    """A map from keys, usually indices, to samples: a subclass implements ``__getitem__`` and ``__len__``.

    ``__getitems__(indices)``, if it is there, fetches a whole batch at once and returns a list of samples.

    >>> import flambeau as torch
    >>> class Squares(torch.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index ** 2
    >>> list(torch.utils.data.DataLoader(Squares(), batch_size=2))
    [tensor([0, 1]), tensor([4, 9])]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])

    # No __len__ that raises: len() of a dataset without one has to be the TypeError of Python.


class IterableDataset(Dataset[T_co], ABC):
    """A stream of samples: a subclass implements ``__iter__``.

    In worker processes each has a copy, which must yield its own share (see :func:`get_worker_info`).

    >>> import flambeau as torch
    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(torch.utils.data.DataLoader(Count(), batch_size=2))
    [tensor([0, 1]), tensor([2])]
    """

    @abstractmethod
    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors of equal first dimension; sample `i` is the tuple of their rows `i`.

    >>> import flambeau as torch
    >>> dataset = torch.utils.data.TensorDataset(torch.arange(3), torch.arange(3) * 10)
    >>> dataset[2]
    (tensor(2), tensor(20))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Datasets of equal length side by side: samples are tuples, or dicts if given by keyword.

    >>> import flambeau as torch
    >>> dataset = torch.utils.data.StackDataset(image=[1, 2], text=["a", "b"])
    >>> dataset[1]
    {'image': 2, 'text': 'b'}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in self._parts()]
        self._length = lengths[0]
        if any(length != self._length for length in lengths):
            raise ValueError("Size mismatch between datasets")

    def _parts(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _sample(self, values: Iterable[Any]) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, values, strict=True))
        return tuple(values)

    def __getitem__(self, index: Any) -> Any:
        return self._sample(dataset[index] for dataset in self._parts())

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        """The samples of several indices; a part with ``__getitems__`` is asked once."""
        columns = []
        for dataset in self._parts():
            if callable(getattr(dataset, "__getitems__", None)):
                items = dataset.__getitems__(indices)
                if len(items) != len(indices):
                    raise ValueError(
                        f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}"
                    )
            else:
                items = [dataset[index] for index in indices]
            columns.append(items)
        return [self._sample(row) for row in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other.

    >>> import flambeau as torch
    >>> dataset = torch.utils.data.ConcatDataset(["ab", "cde"])
    >>> len(dataset), dataset[3], dataset[-1]
    (5, 'd', 'e')
    """

    datasets: list[Dataset[T_co]]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Where each of the datasets ends.

        >>> import flambeau as torch
        >>> torch.utils.data.ConcatDataset.cumsum([[1, 2], [3]])
        [2, 3]
        """
        return list(itertools.accumulate(len(part) for part in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        part = bisect.bisect_right(self.cumulative_sizes, index)
        start = self.cumulative_sizes[part - 1] if part else 0
        return self.datasets[part][index - start]

    @property
    def cummulative_sizes(self) -> list[int]:
        """An old misspelling of `cumulative_sizes`.

        >>> import flambeau as torch
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> torch.utils.data.ConcatDataset([[1, 2], [3]]).cummulative_sizes
        [2, 3]
        """
        warnings.warn(
            "`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other.

    >>> import flambeau as torch
    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(torch.utils.data.ChainDataset([Count(), Count()]))
    [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            yield from self._checked(dataset)

    def __len__(self) -> int:
        return sum(len(self._checked(dataset)) for dataset in self.datasets)

    @staticmethod
    def _checked(dataset: Any) -> Any:
        if not isinstance(dataset, IterableDataset):
            raise AssertionError("ChainDataset only supports IterableDataset")
        return dataset


class Subset(Dataset[T_co]):
    """The samples of a dataset at given indices.

    >>> import flambeau as torch
    >>> subset = torch.utils.data.Subset(["a", "b", "c"], [2, 0])
    >>> subset[0], len(subset)
    ('c', 2)
    """

    dataset: Dataset[T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        """The samples of several indices, at once if the dataset can."""
        wanted = [self.indices[index] for index in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(wanted)  # type: ignore[attr-defined]
        return [self.dataset[index] for index in wanted]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset[Any]]:
    """Split a dataset at random into subsets of given lengths, or of lengths that are fractions of the whole.

    What rounding down the fractions leaves over goes to the first subsets, one sample each.

    >>> import flambeau as torch
    >>> parts = torch.utils.data.random_split(range(10), [0.7, 0.3], torch.Generator().manual_seed(0))
    >>> [len(part) for part in parts]
    [7, 3]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(len(dataset), lengths)
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = ops.randperm(sum(lengths), generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [
        Subset(dataset, order[end - length : end])
        for end, length in zip(ends, lengths, strict=True)
    ]


def _lengths_of_fractions(total: int, fractions: Sequence[float]) -> list[int]:
    lengths = []
    for index, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {index} is not between 0 and 1")
        lengths.append(math.floor(total * fraction))
    for index in range(total - sum(lengths)):
        lengths[index % len(lengths)] += 1
    for index, length in enumerate(lengths):
        if length == 0:
            warnings.warn(
                f"Length of split at index {index} is 0. This might result in an empty dataset.", stacklevel=3
            )
    return lengths
