"""Python's operators on tensors."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor, record
from . import arithmetic, matmul

T: Any = Tensor

T.__add__ = T.__radd__ = arithmetic.add
T.__sub__ = arithmetic.sub
T.__rsub__ = lambda self, other: record(arithmetic.SUB, (other, self))
T.__mul__ = T.__rmul__ = arithmetic.mul
T.__neg__ = arithmetic.neg
T.__truediv__ = arithmetic._true_divide
T.__rtruediv__ = lambda self, other: record(arithmetic.TRUE_DIVIDE, (other, self))
T.__matmul__ = lambda self, other: matmul.matmul(self, other) if isinstance(other, Tensor) else NotImplemented
