"""Programs: graphs that are known, planned once, and run in one native call.

``known.py`` finds the program of a graph among ``families.py``, or has it made by ``making.py``, of what is
in ``patterns``, ``execution`` and ``glances``. These stand on ``runtime``, in the order ``runtime``,
``patterns``, ``execution``, ``glances``. ``book.py`` finds short graphs, and ``moving.py`` those whose
operands lie elsewhere; ``pieces.py`` cuts graphs that do not come back.
"""
