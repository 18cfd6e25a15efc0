"""What is recorded: operations on flat values, and how these are read as tensors.

``operator`` is what all calls of an operator share, ``node`` one call (its signature, operands and value),
``pending`` the list of those that wait. A ``storage`` is a flat value that tensors share, a ``geometry``
how one reads it (``strides``), and ``room`` tells how many geometries are remembered. ``site`` is a line of
the user's program, ``recent`` the cache with a bound, ``references`` tell who holds an object, and ``verify``
checks a graph.
"""
