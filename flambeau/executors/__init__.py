"""Who computes a graph: ``interpreter`` with NumPy, ``native`` with LLVM; ``null`` nobody.

What they share: memory that was freed (``freed``), samples that become a batch (``gather``), padded
dimensions (``borders``), and what is measured (``measure``).
"""
