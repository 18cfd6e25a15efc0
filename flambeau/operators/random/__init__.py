"""Random numbers, the same as PyTorch's for the same seed, and dropout."""

from . import distributions, dropout, filling, integers, pathwise, random
