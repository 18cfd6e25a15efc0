"""Tests of `nn`: a table of layers and small programs, each compared with PyTorch."""
