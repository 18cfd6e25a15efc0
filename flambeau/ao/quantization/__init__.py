"""``torch.ao.quantization``: the places that a model marks for quantization. Quantizing is not there yet."""

from .stubs import DeQuantStub, QuantStub

__all__ = ["DeQuantStub", "QuantStub"]
