"""What runs programs: the native loop over steps, its threads and memory, and the arrays of results."""
