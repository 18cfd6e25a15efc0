"""Activation functions, softmax among them."""

from . import activation, exponential_units, smooth_activation, softmax
