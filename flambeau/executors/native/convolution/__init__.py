"""Convolutions in all directions, and pooling.

A convolution is a sum over taps of products of matrices (``problem``). There are, each with its plans:

- the general one: ``forward`` (``kernel``, ``tiles``; gradients by the input, too) and ``weight``
  (``gradient``), over a ``grid`` of results, ``staging`` pixels and packing weights (``packing``,
  ``packing_pairs``), some of them by ``winograd``;
- of a single tap: ``point_plan`` (``point``, ``point_weights``, ``point_results``);
- of few channels: ``planes`` (``planar``, ``planar_units``); with few results: ``few_plan`` (``few``);
- of one channel in each group: ``depthwise``, ``depthwise_rows``.

``ahead`` asks for memory that is needed next. Pooling is ``pooling``, ``pooling_maxima``,
``pooling_positions`` and, where channels lie side by side, ``pooling_last``.
"""
