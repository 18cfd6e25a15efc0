"""``torch.ao.quantization``: the marks in a model that is to be quantized, and bases of what replaces them.

Quantizing itself is not there yet.
"""

from .bases import FakeQuantizeBase, ObserverBase
from .stubs import DeQuantStub, QuantStub

__all__ = ["DeQuantStub", "FakeQuantizeBase", "ObserverBase", "QuantStub"]
