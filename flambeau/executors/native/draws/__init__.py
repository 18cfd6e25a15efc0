"""Random numbers, bit for bit the interpreter's."""
