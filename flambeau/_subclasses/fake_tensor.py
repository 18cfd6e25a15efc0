"""What libraries ask about tensors that a tracer computes with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..tensor import Tensor


class FakeTensor(Tensor):
    """The class of such tensors: for ``isinstance``, nothing here is one."""

    def __new__(cls, *args: Any, **kwargs: Any) -> FakeTensor:
        raise TypeError("flambeau traces nothing: shapes without values have the device 'meta'")


def is_fake(x: object) -> bool:
    """Whether a tensor belongs to a tracer: never."""
    return False


@contextmanager
def unset_fake_temporarily() -> Iterator[None]:
    """A block in which no mode makes such tensors: as everywhere."""
    yield None


__all__ = ["FakeTensor", "is_fake", "unset_fake_temporarily"]
