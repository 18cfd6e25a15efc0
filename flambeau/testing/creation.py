"""``make_tensor``: a random tensor of any dtype."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..operators import NAMESPACES
from ..size import Size
from ..tensor import Tensor
from ..type_info import finfo

_WIDE = {dtypes.uint8: (0, 10), dtypes.bool_: (0, 2)}


def make_tensor(
    *shape: Any, dtype: dtypes.dtype, device: Any, low: float | None = None, high: float | None = None,
    requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor with values drawn uniformly from [low, high), by default [-9, 9) or [-9, 10) for integers.

    Unsigned integers default to [0, 10), booleans to both values. ``exclude_zero`` replaces zeros by the
    smallest positive value (1 for integers). ``noncontiguous`` spreads the values over memory.

    >>> import flambeau as torch
    >>> torch.testing.make_tensor(2, 3, dtype=torch.float32, device="cpu").shape
    torch.Size([2, 3])
    """
    create = NAMESPACES["torch"]
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
                         f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}")
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError("`requires_grad=True` is only supported for complex and floating dtypes, "
                         f"but got dtype={dtype!r}")
    sizes = Size(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    room = sizes[:-1] + Size((sizes[-1] * 2,)) if noncontiguous and sizes.numel() > 1 else sizes
    made = _drawn(create, room, dtype, device, low, high)
    if room != sizes:
        made = made[..., 1::2]
    if memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        one = finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
        made[made == 0] = one
    return made.requires_grad_() if requires_grad else made


def _drawn(create: Any, sizes: Size, dtype: dtypes.dtype, device: Any, low: Any, high: Any) -> Tensor:
    if dtype.is_complex:
        kind = dtypes.float64 if dtype is dtypes.complex128 else dtypes.float32
        parts = _drawn(create, Size((*sizes, 2)), kind, device, low, high)
        whole: Tensor = create["view_as_complex"](parts).to(dtype)
        return whole
    if dtype.is_floating_point:
        start, stop = -9.0 if low is None else low, 9.0 if high is None else high
        drawn: Tensor = create["empty"](sizes, dtype=dtype, device=device).uniform_(start, stop)
        return drawn
    first, last = _WIDE.get(dtype, (-9, 10))
    start = first if low is None else max(math.ceil(low), 0) if first == 0 else math.ceil(low)
    stop = last if high is None else math.ceil(high)
    integers: Tensor = create["randint"](start, stop, sizes, device=device)
    return integers.to(dtype)
