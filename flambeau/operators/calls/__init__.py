"""What callers gave, before an operator sees it (Note: wrong arguments).

- ``arguments``, ``argument_kinds``, ``extents``, ``axes``, ``number_range``: what a value is, or is not;
- ``signatures`` and its table ``signatures.txt``, ``judging``, ``complaints``: PyTorch's signatures, when
  arguments are compared with them, and what is said to those that fit none;
- ``keywords``, ``out``, ``older_signatures``: what many functions take alike.

No operator is here.
"""
