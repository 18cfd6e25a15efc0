"""Programs: graphs that are known, planned once, and run in one native call.

``known.py`` finds the program of a graph. It takes it from ``patterns``, ``execution`` and ``glances``, which
stand on ``runtime``, in the order ``runtime``, ``patterns``, ``execution``, ``glances``.
"""
