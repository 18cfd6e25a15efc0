"""Matrix products from one register-tiled microkernel.

``blocking`` makes the plan of a product, after what ``choosing`` says of its sizes: a general one
(``gemm``, made of ``tiles``), one with few rows or columns (``skinny``), of ``tiny`` matrices, or of two
vectors (``dot``). ``microkernel`` is the inner loop of the first, whose operands are packed by the kernel
or ``beforehand`` (``packing``, ``packing_pairs``). ``arguments`` are what kernels are given, ``items``
where those of a batch lie; ``epilogue`` and ``following`` are what becomes of results, and ``ahead`` asks
for memory that is needed next.
"""
