"""Fused kernels: pointwise operators and reductions as loops, written by the operators' own definitions.

- Which nodes become one kernel: ``schedule``, by what ``traits`` says of each.
- What follows a matrix product block by block, or is written side by side: ``following``, ``side_by_side``.
- From the nodes of a kernel to its plan: ``binding``, with loops (``nest``) and tasks by a modelled ``cost``;
  ``kinds``, ``course`` and ``refit`` leave little of that to do for another shape.
- What its code depends on: ``structure``. The code of one: ``compile``, from the passes over a row (``body``)
  within the loops of ``frame``, which are ``rows`` (``short_rows``), ``columns`` or ``blocks`` of a product;
  ``accumulate`` and ``past`` write reductions and large results.
"""
