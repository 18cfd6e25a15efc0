"""Convolutions in all directions, and pooling."""
