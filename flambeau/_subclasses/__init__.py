"""``torch._subclasses``: tensors that PyTorch's tracers compute with. There are none here."""

from .fake_tensor import FakeTensor

__all__ = ["FakeTensor"]
