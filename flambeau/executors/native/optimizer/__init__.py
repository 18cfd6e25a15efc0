"""Optimizer steps and gradient norms over many tensors at once."""
