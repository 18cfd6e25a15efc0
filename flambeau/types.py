"""``torch.types``: names for annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from . import devices, dtypes
from .size import Size
from .tensor import Tensor

Number: TypeAlias = int | float | bool
Device: TypeAlias = devices.device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | Any
Storage: TypeAlias = Any
_dtype = dtypes.dtype
_device = devices.device
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_int, _float, _bool = int, float, bool
