"""Tests of `save` and `load`: round trips, exchange with PyTorch, and files that lie."""
