"""Between tensors and Python, and between tensors and other libraries or processes.

Looks (``item``, ``tolist``, ``numpy``), Python's protocols, ``repr``, copies, pickles, DLPack, shared memory.
"""

from . import dim_orders, duplication, exchange, looking, protocols, representation, sharing
