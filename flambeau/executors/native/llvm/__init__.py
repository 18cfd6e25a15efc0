"""Writing LLVM code and turning it into machine code.

Code is written line by line (``emitter.py``), or by functions, loops and vectors (``build.py``, ``lanes.py``,
``floats.py``). Operators' own definitions write theirs by ``namespace.py``, out of ``expressions`` and
``special`` functions. Whoever wrote it, ``compiling`` makes machine code of it.
"""
