"""Fused kernels: pointwise operators and reductions as loops, written by the operators' own definitions."""
