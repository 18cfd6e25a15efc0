"""Learning rate schedules."""

from __future__ import annotations

from .composed import ChainedScheduler, SequentialLR
from .cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from .cyclic import CyclicLR
from .factors import ExponentialLR, LambdaLR, MultiplicativeLR, MultiStepLR, StepLR
from .one_cycle import OneCycleLR
from .plateau import ReduceLROnPlateau
from .ramps import ConstantLR, LinearLR, PolynomialLR
from .scheduler import EPOCH_DEPRECATION_WARNING, LRScheduler

_LRScheduler = LRScheduler  # the name it had before PyTorch 2.0, still widely used

__all__ = [
    "EPOCH_DEPRECATION_WARNING",
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
