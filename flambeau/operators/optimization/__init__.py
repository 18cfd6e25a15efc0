"""Update rules of optimizers, and what is done to all parameters or gradients at once."""

from . import optimizer
