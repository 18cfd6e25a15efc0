"""``torch.distributions``: probability distributions, sampling and gradients through samples."""

from .distribution import Distribution
from .exp_family import ExponentialFamily
from .normal import Normal
