"""Stands in for torchvision, which timm imports and whose compiled part needs PyTorch's.

timm's models use FrozenBatchNorm2d in ``isinstance`` only; its data pipelines, which these tests do not run,
use the rest.
"""

__version__ = "0.0"
