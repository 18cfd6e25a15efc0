"""Expressions: elements that kernels combine, and the functions of them that take few instructions."""
