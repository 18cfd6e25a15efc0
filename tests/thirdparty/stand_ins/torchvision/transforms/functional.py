"""Names that are looked up when timm is imported, and never used."""

from enum import Enum


class InterpolationMode(Enum):
    """How images are resized."""

    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"
