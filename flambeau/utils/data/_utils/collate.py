"""Collating: a list of samples becomes a batch."""

from __future__ import annotations

import collections.abc
import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .... import operators as ops
from ....dtypes import float64
from ....layouts import strided
from ....tensor import Tensor
from ....tensor.samples.stacking import stack_arrays, stack_numbers, stack_tensors

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

CollateMap = dict[type | tuple[type, ...], Callable[..., Any]]
_ERROR = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"

# Kinds of NumPy arrays that are not made into tensors: strings and objects.
np_str_obj_array_pattern = re.compile(r"[SaUO]")


def default_convert(data: Any) -> Any:
    """NumPy arrays in `data` as tensors, whatever containers they are in; the rest as it is.

    >>> import numpy as np
    >>> import flambeau as torch
    >>> torch.utils.data.default_convert({"x": np.ones(2), "y": "text"})
    {'x': tensor([1., 1.], dtype=torch.float64), 'y': 'text'}
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray | np.generic):
        if (isinstance(data, np.ndarray) and data.dtype.kind in "SUO") or isinstance(data, str):
            return data
        return ops.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _rebuilt_mapping(data, {key: default_convert(data[key]) for key in data})
    if _is_named_tuple(data):
        return type(data)(*(default_convert(item) for item in data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, str | bytes):
        return _rebuilt_sequence(data, [default_convert(item) for item in data])
    return data


def _is_named_tuple(data: Any) -> bool:
    return isinstance(data, tuple) and hasattr(data, "_fields")


def _rebuilt_mapping(like: Any, items: dict[Any, Any]) -> Any:
    """A mapping of the class of `like`; a dict if the class cannot be made from one."""
    try:
        if isinstance(like, collections.abc.MutableMapping):
            # A copy keeps what the class knows beside its items (the factory of a defaultdict).
            clone = copy.copy(like)
            clone.update(items)
            return clone
        return type(like)(items)
    except TypeError:
        return items


def _rebuilt_sequence(like: Any, items: list[Any]) -> Any:
    """A sequence of the class of `like`; a list if the class cannot be made from one."""
    try:
        if isinstance(like, collections.abc.MutableSequence):
            clone = copy.copy(like)
            for position, item in enumerate(items):
                clone[position] = item
            return clone
        return items if isinstance(like, range) else type(like)(items)
    except TypeError:
        return items


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Collate with a function for each type of element, recursively through mappings and sequences.

    >>> import flambeau as torch
    >>> from flambeau.utils.data._utils.collate import collate, default_collate_fn_map
    >>> collate([{"a": 1}, {"a": 2}], collate_fn_map=default_collate_fn_map)
    {'a': tensor([1, 2])}
    """
    element = batch[0]
    kind = type(element)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known, function in collate_fn_map.items():
            if isinstance(element, known):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(element, collections.abc.Mapping):
        items = {
            key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in element
        }
        return _rebuilt_mapping(element, items)
    if _is_named_tuple(element):
        return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)))
    if isinstance(element, collections.abc.Sequence):
        try:
            columns = list(zip(*batch, strict=True))
        except (TypeError, ValueError):
            if any(len(sample) != len(element) for sample in batch):
                raise RuntimeError("each element in list of batch should be of equal size") from None
            raise
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in columns]
        return columns if isinstance(element, tuple) else _rebuilt_sequence(element, columns)
    raise TypeError(_ERROR.format(kind))


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Tensors, stacked."""
    if isinstance(batch, Tensor):
        return ops.stack(batch, 0)  # which is told so
    at_once = stack_tensors(batch)
    if at_once is not None:
        return at_once
    if any(sample.layout is not strided for sample in batch if isinstance(sample, Tensor)):
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn; please provide "
            "a custom collate_fn to handle them appropriately."
        )
    return ops.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Arrays of numbers, as stacked tensors."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(_ERROR.format(batch[0].dtype))
    if all(array.__class__ is np.ndarray and min(array.strides, default=0) >= 0 for array in batch):
        at_once = stack_arrays(batch)
        if at_once is not None:
            return at_once
    return collate([ops.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """NumPy's numbers as a tensor of their type."""
    return ops.as_tensor(np.asarray(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Python's floats as a tensor of float64."""
    at_once = stack_numbers(batch, float)
    if at_once is not None:
        return at_once
    return ops.tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Integers as a tensor."""
    at_once = stack_numbers(batch, int)
    if at_once is not None:
        return at_once
    return ops.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Texts stay a list."""
    return batch


default_collate_fn_map: CollateMap = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """A batch of a list of samples: arrays are stacked, numbers become tensors, containers are kept.

    >>> import flambeau as torch
    >>> torch.utils.data.default_collate([{"x": 1.0, "y": (1, "a")}, {"x": 2.0, "y": (2, "b")}])
    {'x': tensor([1., 2.], dtype=torch.float64), 'y': [tensor([1, 2]), ('a', 'b')]}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
