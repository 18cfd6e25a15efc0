"""Tensors that share a storage: views of it, writes through them, and overlaps that are refused."""
