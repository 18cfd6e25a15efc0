"""Native code that records, and that gives leaves their gradients (Note: native recording, in ``record.py``).

``code`` has what it knows of Python, ``objects`` and ``history`` make what an operation is recorded as, and
``record`` and ``accumulating`` put these together and stand in for the functions in Python.
"""
